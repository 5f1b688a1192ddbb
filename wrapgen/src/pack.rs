//! `wrapgen pack`: puts device images and what they are for into one file of OffloadBinary members.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use offloom_abi::ContainerFormat;
use offloom_abi::offload_binary::{ARCH, ContainerHeader, FEATURE, ImageKind, MemberDescription, TRIPLE};

use crate::LLVM;
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::{Source, is_bitcode};
use crate::output::OutputFile;

/// How many bytes tell what an image is.
const START: usize = 4;

/// Pack device images into an OffloadBinary.
#[derive(Debug, clap::Args)]
pub struct PackArgs {
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// An image and what it is for: file=F,triple=T,arch=A,kind=openmp and any further key=value. A key given
    /// twice has both values; file given twice packs both files.
    #[arg(long = "image", value_name = "KEY=VALUE,...")]
    pub images: Vec<ImageArgument>,
}

impl PackArgs {
    /// Writes the file.
    ///
    /// # Errors
    /// An argument is incomplete, an image cannot be read or the output cannot be written.
    pub fn run(&self) -> Result<()> {
        if self.images.is_empty() {
            return Err(Error::Usage(
                "nothing to pack: give --image=file=F,triple=T,arch=A,kind=openmp for each image".to_owned(),
            ));
        }
        pack(&self.images, &self.output)
    }
}

/// Writes the images to `output` as members, in order, copying each image once, from file to file. Each is in
/// a container of its own where the release has it so, else all are in one.
///
/// # Errors
/// An argument is incomplete, an image cannot be read or the output cannot be written.
pub fn pack(images: &[ImageArgument], output: &Path) -> Result<()> {
    for image in images {
        check(image)?;
    }
    let files = images
        .iter()
        .flat_map(|image| image.files().map(move |file| (image, file)));
    let mut output = OutputFile::create(output)?;
    match LLVM.containers {
        ContainerFormat::Version1 => {
            for (image, file) in files {
                write_container(&[Packed::open(image, file)?], &mut output)?;
            }
        }
        ContainerFormat::Version2 => {
            let packed = files.map(|(image, file)| Packed::open(image, file));
            write_container(&packed.collect::<Result<Vec<_>>>()?, &mut output)?;
        }
    }
    output.commit()
}

/// What each image needs: a file; and, of some releases, a triple.
fn check(image: &ImageArgument) -> Result<()> {
    if image.file().is_none() {
        return Err(image.error("file= is missing: give the file that holds the image"));
    }
    if LLVM.packager_needs_triple && !image.has_string(TRIPLE) {
        return Err(image.error("triple= is missing: give the target that the image is for"));
    }
    Ok(())
}

/// An image and what is said of it.
#[derive(Debug)]
struct Packed<'a> {
    argument: &'a ImageArgument,
    description: MemberDescription<'a>,
    path: PathBuf,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    File(File, u64),
    /// What could be read but once, such as a pipe.
    Read(Vec<u8>),
}

impl<'a> Packed<'a> {
    fn open(argument: &'a ImageArgument, path: PathBuf) -> Result<Self> {
        let (contents, start) = Contents::open(&path)?;
        let kind = argument.kind()?;
        let description = MemberDescription {
            image_kind: image_kind(&path, &start),
            offload_kind: kind.number(LLVM).ok_or_else(|| {
                argument.error(format!(
                    "LLVM {} does not know the offload kind '{}'",
                    LLVM.major(),
                    kind.name()
                ))
            })?,
            flags: 0,
            strings: in_stock_order(argument.strings()),
        };
        Ok(Self {
            argument,
            description,
            path,
            contents,
        })
    }
}

impl Contents {
    /// Opens a file, with its first four bytes.
    fn open(path: &Path) -> Result<(Self, Vec<u8>)> {
        let read = |mut stream: Box<dyn Read>| -> Result<_> {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map_err(Error::read(path))?;
            let start = bytes[..bytes.len().min(START)].to_vec();
            Ok((Self::Read(bytes), start))
        };
        if path == Path::new("-") {
            return read(Box::new(io::stdin()));
        }
        let file = File::open(path).map_err(Error::read(path))?;
        let metadata = file.metadata().map_err(Error::read(path))?;
        if !metadata.is_file() {
            return read(Box::new(file));
        }
        let mut start = vec![0; START];
        let length = file.read_at(&mut start, 0).map_err(Error::read(path))?;
        start.truncate(length);
        Ok((Self::File(file, metadata.len()), start))
    }

    fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Read(bytes) => bytes.len() as u64,
        }
    }
}

/// Writes a container with these images.
fn write_container(images: &[Packed<'_>], output: &mut OutputFile) -> Result<()> {
    for image in images {
        image
            .description
            .header(LLVM.containers, image.contents.size())
            .map_err(|error| image.argument.error(error.to_string()))?;
    }
    let members: Vec<_> = images
        .iter()
        .map(|image| (&image.description, image.contents.size()))
        .collect();
    let header = ContainerHeader::of(LLVM.containers, &members)
        .map_err(|error| Error::Usage(format!("cannot pack the images together: {error}")))?;
    output.write(header.bytes())?;
    for image in images {
        match &image.contents {
            Contents::File(file, size) => {
                let source = Source {
                    file,
                    path: &image.path,
                    offset: 0,
                };
                output.copy(source, *size)?;
            }
            Contents::Read(bytes) => output.write(bytes)?,
        }
    }
    output.write(&[0; 8][..header.padding()])
}

/// The order in which LLVM's packager stores strings is that of a hash table; for the keys that Clang gives
/// it is the one below. Other keys follow in the order given.
fn in_stock_order<'a>(mut strings: Vec<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    strings.sort_by_key(|(key, _)| match *key {
        FEATURE if LLVM.packs_features_last => 3,
        FEATURE => 0,
        ARCH => 1,
        TRIPLE => 2,
        _ => 4,
    });
    strings
}

/// Bitcode is recognised by what it holds, because Clang gives it the extension `.o`; all else by its
/// extension.
fn image_kind(path: &Path, start: &[u8]) -> ImageKind {
    if is_bitcode(start) {
        return ImageKind::BITCODE;
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.map_or(ImageKind::NONE, ImageKind::from_extension)
}

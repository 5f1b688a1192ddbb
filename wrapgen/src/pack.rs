//! `wrapgen pack`: puts device images and what they are for into one file of OffloadBinary members.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use offloom_abi::offload_binary::{ARCH, FEATURE, ImageKind, MemberDescription, TRIPLE};

use crate::LLVM;
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::{Source, is_bitcode};
use crate::output::OutputFile;

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

/// Writes the images to `output` as members, in order, copying each image once, from file to file.
///
/// # Errors
/// An argument is incomplete, an image cannot be read or the output cannot be written.
pub fn pack(images: &[ImageArgument], output: &Path) -> Result<()> {
    for image in images {
        check(image)?;
    }
    let mut output = OutputFile::create(output)?;
    for image in images {
        for file in image.files() {
            pack_file(image, &file, &mut output)?;
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

fn pack_file(image: &ImageArgument, path: &Path, output: &mut OutputFile) -> Result<()> {
    if path == Path::new("-") {
        return pack_stream(image, path, io::stdin(), output);
    }
    let file = File::open(path).map_err(Error::read(path))?;
    let metadata = file.metadata().map_err(Error::read(path))?;
    if !metadata.is_file() {
        return pack_stream(image, path, file, output);
    }
    let size = metadata.len();

    let mut start = [0; 4];
    let start_length = file.read_at(&mut start, 0).map_err(Error::read(path))?;
    let padding = write_header(image, path, &start[..start_length], size, output)?;
    let source = Source {
        file: &file,
        path,
        offset: 0,
    };
    output.copy(source, size)?;
    output.write(padding)
}

/// Packs what can be read but once, such as a pipe.
fn pack_stream(
    image: &ImageArgument,
    path: &Path,
    mut stream: impl Read,
    output: &mut OutputFile,
) -> Result<()> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(Error::read(path))?;
    let padding = write_header(image, path, &bytes, bytes.len() as u64, output)?;
    output.write(&bytes)?;
    output.write(padding)
}

/// Writes what stands before the image and returns what stands behind it.
fn write_header(
    image: &ImageArgument,
    path: &Path,
    start: &[u8],
    size: u64,
    output: &mut OutputFile,
) -> Result<&'static [u8]> {
    let kind = image.kind()?;
    let description = MemberDescription {
        image_kind: image_kind(path, start),
        offload_kind: kind.number(LLVM).ok_or_else(|| {
            image.error(format!(
                "LLVM {} does not know the offload kind '{}'",
                LLVM.major(),
                kind.name()
            ))
        })?,
        flags: 0,
        strings: in_stock_order(image.strings()),
    };
    let header = description
        .header(size)
        .map_err(|error| image.error(error.to_string()))?;
    output.write(header.bytes())?;
    Ok(&[0; 8][..header.padding()])
}

/// The order in which LLVM's packager stores strings is that of a hash table; for the keys that Clang gives
/// it is the one below, in every known release. Other keys follow in the order given.
fn in_stock_order<'a>(mut strings: Vec<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    strings.sort_by_key(|(key, _)| match *key {
        FEATURE => 0,
        ARCH => 1,
        TRIPLE => 2,
        _ => 3,
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

//! The files that `wrap` embeds: opened, and seen as the runtime of their kind sees them.

use offloom_abi::OffloadKind;
use offloom_abi::fat_binary::{self, FatBinaryRuntime};
use offloom_abi::offload_binary::{ImageKind, MemberDescription, TRIPLE, members};
use offloom_abi::sycl_image;

use super::{EmbeddedImage, WrapArgs, openmp_number};
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::{InputFile, InputKind, Piece, is_bitcode};

/// The files that `wrap` embeds, open.
#[derive(Debug)]
pub struct WrapInputs<'a> {
    kind: OffloadKind,
    packed: Vec<(&'a ImageArgument, InputFile)>,
    whole: Vec<InputFile>,
}

/// What is to be wrapped, by the runtime it is for.
#[derive(Debug)]
pub enum WrapContent<'a> {
    /// Images of OpenMP, as they are to be embedded.
    OpenMp(Vec<EmbeddedImage<'a>>),
    /// The one fat binary of CUDA or HIP.
    FatBinary(FatBinaryRuntime, Piece<'a>),
    /// Images of SYCL.
    Sycl(Vec<SyclImage<'a>>),
}

/// An image of SYCL, which is embedded without an OffloadBinary around it.
#[derive(Debug, Clone, Copy)]
pub struct SyclImage<'a> {
    /// Target triple.
    pub triple: &'a str,
    /// Names of its kernels, one a line.
    pub symbols: &'a str,
    /// The image.
    pub image: Piece<'a>,
}

impl<'a> WrapInputs<'a> {
    /// Opens every image that the arguments name.
    ///
    /// # Errors
    /// There is none, one is of another kind than the arguments say, or one cannot be read.
    pub fn open(args: &'a WrapArgs) -> Result<Self> {
        if args.images.is_empty() && args.files.is_empty() {
            return Err(Error::Usage(
                "nothing to wrap: give --image=file=F,triple=T,arch=A,kind=openmp or a file".to_owned(),
            ));
        }
        let mut packed = Vec::new();
        for argument in &args.images {
            let file = argument
                .file()
                .ok_or_else(|| argument.error("file= is missing: give the file that holds the image"))?;
            let kind = argument.kind()?;
            if kind != args.kind && kind != OffloadKind::None {
                return Err(argument.error(format!(
                    "only images of kind={} can be wrapped here; one runtime at a time: give --kind={}",
                    args.kind.name(),
                    kind.name()
                )));
            }
            packed.push((argument, InputFile::open_to_copy(&file)?));
        }
        let whole = args
            .files
            .iter()
            .map(|path| InputFile::open_to_copy(path))
            .collect::<Result<_>>()?;
        Ok(Self {
            kind: args.kind,
            packed,
            whole,
        })
    }

    /// What is to be wrapped.
    ///
    /// # Errors
    /// An image cannot be described in an OffloadBinary, a given OffloadBinary is malformed, or there is not
    /// one fat binary where the runtime takes one.
    pub fn content(&self) -> Result<WrapContent<'_>> {
        Ok(match self.kind {
            OffloadKind::OpenMp | OffloadKind::None => WrapContent::OpenMp(self.images()?),
            OffloadKind::Cuda => WrapContent::FatBinary(fat_binary::CUDA, self.fat_binary()?),
            OffloadKind::Hip => WrapContent::FatBinary(fat_binary::HIP, self.fat_binary()?),
            OffloadKind::Sycl => WrapContent::Sycl(self.sycl_images()?),
        })
    }

    /// The images of OpenMP as they are to be embedded: those of `--image=` first.
    ///
    /// # Errors
    /// An image cannot be described in an OffloadBinary, or a given OffloadBinary is malformed.
    pub fn images(&self) -> Result<Vec<EmbeddedImage<'_>>> {
        let mut images = Vec::new();
        for (argument, file) in &self.packed {
            let description = MemberDescription {
                image_kind: image_kind(file),
                offload_kind: openmp_number(),
                flags: 0,
                strings: argument.strings(),
            };
            images.push(
                EmbeddedImage::packed(&description, file.piece(file.bytes()))
                    .map_err(|error| argument.error(error.to_string()))?,
            );
        }
        for file in &self.whole {
            images.extend(EmbeddedImage::of_file(file)?);
        }
        Ok(images)
    }

    fn fat_binary(&self) -> Result<Piece<'_>> {
        match (&self.packed[..], &self.whole[..]) {
            ([], [file]) => Ok(file.piece(file.bytes())),
            _ => Err(Error::Usage(format!(
                "{} takes one fat binary that holds all images: make it with {} and give it as one file, without --image=",
                self.kind.name(),
                match self.kind {
                    OffloadKind::Cuda => "fatbinary",
                    _ => "clang-offload-bundler",
                }
            ))),
        }
    }

    fn sycl_images(&self) -> Result<Vec<SyclImage<'_>>> {
        let mut images = Vec::new();
        for (argument, file) in &self.packed {
            let strings = argument.strings();
            let value = |wanted: &str| {
                let found = strings.iter().find(|(key, _)| *key == wanted);
                found.map_or("", |(_, value)| *value)
            };
            images.push(SyclImage {
                triple: value(TRIPLE),
                symbols: value(sycl_image::SYMBOLS),
                image: file.piece(file.bytes()),
            });
        }
        for file in &self.whole {
            if file.kind() != InputKind::OffloadBinary {
                return Err(Error::Usage(format!(
                    "'{}' does not say what it is for: give an OffloadBinary, or --image=file=F,triple=T,symbols=K",
                    file.path().display()
                )));
            }
            for member in members(file.bytes()) {
                let member = member.map_err(|source| Error::OffloadBinary {
                    input: file.path().display().to_string(),
                    source,
                })?;
                images.push(SyclImage {
                    triple: member.triple(),
                    symbols: member.string(sycl_image::SYMBOLS).unwrap_or_default(),
                    image: file.piece(member.image()),
                });
            }
        }
        Ok(images)
    }
}

fn image_kind(file: &InputFile) -> ImageKind {
    if is_bitcode(file.bytes()) {
        ImageKind::BITCODE
    } else {
        ImageKind::OBJECT
    }
}

//! `wrapgen wrap`: embeds linked device images in a host object together with the code that registers them.
//!
//! The object is written directly, see [`Registration::write_object`]. The same as LLVM IR comes from
//! `wrapgen-bitcode`, the only program here that loads LLVM.

mod architecture;
mod embedded_image;
mod registration;
mod relocatable;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use offloom_abi::OffloadKind;
use offloom_abi::offload_binary::{ImageKind, MemberDescription};

pub use embedded_image::EmbeddedImage;
pub use registration::Registration;

use crate::LLVM;
use crate::bitcode_tool::BitcodeTool;
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::{InputFile, is_bitcode};
use crate::output::OutputFile;

/// The host that registration code is for unless told otherwise.
pub const DEFAULT_HOST_TRIPLE: &str = "x86_64-pc-linux-gnu";

/// Embed device images in a host object with the code that registers them.
#[derive(Debug, Clone, clap::Args)]
pub struct WrapArgs {
    /// The file to write: LLVM IR if its name ends in .ll or .bc, otherwise an object.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// The form of the output, if its name does not tell.
    #[arg(long, value_name = "FORM")]
    pub emit: Option<OutputForm>,

    /// An image to put into an OffloadBinary and embed: file=F,triple=T,arch=A,kind=openmp.
    #[arg(long = "image", value_name = "KEY=VALUE,...")]
    pub images: Vec<ImageArgument>,

    /// Files to embed as they are: images, or OffloadBinary files as `pack` writes them.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Target triple of the host.
    #[arg(long, value_name = "TRIPLE", default_value = DEFAULT_HOST_TRIPLE)]
    pub host_triple: String,

    /// Write code for an object that is linked again with `-r`.
    #[arg(long)]
    pub relocatable: bool,

    /// A JIT bundle to hand to the JIT library before the images are registered; objects only.
    #[arg(long, value_name = "FILE")]
    pub jit_bundle: Option<PathBuf>,
}

/// The form of `wrap`'s output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputForm {
    /// A relocatable object.
    Object,
    /// LLVM IR as text.
    #[value(name = "ll")]
    Assembly,
    /// LLVM bitcode.
    #[value(name = "bc")]
    Bitcode,
}

impl OutputForm {
    /// The form that a file name asks for.
    fn of(path: &Path) -> Self {
        match path.extension().and_then(OsStr::to_str) {
            Some("ll") => Self::Assembly,
            Some("bc") => Self::Bitcode,
            _ => Self::Object,
        }
    }
}

impl WrapArgs {
    /// The form of the output: as asked for, else as its name tells.
    pub fn output_form(&self) -> OutputForm {
        self.emit.unwrap_or_else(|| OutputForm::of(&self.output))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// An argument is incomplete, an image cannot be read, or the output cannot be written.
    pub fn run(&self) -> Result<()> {
        if self.output_form() != OutputForm::Object {
            if self.jit_bundle.is_some() {
                return Err(Error::Usage(
                    "--jit-bundle needs an object as output, not LLVM IR".to_owned(),
                ));
            }
            return BitcodeTool::find()?.wrapped_module(self);
        }
        let inputs = WrapInputs::open(self)?;
        let bundle = self.jit_bundle.as_deref().map(InputFile::open).transpose()?;
        let registration = Registration {
            llvm: LLVM,
            host_triple: &self.host_triple,
            images: inputs.images()?,
            relocatable: self.relocatable,
            jit_bundle: bundle.as_ref().map(InputFile::bytes),
        };
        let mut output = OutputFile::create(&self.output)?;
        registration.write_object(&mut output)?;
        output.commit()
    }
}

/// The files that `wrap` embeds, open.
#[derive(Debug)]
pub struct WrapInputs<'a> {
    packed: Vec<(&'a ImageArgument, InputFile)>,
    whole: Vec<InputFile>,
}

impl<'a> WrapInputs<'a> {
    /// Opens every image that the arguments name.
    ///
    /// # Errors
    /// There is none, or one cannot be read.
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
            if !matches!(argument.kind()?, OffloadKind::OpenMp | OffloadKind::None) {
                return Err(argument.error("only images of kind=openmp can be wrapped"));
            }
            packed.push((argument, InputFile::open(&file)?));
        }
        let whole = args
            .files
            .iter()
            .map(|path| InputFile::open(path))
            .collect::<Result<_>>()?;
        Ok(Self { packed, whole })
    }

    /// The images as they are to be embedded: those of `--image=` first.
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
                EmbeddedImage::packed(&description, file.bytes())
                    .map_err(|error| argument.error(error.to_string()))?,
            );
        }
        for file in &self.whole {
            images.extend(EmbeddedImage::of_file(file)?);
        }
        Ok(images)
    }
}

/// The number of OpenMP in the OffloadBinary format of this build's LLVM.
pub(crate) fn openmp_number() -> u16 {
    OffloadKind::OpenMp.number(LLVM).unwrap_or_default()
}

fn image_kind(file: &InputFile) -> ImageKind {
    if is_bitcode(file.bytes()) {
        ImageKind::BITCODE
    } else {
        ImageKind::OBJECT
    }
}

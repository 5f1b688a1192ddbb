//! `wrapgen wrap`: embeds linked device images in a host object together with the code that registers them.
//!
//! An object that registers OpenMP images is written directly, see [`Registration::write_object`]. The same
//! as LLVM IR, and everything for the runtimes of CUDA, HIP and SYCL, comes from `wrapgen-bitcode`, the only
//! program here that loads LLVM: their registration code loops over the entries, so it is left to a code
//! generator. Images are copied once in either case, see [`ImageSection`].

mod architecture;
mod embedded_image;
mod generated_object;
mod inputs;
mod registration;
mod relocatable;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use offloom_abi::{HostProcessor, OffloadKind};

pub use embedded_image::EmbeddedImage;
pub use generated_object::ImageSection;
pub use inputs::{SyclImage, WrapContent, WrapInputs};
pub use registration::Registration;

use crate::LLVM;
use crate::bitcode_tool::BitcodeTool;
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::InputFile;
use crate::output::OutputFile;

/// The host that registration code is for unless told otherwise.
pub const DEFAULT_HOST_TRIPLE: &str = HostProcessor::NATIVE.triple;

/// Embed device images in a host object with the code that registers them.
#[derive(Debug, Clone, clap::Args)]
pub struct WrapArgs {
    /// The file to write: LLVM IR if its name ends in .ll or .bc, otherwise an object.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: PathBuf,

    /// The form of the output, if its name does not tell.
    #[arg(long, value_name = "FORM", help_heading = "Output")]
    pub emit: Option<OutputForm>,

    /// Whose images these are, and so which runtime they are registered with: openmp, cuda, hip or sycl.
    #[arg(long, value_name = "KIND", default_value = "openmp", value_parser = wrapped_kind, help_heading = "Images")]
    pub kind: OffloadKind,

    /// An image to put into an OffloadBinary and embed: file=F,triple=T,arch=A,kind=openmp. The images of
    /// SYCL need symbols=K, the names of their kernels, one a line. CUDA and HIP take one fat binary, as a
    /// FILE.
    #[arg(long = "image", value_name = "KEY=VALUE,...", help_heading = "Images")]
    pub images: Vec<ImageArgument>,

    /// Files to embed as they are: images, or OffloadBinary files as `pack` writes them.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Target triple of the host.
    #[arg(long, value_name = "TRIPLE", default_value = DEFAULT_HOST_TRIPLE, help_heading = "Host")]
    pub host_triple: String,

    /// Write code for an object that is linked again with `-r`.
    #[arg(long, help_heading = "Host")]
    pub relocatable: bool,

    /// A JIT bundle to hand to the JIT library before the images are registered, one for each image that has
    /// one; objects only.
    #[arg(long = "jit-bundle", value_name = "FILE", help_heading = "Images")]
    pub jit_bundles: Vec<PathBuf>,

    /// The images are bitcode that the JIT library makes images of when the program starts; objects only. The
    /// program needs `register.c`'s object beside this one.
    #[arg(long, conflicts_with = "jit_bundles", help_heading = "Images")]
    pub jit_only: bool,
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
    /// Arguments that wrap nothing yet, for registration with the runtime of `kind`.
    pub fn new(kind: OffloadKind, output: &Path) -> Self {
        Self {
            output: output.to_owned(),
            emit: None,
            kind,
            images: Vec::new(),
            files: Vec::new(),
            host_triple: DEFAULT_HOST_TRIPLE.to_owned(),
            relocatable: false,
            jit_bundles: Vec::new(),
            jit_only: false,
        }
    }

    /// The form of the output: as asked for, else as its name tells.
    pub fn output_form(&self) -> OutputForm {
        self.emit.unwrap_or_else(|| OutputForm::of(&self.output))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// An argument is incomplete, an image cannot be read, or the output cannot be written.
    pub fn run(&self) -> Result<()> {
        if self.output_form() != OutputForm::Object || self.kind != OffloadKind::OpenMp {
            if !self.jit_bundles.is_empty() || self.jit_only {
                return Err(Error::Usage(
                    "--jit-bundle and --jit-only need an object for OpenMP as output".to_owned(),
                ));
            }
            return BitcodeTool::find()?.wrapped_module(self);
        }
        let inputs = WrapInputs::open(self)?;
        let bundles = InputFile::open_all(&self.jit_bundles)?;
        let registration = Registration {
            llvm: LLVM,
            host_triple: &self.host_triple,
            images: inputs.images()?,
            relocatable: self.relocatable,
            jit_bundles: bundles.iter().map(InputFile::bytes).collect(),
            jit_only: self.jit_only,
        };
        let mut output = OutputFile::create(&self.output)?;
        registration.write_object(&mut output)?;
        output.commit()
    }
}

/// The number of OpenMP in the OffloadBinary format of this build's LLVM.
pub(crate) fn openmp_number() -> u16 {
    OffloadKind::OpenMp.number(LLVM).unwrap_or_default()
}

/// The kind spelt `name`, if its images can be wrapped for this build's LLVM.
fn wrapped_kind(name: &str) -> Result<OffloadKind, String> {
    let known = OffloadKind::ALL
        .into_iter()
        .filter(|kind| *kind != OffloadKind::None && kind.number(LLVM).is_some());
    let mut names = Vec::new();
    for kind in known {
        if kind.name() == name {
            return Ok(kind);
        }
        names.push(kind.name());
    }
    Err(format!(
        "LLVM {} wraps images of the kinds {}",
        LLVM.major(),
        names.join(", ")
    ))
}

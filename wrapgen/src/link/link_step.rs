//! `wrapgen link-step`: what a link does without starting a program, as commands, so that the script which
//! `--dry-run` prints is whole.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use super::{relocatable, wrap_images};
use crate::error::Result;
use crate::image_argument::ImageArgument;
use crate::jit::{self, HostPiece};
use crate::toolchain;

/// One step of a link; `wrapgen link --dry-run` prints these.
#[derive(Debug, clap::Subcommand)]
pub enum LinkStep {
    /// Give an object that the host linker merged an entry table of its own.
    MakeIndependent {
        /// The merged object.
        merged: PathBuf,
        /// The object to write.
        output: PathBuf,
    },
    /// Write images as a registration object would hold them, one behind the other.
    EmitImages {
        /// The file to write.
        #[arg(short)]
        output: PathBuf,
        /// An image: file=F,triple=T,arch=A,kind=openmp.
        #[arg(long = "image", required = true)]
        images: Vec<ImageArgument>,
    },
    /// Write the two objects that bring the JIT into a host program.
    JitObjects {
        /// The piece that looks for the JIT's library, to be written.
        piece: PathBuf,
        /// Where the library is installed, to be written.
        location: PathBuf,
        /// Which piece: attach (for --jit) or register (for --jit=only).
        #[arg(long = "piece", value_enum, default_value = "attach")]
        which: HostPiece,
    },
}

impl LinkStep {
    /// Does the step.
    ///
    /// # Errors
    /// An input is malformed, or an output cannot be written.
    pub fn run(&self) -> Result<()> {
        match self {
            Self::MakeIndependent { merged, output } => relocatable::make_independent(merged, output),
            Self::EmitImages { output, images } => wrap_images::emit_given_images(images, output),
            Self::JitObjects {
                piece,
                location,
                which,
            } => jit::write_host_objects(*which, piece, location),
        }
    }

    /// The command that does the step called `name`.
    ///
    /// # Errors
    /// The system does not tell where this program is.
    pub fn command(name: &str, files: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Command> {
        let mut command = Command::new(toolchain::program()?);
        command.args(["link-step", name]).args(files);
        Ok(command)
    }
}

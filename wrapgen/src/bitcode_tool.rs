//! Starts `wrapgen-bitcode`, the program that does what needs LLVM: `wrapgen` itself must stay free of
//! libLLVM, whose loading alone takes longer than most links.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::error::Result;
use crate::image_argument::ImageArgument;
use crate::process;
use crate::toolchain;
use crate::wrap::{OutputForm, WrapArgs};

/// The installed `wrapgen-bitcode`.
#[derive(Debug)]
pub struct BitcodeTool {
    program: PathBuf,
}

impl BitcodeTool {
    /// Finds it.
    ///
    /// # Errors
    /// It is not installed with this `wrapgen`.
    pub fn find() -> Result<Self> {
        Ok(Self {
            program: toolchain::bitcode_program()?,
        })
    }

    /// Where it is.
    pub fn program(&self) -> &std::path::Path {
        &self.program
    }

    /// Writes the registration module that `args` describe as LLVM IR, or the object that LLVM generates of
    /// it.
    ///
    /// # Errors
    /// It reported one.
    pub fn wrapped_module(&self, args: &WrapArgs) -> Result<()> {
        let mut arguments: Vec<OsString> = vec![
            "--host-triple".into(),
            (&args.host_triple).into(),
            "-o".into(),
            (&args.output).into(),
            format!("--kind={}", args.kind.name()).into(),
        ];
        arguments.extend(args.images.iter().map(ImageArgument::to_argument));
        let form = match args.output_form() {
            OutputForm::Object => "object",
            OutputForm::Assembly => "ll",
            OutputForm::Bitcode => "bc",
        };
        arguments.push(format!("--emit={form}").into());
        if args.relocatable {
            arguments.push("--relocatable".into());
        }
        arguments.push("--".into());
        arguments.extend(args.files.iter().map(Into::into));
        self.run("wrapped-module", &arguments)
    }

    /// Runs a job; what it prints goes where our own output goes.
    ///
    /// # Errors
    /// It cannot be started or fails; it has then already said why.
    pub fn run(&self, job: &str, arguments: &[OsString]) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg(job).args(arguments);
        process::run(&mut command)
    }
}

//! The job `trim`: device bitcode in that link-time optimisation has made one, the same without what nothing
//! executes out.

use std::path::PathBuf;

use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::link_modules::link_modules;
use offloom_ir::unused_code::{drop_surplus_arguments, remove_unused};
use wrapgen::inputs::InputFile;
use wrapgen::output::write_file;

use crate::device_bitcode::MergeError;

/// Leave out of linked device bitcode what nothing executes and code generation for NVIDIA GPUs cannot take:
/// below -O2 no pass of LLVM does.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TrimArgs {
    /// The bitcode to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The bitcode to read.
    #[arg(value_name = "FILE")]
    input: PathBuf,
}

impl TrimArgs {
    /// Does the job.
    pub(crate) fn run(&self) -> Result<(), MergeError> {
        let context = Context::create();
        let errors = CollectedErrors::install(&context);
        let file = InputFile::open(&self.input)?;
        let name = self.input.display().to_string();
        let module = link_modules(&context, &errors, &[(&name, file.bytes())], |_| {})?;
        drop_surplus_arguments(&module);
        remove_unused(&module);
        write_file(&self.output, module.write_bitcode_to_memory().as_slice())?;
        Ok(())
    }
}

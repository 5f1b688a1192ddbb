//! The job `jit-merge`: device bitcode in, the bitcode that a program holds in the place of an image out.

use std::path::PathBuf;

use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_jit_passes::base_image::note_optimization_level;
use wrapgen::output::write_file;

use crate::device_bitcode::{DeviceBitcode, MergeError};

/// Merge device bitcode, so that the JIT library can make an image of it when the program starts.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct JitMergeArgs {
    /// The bitcode to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    device: DeviceBitcode,
}

impl JitMergeArgs {
    /// Does the job.
    pub(crate) fn run(&self) -> Result<(), MergeError> {
        let context = Context::create();
        let errors = CollectedErrors::install(&context);
        let module = self.device.merge(&context, &errors)?;
        note_optimization_level(&module, self.device.optimization_level);
        write_file(&self.output, module.write_bitcode_to_memory().as_slice())?;
        Ok(())
    }
}

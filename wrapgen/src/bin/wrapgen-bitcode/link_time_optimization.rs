//! The job `lto`: device bitcode of one target in, one object for the device linker out, or the optimised
//! bitcode.

use std::path::PathBuf;

use offloom_ir::codegen::{CodegenError, emit_object, run_pipeline};
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_jit_passes::pipeline::link_time_pipeline;
use wrapgen::output::write_file;

use crate::device_bitcode::{DeviceBitcode, MergeError};
use crate::hiding::KeptNames;

/// Merge device bitcode, optimise it and generate one object.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LtoArgs {
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Write the optimised bitcode instead of an object.
    #[arg(long)]
    emit_bitcode: bool,

    #[command(flatten)]
    kept: KeptNames,

    #[command(flatten)]
    device: DeviceBitcode,
}

/// Why there is no object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LtoError {
    /// The object could not be written.
    #[error(transparent)]
    File(#[from] wrapgen::Error),
    /// The inputs could not be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// Optimising or code generation failed.
    #[error("cannot compile the device code: {0}")]
    Codegen(#[from] CodegenError),
}

impl LtoArgs {
    /// Does the job.
    pub(crate) fn run(&self) -> Result<(), LtoError> {
        let context = Context::create();
        let errors = CollectedErrors::install(&context);
        let module = self.device.merge(&context, &errors)?;
        self.kept.hide_others(&module);
        let machine = self.device.machine(&module)?;
        run_pipeline(
            &module,
            &machine,
            &errors,
            &link_time_pipeline(self.device.optimization_level),
        )?;
        if self.emit_bitcode {
            write_file(&self.output, module.write_bitcode_to_memory().as_slice())?;
            return Ok(());
        }
        let object = emit_object(&module, &machine, &errors)?;
        write_file(&self.output, object.as_slice())?;
        Ok(())
    }
}

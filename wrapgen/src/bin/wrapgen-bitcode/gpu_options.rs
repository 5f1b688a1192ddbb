//! What the jobs on device code for the JIT are told of a GPU.

use std::path::PathBuf;

use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::module::Module;
use offloom_ir::jit_diagnostics::CollectedErrors;

use crate::device_bitcode::{MergeError, link_files};

/// The GPU that an image is for, and what code for it is made with.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GpuOptions {
    /// The image is for a GPU, for this processor.
    #[arg(long = "gpu", value_name = "PROCESSOR")]
    pub(crate) processor: Option<String>,

    /// With --gpu, for NVIDIA: an argument for ptxas, with which code is assembled at run time.
    #[arg(long = "assembler-argument", value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) assembler_arguments: Vec<String>,

    /// With --gpu: bitcode of the device runtime, or a library of it.
    #[arg(long = "device-runtime", value_name = "FILE")]
    device_runtime: Vec<PathBuf>,
}

impl GpuOptions {
    /// The device runtime, if there is one.
    pub(crate) fn runtime<'ctx>(
        &self,
        context: &'ctx Context,
        errors: &CollectedErrors<'ctx>,
    ) -> Result<Option<Module<'ctx>>, MergeError> {
        if self.device_runtime.is_empty() {
            return Ok(None);
        }
        link_files(context, errors, &self.device_runtime, |_| {}).map(Some)
    }
}

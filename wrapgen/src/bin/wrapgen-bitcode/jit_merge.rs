//! The job `jit-merge`: device bitcode in, what a program holds in the place of an image out.

use std::path::PathBuf;

use offloom_abi::jit_compile::join_words;
use offloom_abi::jit_gpu_code::GpuCode;
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use offloom_ir::inkwell::module::Module;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_jit_passes::base_image::note_optimization_level;
use offloom_jit_passes::gpu::device_runtime::cut_down;
use wrapgen::output::write_file;

use crate::device_bitcode::{DeviceBitcode, MergeError};
use crate::gpu_options::GpuOptions;
use crate::hiding::KeptNames;

/// Merge device bitcode, so that the JIT library can make an image of it when the program starts.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct JitMergeArgs {
    /// The bitcode to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    kept: KeptNames,

    #[command(flatten)]
    gpu: GpuOptions,

    #[command(flatten)]
    device: DeviceBitcode,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JitMergeError {
    /// The output could not be written.
    #[error(transparent)]
    File(#[from] wrapgen::Error),
    /// The inputs could not be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// Numbers of 32 bits do not hold its size.
    #[error("the device code has 4 GiB or more, which --jit=only does not hold: link with --jit")]
    TooLarge,
}

impl JitMergeArgs {
    /// Does the job.
    pub(crate) fn run(&self) -> Result<(), JitMergeError> {
        let context = Context::create();
        let errors = CollectedErrors::install(&context);
        let module = self.device.merge(&context, &errors)?;
        note_optimization_level(&module, self.device.optimization_level);
        self.kept.note(&module);
        let runtime = self.gpu.runtime(&context, &errors)?;
        // Images are made without LLVM's files, like variants.
        let runtime = runtime.map(|runtime| {
            cut_down(&runtime, &module, &module);
            Module::write_bitcode_to_memory(&runtime)
        });
        let bitcode = module.write_bitcode_to_memory();
        let Some(processor) = &self.gpu.processor else {
            return Ok(write_file(&self.output, bitcode.as_slice())?);
        };
        let code = GpuCode {
            processor,
            assembler_arguments: &join_words(self.gpu.assembler_arguments.iter().map(String::as_str)),
            device_runtime: runtime.as_ref().map_or(&[], MemoryBuffer::as_slice),
            bitcode: bitcode.as_slice(),
        };
        let bytes = code.encode().ok_or(JitMergeError::TooLarge)?;
        Ok(write_file(&self.output, &bytes)?)
    }
}

//! The job `jit-prepare`: device bitcode in, the base image's bitcode and the JIT bundle out.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_jit_passes::JitPassError;
use offloom_jit_passes::gpu::GpuLink;
use offloom_jit_passes::prepare::prepare;
use offloom_text_table::counted;
use wrapgen::messages::say;
use wrapgen::output::OutputFile;

use crate::device_bitcode::{DeviceBitcode, MergeError};
use crate::gpu_options::GpuOptions;
use crate::hiding::KeptNames;

/// Merge device bitcode and give its kernels dispatch stubs, so that variants of them can be compiled at run
/// time.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct JitPrepareArgs {
    /// The bitcode of the base image to write: one file in place of all inputs in the device link.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The bundle to write; left out when no kernel can have variants.
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,

    /// The base image is hidden before it is linked, as by the job `lto`: not where the device linker takes
    /// bitcode.
    #[arg(long)]
    hide: bool,

    #[command(flatten)]
    kept: KeptNames,

    /// Say which kernels stay ahead of time, and why.
    #[arg(long)]
    verbose: bool,

    #[command(flatten)]
    gpu: GpuOptions,

    /// With --gpu: the image has no other code than the bitcode.
    #[arg(long)]
    all_bitcode: bool,

    #[command(flatten)]
    device: DeviceBitcode,
}

/// Why nothing was prepared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JitPrepareError {
    /// The base image or the bundle could not be written.
    #[error(transparent)]
    File(#[from] wrapgen::Error),
    /// The inputs could not be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The merged module could not be prepared.
    #[error("cannot prepare the device code for the JIT: {0}")]
    Prepare(#[from] JitPassError),
}

impl JitPrepareArgs {
    /// Does the job. Both files are written, or none; without variants only the base image's.
    pub(crate) fn run(&self) -> Result<(), JitPrepareError> {
        let context = Context::create();
        let errors = CollectedErrors::install(&context);
        let module = self.device.merge(&context, &errors)?;
        if self.hide {
            self.kept.hide_others(&module);
        }
        let machine = self.device.machine(&module).map_err(JitPassError::from)?;
        let runtime = self.gpu.runtime(&context, &errors)?;
        let gpu = self.gpu.processor.as_ref().map(|processor| GpuLink {
            processor,
            assembler_arguments: &self.gpu.assembler_arguments,
            device_runtime: runtime.as_ref(),
            is_all_bitcode: self.all_bitcode,
        });
        let level = self.device.optimization_level;
        let prepared = prepare(&module, &machine, &errors, level, gpu.as_ref())?;
        if self.verbose {
            for kernel in &prepared.kernels {
                let condition = if kernel.has_fast_math {
                    ", but only with OFFLOOM_JIT_FP=source, since it was compiled with fast-math flags"
                } else {
                    ""
                };
                say(format_args!(
                    "remark: {}: the JIT may specialise it{condition}",
                    kernel.name
                ));
            }
            for (kernel, obstacle) in &prepared.left_ahead_of_time {
                say(format_args!("remark: {kernel}: stays ahead of time: {obstacle}"));
            }
        }
        let with_fast_math = prepared
            .kernels
            .iter()
            .filter(|kernel| kernel.has_fast_math)
            .count();
        if with_fast_math > 0 {
            let were = if with_fast_math == 1 { "was" } else { "were" };
            say(format_args!(
                "wrapgen: warning: {with_fast_math} of {} {were} compiled with fast-math flags, so results depend on how they are compiled: \
                 the JIT leaves such kernels as they are linked, unless the program runs with OFFLOOM_JIT_FP=source",
                counted(prepared.kernels.len() as u64, "kernel", "kernels")
            ));
        }
        if let ([], [(kernel, obstacle), ..], false) =
            (&*prepared.kernels, &*prepared.left_ahead_of_time, self.verbose)
        {
            say(format_args!(
                "wrapgen: warning: --jit: all kernels of this link stay ahead of time, as {kernel}: {obstacle}; -Wl,--wrapper-verbose says it of \
                 each"
            ));
        }
        let mut base = OutputFile::create(&self.output)?;
        base.write(module.write_bitcode_to_memory().as_slice())?;
        match prepared.bundle {
            Some(bytes) => {
                let mut bundle = OutputFile::create(&self.bundle)?;
                bundle.write(&bytes)?;
                bundle.commit()?;
            }
            None => self.remove_earlier_bundle()?,
        }
        base.commit()?;
        Ok(())
    }

    /// With --save-temps the file has the same name in each link, and whether it is there tells whether this
    /// one made a bundle.
    fn remove_earlier_bundle(&self) -> Result<(), wrapgen::Error> {
        match fs::remove_file(&self.bundle) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(wrapgen::Error::write(&self.bundle)(error))
            }
            _ => Ok(()),
        }
    }
}

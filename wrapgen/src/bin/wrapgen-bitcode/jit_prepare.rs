//! The job `jit-prepare`: device bitcode in, the base image's bitcode and the JIT bundle out.

use std::path::PathBuf;

use offloom_ir::codegen::{MachineOptions, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::link_modules::{LinkModulesError, link_modules};
use offloom_jit_passes::JitPassError;
use offloom_jit_passes::prepare::prepare;
use wrapgen::inputs::InputFile;
use wrapgen::output::OutputFile;

use crate::link_time_optimization::optimization_level;

/// Merge device bitcode and give its kernels dispatch stubs, so that variants of them can be compiled at run time.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct JitPrepareArgs {
    /// The bitcode of the base image to write: one file in place of all inputs in the device link.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The bundle to write; left out when no kernel can have variants.
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,

    /// The optimisation level of the device link, which variants are compiled with too.
    #[arg(long, value_name = "LEVEL", default_value = "2", value_parser = optimization_level)]
    opt_level: u32,

    /// Say which kernels stay ahead of time, and why.
    #[arg(long)]
    verbose: bool,

    /// Bitcode files of one device target, in link order.
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
}

/// Why nothing was prepared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JitPrepareError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] wrapgen::Error),
    /// The inputs could not be merged.
    #[error(transparent)]
    Link(#[from] LinkModulesError),
    /// The merged module could not be prepared.
    #[error("cannot prepare the device code for the JIT: {0}")]
    Prepare(#[from] JitPassError),
}

impl JitPrepareArgs {
    /// Does the job. Both files are written, or none; without variants only the base image's.
    pub(crate) fn run(&self) -> Result<(), JitPrepareError> {
        let inputs = self.inputs.iter().map(|path| InputFile::open(path));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let names: Vec<_> = self
            .inputs
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let members: Vec<_> = names
            .iter()
            .map(String::as_str)
            .zip(inputs.iter().map(InputFile::bytes))
            .collect();

        let context = Context::create();
        let errors = CollectedErrors::install(&context);
        let module = link_modules(&context, &errors, &members)?;
        let triple = module.get_triple();
        let machine = target_machine(&MachineOptions {
            triple: &triple.as_str().to_string_lossy(),
            cpu: "",
            features: "",
            optimization_level: self.opt_level,
        })
        .map_err(JitPassError::from)?;
        let prepared = prepare(&module, &machine, &errors, self.opt_level)?;
        if self.verbose {
            for kernel in &prepared.kernels {
                eprintln!("remark: {kernel}: the JIT may specialise it");
            }
            for (kernel, obstacle) in &prepared.left_ahead_of_time {
                eprintln!("remark: {kernel}: stays ahead of time: {obstacle}");
            }
        }
        let mut base = OutputFile::create(&self.output)?;
        base.write(module.write_bitcode_to_memory().as_slice())?;
        if let Some(bytes) = prepared.bundle {
            let mut bundle = OutputFile::create(&self.bundle)?;
            bundle.write(&bytes)?;
            bundle.commit()?;
        }
        base.commit()?;
        Ok(())
    }
}

//! The job `lto`: device bitcode of one target in, one object for the device linker out.

use std::path::PathBuf;

use offloom_ir::codegen::{CodegenError, MachineOptions, emit_object, run_pipeline, target_machine};
use offloom_ir::command_line::set_llvm_options;
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::link_modules::{LinkModulesError, link_modules};
use wrapgen::inputs::InputFile;
use wrapgen::output::write_file;

/// Merge device bitcode, optimise it and generate one object.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LtoArgs {
    /// The object to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The optimisation level, as behind Clang's -O.
    #[arg(long, value_name = "LEVEL", default_value = "2", value_parser = optimization_level)]
    opt_level: u32,

    /// An option for LLVM, as behind Clang's -mllvm.
    #[arg(long = "llvm-argument", value_name = "OPTION", allow_hyphen_values = true)]
    llvm_arguments: Vec<String>,

    /// Bitcode files of one device target, in link order.
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
}

/// Why there is no object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LtoError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] wrapgen::Error),
    /// An option for LLVM cannot be handed over.
    #[error("an -mllvm option holds a NUL byte")]
    Option(#[from] std::ffi::NulError),
    /// The inputs could not be merged.
    #[error(transparent)]
    Link(#[from] LinkModulesError),
    /// Optimising or code generation failed.
    #[error("cannot compile the device code: {0}")]
    Codegen(#[from] CodegenError),
}

/// The number of a level as Clang takes it behind `-O`.
pub(crate) fn optimization_level(text: &str) -> Result<u32, String> {
    match text {
        "0" => Ok(0),
        "1" | "g" => Ok(1),
        "2" | "s" | "z" => Ok(2),
        "3" | "4" | "fast" => Ok(3),
        _ => Err("expected 0, 1, 2, 3, g, s, z or fast".to_owned()),
    }
}

impl LtoArgs {
    /// Does the job.
    pub(crate) fn run(&self) -> Result<(), LtoError> {
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

        set_llvm_options("clang-linker-wrapper", &self.llvm_arguments)?;
        let context = Context::create();
        let errors = CollectedErrors::install(&context);
        let module = link_modules(&context, &errors, &members)?;
        let triple = module.get_triple();
        let machine = target_machine(&MachineOptions {
            triple: &triple.as_str().to_string_lossy(),
            cpu: "",
            features: "",
            optimization_level: self.opt_level,
        })?;
        run_pipeline(&module, &machine, &errors, &format!("lto<O{}>", self.opt_level))?;
        let object = emit_object(&module, &machine, &errors)?;
        write_file(&self.output, object.as_slice())?;
        Ok(())
    }
}

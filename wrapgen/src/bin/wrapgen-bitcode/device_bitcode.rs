//! What both jobs on device code begin with: the bitcode files of one target, merged, and the machine to
//! compile them for.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use offloom_abi::Triple;
use offloom_ir::codegen::{CodegenError, MachineOptions, gpu_machine, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::link_modules::{LinkModulesError, link_modules};
use offloom_jit_passes::kernel_sources::{FileIdentity, note_source_files};
use offloom_jit_passes::survey::note_own_unwinder;
use wrapgen::inputs::InputFile;
use wrapgen::jit;

/// The device code of one target and how far to optimise it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DeviceBitcode {
    /// The optimisation level of the device link, as behind Clang's -O.
    #[arg(long = "opt-level", value_name = "LEVEL", default_value = "2", value_parser = optimization_level)]
    pub(crate) optimization_level: u32,

    /// The program has an unwinder of its own, which does not know of code made at run time.
    #[arg(long)]
    own_unwinder: bool,

    /// Bitcode files of one device target, in link order.
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
}

/// Why the inputs could not be merged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MergeError {
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] wrapgen::Error),
    /// A file is not bitcode of this LLVM, or definitions clash.
    #[error(transparent)]
    Link(#[from] LinkModulesError),
    /// The device code says that it is for another target than it is linked for, or does not say.
    #[error(
        "{}: {}, and it is to be linked for Linux on x86-64 or AArch64, or a GPU of NVIDIA or AMD: give the module the triple that it was packed with",
        input.display(),
        target_of(triple)
    )]
    Target {
        /// The first of the inputs.
        input: PathBuf,
        /// The triple in it.
        triple: String,
    },
}

fn target_of(triple: &str) -> String {
    match triple {
        "" => "the module has no target triple".to_owned(),
        triple => format!("the module is for the target `{triple}`"),
    }
}

/// Links bitcode files into one module; `before` is called with the module of each. The files are mapped only
/// meanwhile.
///
/// # Errors
/// A file cannot be read, is no bitcode of this LLVM, or clashes with another.
pub(crate) fn link_files<'ctx>(
    context: &'ctx Context,
    errors: &CollectedErrors<'ctx>,
    paths: &[PathBuf],
    before: impl Fn(&Module<'ctx>),
) -> Result<Module<'ctx>, MergeError> {
    let files = paths.iter().map(|path| InputFile::open(path));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let mut parts = Vec::new();
    for file in &files {
        parts.extend(file.parts()?);
    }
    let names: Vec<_> = parts.iter().map(|part| part.origin.to_string()).collect();
    let members: Vec<_> = names
        .iter()
        .map(String::as_str)
        .zip(parts.iter().map(|part| part.bytes))
        .collect();
    Ok(link_modules(context, errors, &members, before)?)
}

impl DeviceBitcode {
    /// Links the inputs into one module, which is for a target that the JIT supports.
    pub(crate) fn merge<'ctx>(
        &self,
        context: &'ctx Context,
        errors: &CollectedErrors<'ctx>,
    ) -> Result<Module<'ctx>, MergeError> {
        let module = link_files(context, errors, &self.inputs, |module| {
            note_source_files(module, file_identity);
        })?;
        let triple = module.get_triple().as_str().to_string_lossy().into_owned();
        if !jit::supports(Triple(&triple)) {
            return Err(MergeError::Target {
                input: self.inputs.first().cloned().unwrap_or_default(),
                triple,
            });
        }
        if self.own_unwinder {
            note_own_unwinder(&module);
        }
        Ok(module)
    }

    /// The machine of the module's triple; what a function may use stands in its own attributes.
    pub(crate) fn machine(&self, module: &Module<'_>) -> Result<TargetMachine, CodegenError> {
        let triple = module.get_triple();
        let triple = triple.as_str().to_string_lossy();
        let options = MachineOptions {
            triple: &triple,
            cpu: "",
            features: "",
            optimization_level: self.optimization_level,
        };
        match Triple(&triple).is_gpu() {
            true => gpu_machine(&options),
            false => target_machine(&options),
        }
    }
}

/// Which file a name leads to from here, where Clang is likely to have run too.
fn file_identity(name: &str) -> Option<FileIdentity> {
    let metadata = fs::metadata(name).ok()?;
    // As names of kernels have it.
    Some(FileIdentity {
        device: metadata.dev() as u32,
        file: metadata.ino() as u32,
    })
}

/// The number of a level as Clang takes it behind `-O`.
fn optimization_level(text: &str) -> Result<u32, String> {
    match text {
        "0" => Ok(0),
        "1" | "g" => Ok(1),
        "2" | "s" | "z" => Ok(2),
        "3" | "4" | "fast" => Ok(3),
        _ => Err("expected 0, 1, 2, 3, g, s, z or fast".to_owned()),
    }
}

//! `offload-runtime<bitcode=FILE;bitcode=FILE>`: links device libraries into a module while it is compiled,
//! as Clang does with `-mlink-builtin-bitcode`.
//!
//! Before: `declare i32 @__kmpc_target_init(ptr, ptr)`
//! After: `define internal i32 @__kmpc_target_init(ptr %0, ptr %1) "target-cpu"="sm_90" { … }`
//!
//! For front ends that have no such option: the device runtime (`libomptarget-nvptx-sm_90.bc`), NVIDIA's
//! `libdevice`, AMD's device libraries. Only what the module needs is linked, in the order of the files; it
//! becomes internal, but for what the library keeps by `llvm.used`; and it is compiled for the processor, and
//! with the options, that the module's own functions have ([`default_attributes`]). A library that the module
//! needs nothing of stays out, so running the pass twice changes nothing.

mod default_attributes;

use crate::error::PassError;
use crate::parameters::Parameters;
use crate::registry::Pass;
use default_attributes::DefaultAttributes;
use llvm_plugin::PreservedAnalyses;
use offloom_ir::inkwell::module::Module;
use offloom_ir::library::{Library, LibraryError};
use offloom_ir::symbol::functions;
use std::path::Path;

/// The libraries.
const BITCODE: &str = "bitcode";

pub(crate) const PASS: Pass = Pass {
    name: "offload-runtime",
    parameters: &[BITCODE],
    run,
    unasked: None,
};

fn run(module: &Module<'_>, parameters: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let files = parameters.list(BITCODE)?;
    if files.is_empty() {
        return Err(PassError::MissingValue { key: BITCODE });
    }
    let defaults = DefaultAttributes::of(&functions(module));
    let mut preserved = PreservedAnalyses::All;
    for file in files {
        let in_file = |problem: LibraryError| PassError::Library {
            file: file.to_owned(),
            problem,
        };
        let library = Library::open(module, Path::new(file)).map_err(in_file)?;
        if !library.is_needed_by(module) {
            continue;
        }
        for function in library.functions() {
            if !function.name().starts_with("llvm.") {
                defaults.add_to(function);
            }
        }
        library.link_needed(module).map_err(in_file)?;
        preserved = PreservedAnalyses::None;
    }
    Ok(preserved)
}

//! `offload-internalize`: on the merged module of a device image, hides what nobody outside can ask for.
//!
//! Before: `define hidden void @helper()`        After: `define internal void @helper()`
//!
//! The optimiser may then drop, inline and specialise it. Kept as they are: kernels, the variables that
//! `omp_offload.info` or an entry names, the entries, what the runtime looks up by name
//! ([`offloom_jit_passes::internalize`]), what code generation may call by itself, what the module's assembly
//! mentions, what the parameters `keep=a,b` (or `keep=a;keep=b`) and `keep-file=FILE` name, and every other
//! member of a comdat with one of these. The file has names between white space, as LLVM's
//! `-internalize-public-api-file` has. `@llvm.used` and `@llvm.compiler.used` lose all other symbols; an
//! empty list goes.
//!
//! Only for modules that nothing will be linked to any more: never at compile time. Unasked it runs when full
//! LTO starts on a device module.

use crate::error::PassError;
use crate::offload_info::listed_globals;
use crate::parameters::Parameters;
use crate::registry::{ExtensionPoint, Pass, Unasked};
use crate::target;
use llvm_plugin::PreservedAnalyses;
use offloom_ir::inkwell::module::Module;
use offloom_jit_passes::internalize::{Exposed, internalize};
use std::fs;

pub(crate) const PASS: Pass = Pass {
    name: "offload-internalize",
    parameters: &[KEEP, KEEP_FILE],
    run,
    unasked: Some(Unasked {
        at: ExtensionPoint::FullLtoEarly,
        concerns: target::is_device,
    }),
};

/// Symbols to keep besides.
const KEEP: &str = "keep";

/// A file with symbols to keep besides.
const KEEP_FILE: &str = "keep-file";

fn run(module: &Module<'_>, parameters: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let mut names = listed_globals(module)?;
    names.extend(parameters.list(KEEP)?.into_iter().map(str::to_owned));
    if let Some(file) = parameters.value(KEEP_FILE)? {
        names.extend(names_in(file)?);
    }
    Ok(match internalize(module, &Exposed::read(module, names)) {
        true => PreservedAnalyses::None,
        false => PreservedAnalyses::All,
    })
}

/// The names in a file of names.
fn names_in(file: &str) -> Result<Vec<String>, PassError> {
    let text = fs::read_to_string(file).map_err(|problem| PassError::KeepFile {
        file: file.to_owned(),
        problem,
    })?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

//! `offload-prune`: `offload-prune<kernel=NAME>` leaves one kernel and what it reaches.
//!
//! Before: every kernel of an image               After: one, with its functions, variables and declarations
//!
//! For code that is compiled for one kernel, so before anything is optimised. Constructors and destructors
//! stay that work on variables which stay, and so does the kernel's environment.

use crate::error::PassError;
use crate::parameters::Parameters;
use crate::registry::Pass;
use llvm_plugin::PreservedAnalyses;
use offloom_ir::inkwell::module::Module;
use offloom_jit_passes::prune::prune;

/// The kernel to keep.
const KERNEL: &str = "kernel";

pub(crate) const PASS: Pass = Pass {
    name: "offload-prune",
    parameters: &[KERNEL],
    run,
    unasked: None,
};

fn run(module: &Module<'_>, parameters: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let kernel = parameters
        .value(KERNEL)?
        .ok_or(PassError::MissingValue { key: KERNEL })?;
    prune(module, kernel)?;
    Ok(PreservedAnalyses::None)
}

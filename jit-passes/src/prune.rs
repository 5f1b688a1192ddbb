//! Cuts the variant module down to one kernel and what it reaches.

use offloom_ir::codegen::run_pipeline;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::jit_globals::{find, globals};

use crate::error::JitPassError;
use crate::survey::is_kernel;

/// Leaves `kernel` as the only definition that other objects see, and removes what it does not reach.
///
/// # Errors
/// When the module does not define it.
pub fn prune(
    module: &Module<'_>,
    kernel: &str,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<(), JitPassError> {
    if !find(module, kernel).is_some_and(is_kernel) {
        return Err(JitPassError::NoSuchKernel(kernel.to_owned()));
    }
    for other in globals(module) {
        if is_kernel(other) && other.name() != kernel {
            other.become_internal();
        }
    }
    run_pipeline(module, machine, errors, "globaldce")?;
    Ok(())
}

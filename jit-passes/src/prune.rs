//! Cuts a device module down to one kernel and what it reaches, before anything is optimised.

use offloom_abi::jit_device_image::kernel_environment;
use offloom_ir::inkwell::module::Module;
use offloom_ir::reachable::keep_reachable;
use offloom_ir::symbol::{Symbol, find, find_variable, symbols};

use crate::error::JitPassError;
use crate::survey::is_kernel;

/// Leaves `kernel` as the only kernel, and removes what neither it nor its environment reaches: functions,
/// variables, declarations, entries of `llvm.used` and of `llvm.global_ctors`.
///
/// Another kernel that this one reaches becomes internal.
///
/// # Errors
/// When the module does not define the kernel.
pub fn prune(module: &Module<'_>, kernel: &str) -> Result<(), JitPassError> {
    let function = find(module, kernel)
        .filter(|&global| is_kernel(global))
        .and_then(Symbol::as_function)
        .ok_or_else(|| JitPassError::NoSuchKernel(kernel.to_owned()))?;
    let environment = find_variable(module, &kernel_environment(kernel));
    let roots: Vec<Symbol<'_>> = [Some(Symbol::from(function)), environment]
        .into_iter()
        .flatten()
        .collect();
    keep_reachable(module, &roots);
    for other in symbols(module) {
        if is_kernel(other) && other.name() != kernel {
            other.become_internal();
        }
    }
    Ok(())
}

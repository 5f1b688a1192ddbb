//! Where in the source the runtime is called, for its messages: the `ident_t` of calls that name no place themselves.

use offloom_ir::inkwell::module::Module;
use offloom_ir::source_location::locate_calls;

/// The functions of `libomptarget` whose first argument is an `ident_t` (`offload/include/omptarget.h`).
const RUNTIME_FUNCTIONS: [&str; 8] = [
    "__tgt_target_data_begin_mapper",
    "__tgt_target_data_begin_nowait_mapper",
    "__tgt_target_data_end_mapper",
    "__tgt_target_data_end_nowait_mapper",
    "__tgt_target_data_update_mapper",
    "__tgt_target_data_update_nowait_mapper",
    "__tgt_target_kernel",
    "__tgt_target_kernel_nowait",
];

/// Gives calls with null for their `ident_t` and a debug location the place that it names. Returns whether there was one.
pub(crate) fn add(module: &Module<'_>) -> bool {
    let mut changed = false;
    for name in RUNTIME_FUNCTIONS {
        if let Some(function) = module.get_function(name) {
            changed |= locate_calls(function);
        }
    }
    changed
}

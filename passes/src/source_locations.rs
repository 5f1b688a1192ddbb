//! Where in the source the runtime is called, for its messages: the `ident_t` of calls that name no place
//! themselves.

use crate::markers::{Marked, kernel_of_function};
use offloom_abi::kernel_name::{KernelName, region_id_name};
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

/// Gives calls with null for their `ident_t` the place that their debug location names, or else the place of
/// the function that they launch. Returns whether there was one.
pub(crate) fn add<'ctx>(module: &Module<'ctx>, marked: &Marked<'ctx>) -> bool {
    let callees: Vec<_> = RUNTIME_FUNCTIONS
        .iter()
        .filter_map(|name| module.get_function(name))
        .collect();
    if callees.is_empty() {
        return false;
    }
    let regions = marked.iter().filter_map(|(&symbol, mark)| {
        mark.kernel_flags()?;
        let name = symbol.name();
        let kernel = match KernelName::parse(&name) {
            Some(_) => name,
            None => kernel_of_function(&name),
        };
        let region_id = module.get_global(&region_id_name(&kernel))?;
        Some((region_id.into(), symbol.as_function()?))
    });
    locate_calls(module, &callees, &regions.collect::<Vec<_>>())
}

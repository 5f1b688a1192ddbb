//! Parallel regions and tasks that start others.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_keep_nesting_regions_apart(module: LLVMModuleRef) -> u32;
}

/// Has the code of regions and tasks that start others stay functions (`noinline`), before the device runtime
/// is linked in. Returns how many they are.
///
/// The runtime's function that starts regions, or runs tasks, calls itself through such code. Inlined into
/// it, the code's variables would be those of a recursive function, of which LLVM's Attributor (seen in LLVM
/// 19) forgets that a deeper call of the function writes to them through an array of their addresses.
pub fn keep_nesting_regions_apart(module: &Module<'_>) -> u32 {
    // SAFETY: a live module.
    unsafe { offloom_ir_keep_nesting_regions_apart(module.as_mut_ptr()) }
}

//! Functions that do nothing but start regions: what Clang makes of the outer levels of `teams distribute
//! parallel for`.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_leave_region_starts(module: LLVMModuleRef);
}

/// Has passes and code generation leave such functions as they are (`optnone`): they run once for each team,
/// call nothing but the OpenMP runtime, and have no loop that does not start a region each time round. Only
/// where their addresses are taken: a call of one is there to become part of its caller.
///
/// For code that has been optimised before. Nothing of it is floating point, so results do not change.
pub fn leave_region_starts(module: &Module<'_>) {
    // SAFETY: a live module.
    unsafe { offloom_ir_leave_region_starts(module.as_mut_ptr()) }
}

//! Versions of straight-line code for memory that does not overlap.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_version_straight_line_code(module: LLVMModuleRef) -> u32;
}

/// Gives straight-line code, in which stores stand between accesses to the same memory, a second form that is
/// entered where the addresses say that those stores go elsewhere. In how many places.
///
/// There each value is loaded once, and what is overwritten unread is not stored; it is made where that saves
/// enough. In code that is executed once, what is left carries `!alias.scope` and `!noalias`, as LLVM's
/// `LoopVersioning` has it, for code generation. Both forms compute the same, and in the same order.
pub fn version_straight_line_code(module: &Module<'_>) -> u32 {
    // SAFETY: a live module.
    unsafe { offloom_ir_version_straight_line_code(module.as_mut_ptr()) }
}

//! What is left in a linked module that nothing executes, and that code generation may not take.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_remove_unused(module: LLVMModuleRef);
    fn offloom_ir_drop_surplus_arguments(module: LLVMModuleRef);
    fn offloom_ir_drop_cases_not_passed(library: LLVMModuleRef, program: LLVMModuleRef);
}

/// Removes the module's own functions and variables that nothing uses (LLVM's `globaldce`). Handles to them
/// are dead afterwards.
pub fn remove_unused(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_remove_unused(module.as_mut_ptr()) }
}

/// Has calls with more arguments than the function has parameters leave out the rest. Their behaviour is
/// undefined, so nothing executes them; LLVM's OpenMPOpt makes them of calls through a pointer, in the arm
/// for each function that it may lead to. Handles to these calls are dead afterwards.
pub fn drop_surplus_arguments(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_drop_surplus_arguments(module.as_mut_ptr()) }
}

/// Removes from the library's functions the cases that no call selects: where a function chooses by an
/// argument (`switch`), and all calls of it, in the library and in the program that it is for, pass
/// constants, or in the library what the function that calls was given itself, of which the same holds. What
/// happens with other values stays. Both modules are of one context. Handles to what was in
/// these cases are dead afterwards.
pub fn drop_cases_not_passed(library: &Module<'_>, program: &Module<'_>) {
    // SAFETY: both modules are live and of one context, so that equal constants are one.
    unsafe { offloom_ir_drop_cases_not_passed(library.as_mut_ptr(), program.as_mut_ptr()) }
}

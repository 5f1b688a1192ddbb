//! Floating-point operations whose result depends on how they are compiled, made to depend on it no longer.

use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::FunctionValue;

unsafe extern "C" {
    fn offloom_ir_inexact_function(module: LLVMModuleRef) -> LLVMValueRef;
    fn offloom_ir_pin_library_calls(module: LLVMModuleRef);
    fn offloom_ir_expand_operations(module: LLVMModuleRef);
}

/// A function with an instruction that LLVM may compute in more than one way (a fast-math flag).
pub fn function_with_fast_math<'ctx>(module: &Module<'ctx>) -> Option<FunctionValue<'ctx>> {
    // SAFETY: the module is live; the answer is null or one of its functions.
    unsafe { FunctionValue::new(offloom_ir_inexact_function(module.as_mut_ptr())) }
}

/// Has calls of mathematical functions stay as they are: not rewritten because an argument is a constant, not folded with the
/// compiling machine's library. Those that are correctly rounded (square root, rounding, ...) are left alone.
pub fn pin_library_calls(module: &Module<'_>) {
    // SAFETY: the module is live, and only attributes of calls change.
    unsafe { offloom_ir_pin_library_calls(module.as_mut_ptr()) }
}

/// For x86: takes `llvm.fmuladd` apart in functions whose processor has no fused form, and spells `llvm.minnum` and `llvm.maxnum`
/// out, so that neither constants nor a wider processor change their result. Handles to these calls are dead afterwards.
pub fn expand_operations(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_expand_operations(module.as_mut_ptr()) }
}

//! `ident_t`: where in the source a call of the OpenMP runtime stands, made by LLVM's own `OpenMPIRBuilder`.

use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, FunctionValue};

unsafe extern "C" {
    fn offloom_ir_locate_calls(callee: LLVMValueRef) -> bool;
}

/// Gives each call of the runtime function `callee` whose first argument is null the `ident_t` of its debug location, with the text
/// `;file;function;line;column;;`, as Clang does. Calls without a debug location stay as they are. Returns whether any call changed.
pub fn locate_calls(callee: FunctionValue<'_>) -> bool {
    // SAFETY: a live function.
    unsafe { offloom_ir_locate_calls(callee.as_value_ref()) }
}

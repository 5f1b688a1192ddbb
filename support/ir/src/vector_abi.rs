//! Vectors that are passed by value into or out of a module: how, depends on the features of both sides.

use inkwell::llvm_sys::prelude::LLVMValueRef;

use crate::symbol::Symbol;

unsafe extern "C" {
    fn offloom_ir_widest_vector_at_boundary(function: LLVMValueRef) -> u32;
}

/// Bits of the widest vector that a definition gets from, returns to, or exchanges with code outside of its
/// module: by a call of a declaration or of an unknown function, or as a function that others see or whose
/// address is taken. 0: none, or the symbol is a declaration, or no function.
pub fn widest_vector_at_boundary(function: &Symbol<'_>) -> u32 {
    if function.as_function().is_none() {
        return 0;
    }
    // SAFETY: it is a live function, and a definition or not.
    unsafe { offloom_ir_widest_vector_at_boundary(function.as_value_ref()) }
}

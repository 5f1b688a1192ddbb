//! Which pointers lead to accesses that would be wider if more were known of their alignment.

use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, BasicValueEnum, FunctionValue};

unsafe extern "C" {
    fn offloom_ir_wider_accesses(function: LLVMValueRef, parameters: *mut bool);
}

/// The pointer parameters of a function definition through which it accesses memory piece by piece, where a
/// GPU's thread could take up to 16 bytes at a time if it knew them to be aligned: parts of one structure, or
/// what a loop comes to one after the other. What an argument is multiplied with may be any multiple once it
/// is known. Nothing for a declaration.
pub fn wider_if_aligned(function: FunctionValue<'_>) -> Vec<BasicValueEnum<'_>> {
    let parameters = function.get_params();
    let mut found = vec![false; parameters.len()];
    if function.count_basic_blocks() > 0 {
        // SAFETY: a live definition, with room for each of its parameters.
        unsafe { offloom_ir_wider_accesses(function.as_value_ref(), found.as_mut_ptr()) }
    }
    let found = parameters.into_iter().zip(found);
    found
        .filter_map(|(parameter, is_found)| is_found.then_some(parameter))
        .collect()
}

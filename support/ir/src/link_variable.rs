//! Variables that device code reaches through a pointer (`declare target link`).

use crate::symbol::{Symbol, SymbolKind};
use inkwell::llvm_sys::prelude::LLVMValueRef;

unsafe extern "C" {
    fn offloom_ir_load_address(variable: LLVMValueRef, reference: LLVMValueRef);
    fn offloom_ir_erase_unless_needed(variable: LLVMValueRef) -> LLVMValueRef;
}

/// Replaces each use of `variable` in code by the pointer that the variable `reference` holds at that moment.
/// The module may then have other constant expressions than before, of the same meaning.
pub fn load_address(variable: Symbol<'_>, reference: Symbol<'_>) {
    if variable.kind() == SymbolKind::Variable && reference.kind() == SymbolKind::Variable {
        // SAFETY: two live variables.
        unsafe { offloom_ir_load_address(variable.as_value_ref(), reference.as_value_ref()) };
    }
}

/// Removes a variable that no code uses any more, also from `@llvm.used` and `@llvm.compiler.used`; its
/// annotations keep their form without it. The [`Symbol`] must not be used afterwards.
///
/// # Errors
/// A symbol whose initial value needs the variable's address, which is not known before the program runs. The
/// variable is still there then.
pub fn erase_unless_needed<'ctx>(variable: Symbol<'ctx>) -> Result<(), Symbol<'ctx>> {
    if variable.kind() != SymbolKind::Variable {
        return Ok(());
    }
    // SAFETY: a live variable.
    let user = unsafe { offloom_ir_erase_unless_needed(variable.as_value_ref()) };
    Symbol::from_value(user).map_or(Ok(()), Err)
}

//! Variables that device code reaches through a pointer (`declare target link`).

use crate::symbol::{Symbol, SymbolKind};
use inkwell::llvm_sys::prelude::LLVMValueRef;

unsafe extern "C" {
    fn offloom_ir_load_address(variable: LLVMValueRef, reference: LLVMValueRef) -> LLVMValueRef;
}

/// Replaces each use of `variable` in code by the pointer that the variable `reference` holds at that moment.
///
/// # Errors
/// A symbol whose initial value needs the variable's address, which is not known before the program runs. The module may then
/// have other constant expressions than before, of the same meaning.
pub fn load_address<'ctx>(variable: Symbol<'ctx>, reference: Symbol<'ctx>) -> Result<(), Symbol<'ctx>> {
    if variable.kind() != SymbolKind::Variable || reference.kind() != SymbolKind::Variable {
        return Ok(());
    }
    // SAFETY: two live variables.
    let user = unsafe { offloom_ir_load_address(variable.as_value_ref(), reference.as_value_ref()) };
    Symbol::from_value(user).map_or(Ok(()), Err)
}

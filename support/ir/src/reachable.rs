//! Cuts a module down to what some of its symbols need.

use crate::symbol::Symbol;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_keep_reachable(module: LLVMModuleRef, roots: *const LLVMValueRef, count: usize);
}

/// Removes every symbol that the roots do not need, declarations too.
///
/// A symbol needs those that its body, assembly in it, or its initial value names, and its comdat; the
/// module's assembly stays, with what it names. Constructors and destructors of variables that are kept are
/// kept, and what those need, with its constructors; where one function calls many initialisers and does
/// nothing else, as C++ front ends make it for a file, the calls of the others are removed from it. Every
/// [`Symbol`] for a removed one is dead afterwards and must not be used.
pub fn keep_reachable(module: &Module<'_>, roots: &[Symbol<'_>]) {
    let roots: Vec<_> = roots.iter().map(|symbol| symbol.as_value_ref()).collect();
    // SAFETY: the module and its symbols are live, and the symbols are passed with their number.
    unsafe { offloom_ir_keep_reachable(module.as_mut_ptr(), roots.as_ptr(), roots.len()) }
}

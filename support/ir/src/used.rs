//! The lists `llvm.used` and `llvm.compiler.used`: symbols that must stay although nothing refers to them.

use crate::symbol::Symbol;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_used_count(module: LLVMModuleRef, compiler_only: bool) -> usize;
    fn offloom_ir_used(module: LLVMModuleRef, compiler_only: bool, symbols: *mut LLVMValueRef);
    fn offloom_ir_set_used(
        module: LLVMModuleRef,
        compiler_only: bool,
        symbols: *const LLVMValueRef,
        count: usize,
    );
}

/// One of the two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsedList {
    /// `llvm.used`: neither the compiler nor the linker may drop the symbols.
    Used,
    /// `llvm.compiler.used`: the compiler may not drop the symbols.
    CompilerUsed,
}

impl UsedList {
    /// Both lists.
    pub const BOTH: [Self; 2] = [Self::Used, Self::CompilerUsed];

    fn is_compiler_only(self) -> bool {
        self == Self::CompilerUsed
    }
}

/// The symbols of a list, in order. Empty when the module has no such list.
pub fn used<'ctx>(module: &Module<'ctx>, list: UsedList) -> Vec<Symbol<'ctx>> {
    // SAFETY: the module is live.
    let count = unsafe { offloom_ir_used_count(module.as_mut_ptr(), list.is_compiler_only()) };
    let mut symbols = vec![std::ptr::null_mut(); count];
    // SAFETY: the array has room for as many symbols as the list was just found to have.
    unsafe { offloom_ir_used(module.as_mut_ptr(), list.is_compiler_only(), symbols.as_mut_ptr()) };
    symbols.into_iter().filter_map(Symbol::from_value).collect()
}

/// Replaces a list. An empty one is removed from the module.
pub fn set_used(module: &Module<'_>, list: UsedList, symbols: &[Symbol<'_>]) {
    let symbols: Vec<_> = symbols.iter().map(|symbol| symbol.as_value_ref()).collect();
    // SAFETY: the module is live, and the symbols are passed with their number.
    unsafe {
        offloom_ir_set_used(
            module.as_mut_ptr(),
            list.is_compiler_only(),
            symbols.as_ptr(),
            symbols.len(),
        );
    }
}

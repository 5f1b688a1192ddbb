//! The symbols of a module.

use inkwell::llvm_sys::core::{
    LLVMGetFirstFunction, LLVMGetFirstGlobal, LLVMGetFirstGlobalAlias, LLVMGetFirstGlobalIFunc,
    LLVMGetNamedGlobalAlias, LLVMGetNextFunction, LLVMGetNextGlobal, LLVMGetNextGlobalAlias,
    LLVMGetNextGlobalIFunc,
};
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;

use super::Symbol;

/// The function, variable or alias of this name.
pub fn find<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Symbol<'ctx>> {
    let function = module.get_function(name).map(Symbol::from);
    function
        .or_else(|| find_variable(module, name))
        .or_else(|| find_alias(module, name))
}

fn find_alias<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Symbol<'ctx>> {
    // SAFETY: the module is live, and the name comes with its length. The answer is null or an alias of it.
    unsafe {
        let alias = LLVMGetNamedGlobalAlias(module.as_mut_ptr(), name.as_ptr().cast(), name.len());
        (!alias.is_null()).then(|| Symbol::of_global(alias))
    }
}

/// The variable of this name.
pub fn find_variable<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Symbol<'ctx>> {
    module.get_global(name).map(Symbol::from)
}

/// The module's global variables, in order.
pub fn variables<'ctx>(module: &Module<'ctx>) -> Vec<Symbol<'ctx>> {
    walk(module, LLVMGetFirstGlobal, LLVMGetNextGlobal)
}

/// The module's functions, in order.
pub fn functions<'ctx>(module: &Module<'ctx>) -> Vec<Symbol<'ctx>> {
    walk(module, LLVMGetFirstFunction, LLVMGetNextFunction)
}

/// Every symbol of the module: variables, functions, aliases, ifuncs.
pub fn symbols<'ctx>(module: &Module<'ctx>) -> Vec<Symbol<'ctx>> {
    let mut all = variables(module);
    all.extend(functions(module));
    all.extend(walk(module, LLVMGetFirstGlobalAlias, LLVMGetNextGlobalAlias));
    all.extend(walk(module, LLVMGetFirstGlobalIFunc, LLVMGetNextGlobalIFunc));
    all
}

/// Follows one of the module's lists. The result is a copy, so that symbols may be added and erased while it
/// is read.
fn walk<'ctx>(
    module: &Module<'ctx>,
    first: unsafe extern "C" fn(LLVMModuleRef) -> LLVMValueRef,
    next: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef,
) -> Vec<Symbol<'ctx>> {
    // SAFETY: the module is live.
    let first = unsafe { first(module.as_mut_ptr()) };
    let list = std::iter::successors((!first.is_null()).then_some(first), |&value| {
        // SAFETY: `next` is the one that belongs to `first`'s list, and is asked about a member of it.
        let value = unsafe { next(value) };
        (!value.is_null()).then_some(value)
    });
    list.filter_map(Symbol::from_value).collect()
}

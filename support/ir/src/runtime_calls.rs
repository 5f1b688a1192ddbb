//! What code generation calls by itself: division of wide integers, conversions, `frem`, copies of memory.

use crate::symbol::Symbol;
use inkwell::llvm_sys::prelude::LLVMValueRef;

unsafe extern "C" {
    fn offloom_ir_is_runtime_call(symbol: LLVMValueRef) -> bool;
}

/// Whether code generation may call the symbol by its name, or read it, where the IR does not say so:
/// `llvm/IR/RuntimeLibcalls.def` in LLVM 19, for any target, `RuntimeLibcalls.td` since 21, for the module's.
/// LLVM's own LTO keeps the definitions of these.
pub fn is_runtime_call(symbol: Symbol<'_>) -> bool {
    // SAFETY: a live symbol of a module.
    unsafe { offloom_ir_is_runtime_call(symbol.as_value_ref()) }
}

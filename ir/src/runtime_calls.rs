//! What code generation calls by itself: division of wide integers, conversions, `frem`, copies of memory.

use std::ffi::c_char;

unsafe extern "C" {
    fn offloom_ir_is_runtime_call(name: *const c_char, length: usize) -> bool;
}

/// Names of the same kind that LLVM's list lacks: what stack protectors read, and what comparisons are merged into.
const OTHERS: [&str; 4] = ["__ssp_canary_word", "__stack_chk_guard", "bcmp", "memcmp"];

/// Whether code generation calls a function of this name, or reads a variable of this name, where the IR does not say so, for some target
/// (`llvm/IR/RuntimeLibcalls.def` in LLVM 19, `RuntimeLibcalls.td` in 22). LLVM's own LTO keeps the definitions of these.
pub fn is_runtime_call(name: &str) -> bool {
    // SAFETY: the name is passed with its length.
    OTHERS.contains(&name) || unsafe { offloom_ir_is_runtime_call(name.as_ptr().cast(), name.len()) }
}

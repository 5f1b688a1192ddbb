//! What code is promised of the alignment of addresses.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_limit_alignment(module: LLVMModuleRef, logarithm: u32);
}

/// Has no access of the module's code, and nothing that it says of pointers, promise a larger alignment than
/// `2^logarithm` bytes. Copies of arguments on the stack, variables and atomic accesses keep theirs.
pub fn limit_alignment(module: &Module<'_>, logarithm: u8) {
    // SAFETY: the module is live, and no value that a handle may be for is replaced. LLVM's largest alignment
    // is 2^32 bytes.
    unsafe { offloom_ir_limit_alignment(module.as_mut_ptr(), u32::from(logarithm).min(32)) }
}

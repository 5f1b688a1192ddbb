//! Whole-module operations that the C API lacks.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;
use std::ffi::c_char;

unsafe extern "C" {
    fn offloom_ir_erase_named_metadata(module: LLVMModuleRef, name: *const c_char, length: usize);
}

/// Removes the named metadata `name` from the module if it is there.
pub fn erase_named_metadata(module: &Module<'_>, name: &str) {
    // SAFETY: the module handle is live, and the name is passed with its length.
    unsafe { offloom_ir_erase_named_metadata(module.as_mut_ptr(), name.as_ptr().cast(), name.len()) }
}

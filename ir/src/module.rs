//! Whole-module operations that the C API lacks.

use inkwell::llvm_sys::core::LLVMGetModuleInlineAsm;
use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::llvm_sys::target::{LLVMGetModuleDataLayout, LLVMPointerSize};
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

/// Bytes that a pointer of address space 0 takes, by the module's data layout.
pub fn pointer_size(module: &Module<'_>) -> u32 {
    // SAFETY: the data layout belongs to the module, which is live.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    // SAFETY: a live data layout.
    unsafe { LLVMPointerSize(layout) }
}

/// The assembly text of the whole module, which may name symbols; empty if there is none.
pub fn inline_assembly(module: &Module<'_>) -> String {
    let mut length = 0;
    // SAFETY: the module is live, and there is room for a length.
    let text = unsafe { LLVMGetModuleInlineAsm(module.as_mut_ptr(), &raw mut length) };
    if text.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: LLVM returns the bytes with their number, and the module keeps them.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

//! `llvm.global.annotations`: what `__attribute__((annotate("…")))` says about functions and variables.

use crate::symbol::Symbol;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use std::ffi::c_char;

unsafe extern "C" {
    fn offloom_ir_annotation_count(module: LLVMModuleRef) -> usize;
    fn offloom_ir_annotation(
        module: LLVMModuleRef,
        index: usize,
        length: *mut usize,
        symbol: *mut LLVMValueRef,
    ) -> *const c_char;
    fn offloom_ir_keep_annotations(module: LLVMModuleRef, keep: *const bool);
}

/// Whether any annotation starts with `prefix`.
pub fn has_annotation(module: &Module<'_>, prefix: &str) -> bool {
    (0..count(module))
        .any(|index| annotation(module, index).is_some_and(|(_, text)| text.starts_with(prefix)))
}

/// Removes the annotations that start with `prefix` from the module and returns them, in order, without the
/// prefix.
pub fn take_annotations<'ctx>(module: &Module<'ctx>, prefix: &str) -> Vec<(Symbol<'ctx>, String)> {
    let mut taken = Vec::new();
    let keep: Vec<bool> = (0..count(module))
        .map(|index| {
            let Some((symbol, text)) = annotation(module, index) else {
                return true;
            };
            let Some(text) = text.strip_prefix(prefix) else {
                return true;
            };
            taken.push((symbol, text.to_owned()));
            false
        })
        .collect();
    if !taken.is_empty() {
        // SAFETY: the module is live, and there is a value for each annotation.
        unsafe { offloom_ir_keep_annotations(module.as_mut_ptr(), keep.as_ptr()) };
    }
    taken
}

fn count(module: &Module<'_>) -> usize {
    // SAFETY: the module is live.
    unsafe { offloom_ir_annotation_count(module.as_mut_ptr()) }
}

/// The annotation with that index, which must be below [`count`]; `None` if it is not of the form that Clang
/// gives them.
fn annotation<'ctx>(module: &Module<'ctx>, index: usize) -> Option<(Symbol<'ctx>, String)> {
    let (mut length, mut symbol) = (0, std::ptr::null_mut());
    // SAFETY: the module is live, the callers stay below the count, and there is room for both results.
    let text = unsafe { offloom_ir_annotation(module.as_mut_ptr(), index, &raw mut length, &raw mut symbol) };
    if text.is_null() {
        return None;
    }
    // SAFETY: the shim returns the bytes of a constant, which its context keeps.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    Some((
        Symbol::from_value(symbol)?,
        String::from_utf8_lossy(bytes).into_owned(),
    ))
}

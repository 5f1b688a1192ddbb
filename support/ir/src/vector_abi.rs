//! Vectors that are passed by value into or out of a module: how, depends on the features of both sides.

use std::ffi::c_char;

use inkwell::llvm_sys::core::LLVMGetValueName2;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_widest_vector_at_boundary(module: LLVMModuleRef, function: *mut LLVMValueRef) -> u32;
}

/// A vector that crosses the module's boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorAtBoundary {
    /// The definition that is called with it, or whose code calls with it.
    pub function: String,
    /// Its width, in bits.
    pub bits: u32,
}

/// The widest vector over 128 bits that a function of the module gets from, returns to, or exchanges with
/// code outside: by a call of a declaration or of an unknown function, or as a definition that others see or
/// whose address is taken.
pub fn widest_vector_at_boundary(module: &Module<'_>) -> Option<VectorAtBoundary> {
    let mut function = std::ptr::null_mut();
    // SAFETY: the module is live, and there is room for a value.
    let bits = unsafe { offloom_ir_widest_vector_at_boundary(module.as_mut_ptr(), &raw mut function) };
    if function.is_null() {
        return None;
    }
    let mut length = 0;
    // SAFETY: the shim returned a live function; its name comes with its length and is copied.
    let name = unsafe {
        let start: *const c_char = LLVMGetValueName2(function, &raw mut length);
        std::slice::from_raw_parts(start.cast::<u8>(), length)
    };
    Some(VectorAtBoundary {
        function: String::from_utf8_lossy(name).into_owned(),
        bits,
    })
}

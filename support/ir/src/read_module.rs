//! Reads a module from a file, bitcode or text, and refuses that of another LLVM release.

use crate::bitcode_header::{foreign_producer, is_bitcode};
use crate::jit_diagnostics::CollectedErrors;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::LLVMDisposeMessage;
use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMMemoryBufferRef, LLVMModuleRef};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use std::ffi::{CStr, c_char};
use std::path::Path;

unsafe extern "C" {
    fn offloom_ir_parse(
        context: LLVMContextRef,
        buffer: LLVMMemoryBufferRef,
        message: *mut *mut c_char,
    ) -> LLVMModuleRef;
}

/// Why a module could not be read. The messages do not name the file.
#[derive(Debug, thiserror::Error)]
pub enum ReadModuleError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(String),
    /// Bitcode that another release wrote.
    #[error("is bitcode that {producer} wrote, and this is LLVM {major}: use one LLVM for all of a program", major = crate::LLVM.major())]
    OtherLlvm {
        /// What the file names as its producer, as `LLVM19.1.7`.
        producer: String,
    },
    /// The file holds no module that this LLVM reads.
    #[error("holds no LLVM module: {0}")]
    Parse(String),
}

/// Reads all of the module in the file. `errors` must be installed in `context`.
///
/// # Errors
/// When there is no such file, it holds neither bitcode nor text of a module, or another LLVM release wrote
/// it. Text names no release.
pub fn read_module<'ctx>(
    context: &'ctx Context,
    errors: &CollectedErrors<'ctx>,
    path: &Path,
) -> Result<Module<'ctx>, ReadModuleError> {
    let buffer =
        MemoryBuffer::create_from_file(path).map_err(|reason| ReadModuleError::Io(reason.to_string()))?;
    let module = if is_bitcode(buffer.as_slice()) {
        if let Some(producer) = foreign_producer(buffer.as_slice()) {
            return Err(ReadModuleError::OtherLlvm { producer });
        }
        Module::parse_bitcode_from_buffer(&buffer, context).map_err(|reason| reason.to_string())
    } else {
        parse(context, &buffer)
    };
    match (module, errors.take()) {
        (Ok(module), None) => Ok(module),
        (_, Some(reported)) => Err(ReadModuleError::Parse(reported)),
        (Err(reason), None) => Err(ReadModuleError::Parse(reason.trim_end().to_owned())),
    }
}

fn parse<'ctx>(context: &'ctx Context, buffer: &MemoryBuffer) -> Result<Module<'ctx>, String> {
    let mut message = std::ptr::null_mut();
    // SAFETY: the context and the buffer are live, and there is room for a message.
    let module = unsafe { offloom_ir_parse(context.as_ctx_ref(), buffer.as_mut_ptr(), &raw mut message) };
    if module.is_null() {
        // SAFETY: where there is no module there is a message that ends with a NUL.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        // SAFETY: the shim's string, freed once.
        unsafe { LLVMDisposeMessage(message) };
        return Err(text);
    }
    // SAFETY: a new module of the context, which nobody else owns.
    Ok(unsafe { Module::new(module) })
}

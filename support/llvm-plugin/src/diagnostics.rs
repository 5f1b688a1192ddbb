//! Messages to the user through LLVM, so that every tool shows them in its own way.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;
use std::ffi::{c_char, c_int};

unsafe extern "C" {
    fn llvm_plugin_diagnose(module: LLVMModuleRef, severity: c_int, text: *const c_char, length: usize);
}

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The tool fails with exit code 1 and leaves no output behind. `opt` ends at once: [`diagnose`] does not
    /// return there. `clang` goes on to the end of the pipeline first.
    Error = 0,
    /// Something is doubtful; the tool goes on.
    Warning = 1,
    /// What a pass did or why it did not.
    Remark = 2,
    /// More about the message before.
    Note = 3,
}

/// Reports `message` through the module's `LLVMContext`.
///
/// After an error the pass should return without changing the module further.
pub fn diagnose(module: &Module<'_>, severity: Severity, message: &str) {
    // SAFETY: the module is live, and the text is passed with its length.
    unsafe {
        llvm_plugin_diagnose(
            module.as_mut_ptr(),
            severity as c_int,
            message.as_ptr().cast(),
            message.len(),
        );
    }
}

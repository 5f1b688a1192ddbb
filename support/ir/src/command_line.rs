//! LLVM's own command-line options (`-mllvm`).

use std::ffi::{CString, NulError, c_char, c_int};

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;

/// Sets LLVM's global options as `program` would with `arguments`. Nothing of LLVM may be running. An option
/// may be set again later.
///
/// LLVM ignores an option that it does not know, and all behind it, without a word: the C interface discards
/// its messages.
///
/// # Errors
/// An argument holds a NUL.
pub fn set_llvm_options(program: &str, arguments: &[String]) -> Result<(), NulError> {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    let words = words.map(CString::new).collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    // SAFETY: the array has as many NUL-terminated strings as the count says, and LLVM copies what it keeps
    // of them.
    unsafe { LLVMParseCommandLineOptions(pointers.len() as c_int, pointers.as_ptr(), std::ptr::null()) };
    Ok(())
}

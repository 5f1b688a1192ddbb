//! LLVM's own command-line options (`-mllvm`).

use std::ffi::{CString, NulError, c_char, c_int};

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;

unsafe extern "C" {
    fn offloom_ir_reset_option(name: *const c_char, length: usize) -> bool;
}

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

/// Has one of LLVM's options, named without a dash, be as if it had not been given: to be given its default
/// is not the same for all of them. Nothing of LLVM may be running. Whether there is such an option.
pub fn reset_llvm_option(name: &str) -> bool {
    // SAFETY: the name's bytes, with their number.
    unsafe { offloom_ir_reset_option(name.as_ptr().cast(), name.len()) }
}

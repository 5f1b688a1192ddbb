//! `offloom-jit-call`: the process in which `offloom replay` and `offloom precompile` have
//! `liboffloom_jit.so` do something. Does nothing before, so that the addresses of a dumped launch are free.
#![expect(unsafe_code, reason = "loads a library and calls a function of it")]

use std::env;
use std::ffi::{CStr, CString, OsString, c_char, c_int};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

type Function = unsafe extern "C" fn(path: *const c_char) -> c_int;

/// Prints a line; where nobody reads it there is nobody to tell.
fn say(what: &str) {
    let _ = writeln!(io::stderr(), "offloom-jit-call: {what}");
}

fn main() -> ExitCode {
    let arguments: Vec<CString> = env::args_os()
        .skip(1)
        .map(OsString::into_vec)
        .filter_map(|argument| CString::new(argument).ok())
        .collect();
    let [library, function, path] = arguments.as_slice() else {
        say("is started by `offloom replay` and `offloom precompile`, not by hand");
        return ExitCode::from(2);
    };
    // SAFETY: the library is Offloom's own; its functions for this take a string. It is global, since device
    // images look for its functions.
    let end = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
        let function = if handle.is_null() {
            handle
        } else {
            libc::dlsym(handle, function.as_ptr())
        };
        if function.is_null() {
            let message = CStr::from_ptr(libc::dlerror());
            say(&message.to_string_lossy());
            return ExitCode::from(2);
        }
        let function = std::mem::transmute::<*mut libc::c_void, Function>(function);
        function(path.as_ptr())
    };
    ExitCode::from(u8::try_from(end).unwrap_or(2))
}

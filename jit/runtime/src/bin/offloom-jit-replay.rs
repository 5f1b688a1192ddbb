//! `offloom-jit-replay`: the process in which `offloom replay` has `liboffloom_jit.so` run a dumped launch.
//! Does nothing before, so that the addresses of the launch are free.
#![expect(unsafe_code, reason = "loads a library and calls a function of it")]

use std::env;
use std::ffi::{CStr, CString, OsString, c_char, c_int};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

type Replay = unsafe extern "C" fn(folder: *const c_char) -> c_int;

/// Prints a line; where nobody reads it there is nobody to tell.
fn say(what: &str) {
    let _ = writeln!(io::stderr(), "offloom-jit-replay: {what}");
}

fn main() -> ExitCode {
    let arguments: Vec<CString> = env::args_os()
        .skip(1)
        .map(OsString::into_vec)
        .filter_map(|argument| CString::new(argument).ok())
        .collect();
    let [library, folder] = arguments.as_slice() else {
        say("is started by `offloom replay`, not by hand");
        return ExitCode::from(2);
    };
    // SAFETY: the library is Offloom's own; its function takes a string. It is global, since device images
    // look for its functions.
    let end = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
        let function = if handle.is_null() {
            handle
        } else {
            libc::dlsym(handle, c"offloom_jit_replay".as_ptr())
        };
        if function.is_null() {
            let message = CStr::from_ptr(libc::dlerror());
            say(&message.to_string_lossy());
            return ExitCode::from(2);
        }
        let replay = std::mem::transmute::<*mut libc::c_void, Replay>(function);
        replay(folder.as_ptr())
    };
    ExitCode::from(u8::try_from(end).unwrap_or(2))
}

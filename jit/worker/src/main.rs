//! `offloom-jit-worker`: compiles kernels for `liboffloom_jit.so` in a process of its own, so that a compile
//! that crashes, hangs or eats all memory does not reach the program.
//!
//! Started by the library with a socket as standard input, on which [`offloom_abi::jit_compile`] is spoken,
//! and two numbers: the memory it may use, in MiB, and its [`Priority`]. It ends when the other end of the
//! socket is closed.
#![forbid(unsafe_code)]

mod assemble;
mod code_object;
mod gpu_image;
mod kernel;
mod limits;
mod link_image;
mod replies;
mod serve;
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use offloom_abi::jit_compile::Priority;

fn main() -> ExitCode {
    let numbers: Vec<u32> = std::env::args_os()
        .skip(1)
        .filter_map(|argument| argument.to_str()?.parse().ok())
        .collect();
    let started_with = match numbers.as_slice() {
        &[memory, number] => Priority::from_number(number).map(|priority| (memory, priority)),
        _ => None,
    };
    let Some((memory, priority)) = started_with else {
        let _ = writeln!(
            io::stderr(),
            "offloom-jit-worker: is started by liboffloom_jit.so, not by hand"
        );
        return ExitCode::FAILURE;
    };
    limits::apply(memory);
    let Err(error) = serve::serve(priority);
    serve::report(&error);
    ExitCode::FAILURE
}

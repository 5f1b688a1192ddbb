//! The command `wrapgen`, and every LLVM tool whose name it is called by.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

fn main() -> ExitCode {
    wrapgen::cli::run(std::env::args_os().collect())
}

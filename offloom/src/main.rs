//! The program `offloom`; all of it is in the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    offloom::cli::run()
}

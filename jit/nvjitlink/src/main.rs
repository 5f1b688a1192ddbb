//! `offloom-jit-ptxas`: [`offloom_nvjitlink::assembler`].
#![forbid(unsafe_code)]

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;

use offloom_nvjitlink::assembler;

fn main() -> ExitCode {
    match assembler::run(env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where the error stream is closed, nobody reads it.
            let _ = writeln!(io::stderr(), "nvJitLink fatal   : {error}");
            ExitCode::FAILURE
        }
    }
}

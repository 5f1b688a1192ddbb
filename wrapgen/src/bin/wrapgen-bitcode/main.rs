//! The half of wrapgen that needs LLVM, in a process of its own: `wrapgen` starts it when bitcode has to be
//! touched.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod device_bitcode;
mod gpu_options;
mod hiding;
mod jit_merge;
mod jit_prepare;
mod link_time_optimization;
mod trim;
mod wrapped_module;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use offloom_ir::codegen::initialize_hosts;
use wrapgen::messages::say;
use wrapgen::response_file;
use wrapgen::wrap::WrapArgs;

/// The jobs of wrapgen that need LLVM; wrapgen starts this program itself.
#[derive(Debug, Parser)]
#[command(name = "wrapgen-bitcode", version)]
enum Job {
    /// Write a registration module as LLVM IR.
    WrappedModule(WrapArgs),
    /// Merge device bitcode, optimise it and generate one object.
    Lto(link_time_optimization::LtoArgs),
    JitPrepare(jit_prepare::JitPrepareArgs),
    JitMerge(jit_merge::JitMergeArgs),
    Trim(trim::TrimArgs),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("wrapgen-bitcode: error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let job = Job::parse_from(response_file::expand(std::env::args_os())?);
    initialize_hosts();
    match job {
        Job::WrappedModule(args) => wrapped_module::run(&args).map_err(Into::into),
        Job::Lto(args) => args.run().map_err(Into::into),
        Job::JitPrepare(args) => args.run().map_err(Into::into),
        Job::JitMerge(args) => args.run().map_err(Into::into),
        Job::Trim(args) => args.run().map_err(Into::into),
    }
}

//! Every task of this project; `task.rs` lists them.
#![forbid(unsafe_code)]

mod bench;
mod bench_jit_passes;
mod bench_launch;
mod bench_link;
mod bench_passes;
mod build;
mod clang_job;
mod command;
mod corpus;
mod cuda;
mod demo;
mod dist;
mod figures;
mod figures_document;
mod fuzz;
mod gpu_bundle;
mod gpu_instructions;
mod jit_check;
mod lint;
mod lit;
mod llvm;
mod matrix;
mod measurement;
mod names;
mod openmp;
mod pass_times;
mod progress;
mod ptx;
mod s3_server;
mod setup;
mod specialize_check;
mod steps;
mod task;
mod test;
mod virtual_gpu;
mod virtual_gpu_check;
mod worker_layout;
mod workspace;

#[cfg(test)]
mod architecture_tests;
#[cfg(test)]
mod tidy_tests;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match task::Arguments::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

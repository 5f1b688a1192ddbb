//! Every chore of this project: `cargo xtask setup | build | lint | lit | test | demo`.
#![forbid(unsafe_code)]

mod build;
mod command;
mod lit;
mod llvm;
mod openmp;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the Offloom project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// One chore.
#[derive(Subcommand)]
enum Task {
    /// Build everything and stage what a user would install in `dist/llvm-N`
    Build(build::Arguments),
    /// Build, then run the lit tests
    Lit(lit::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Build(arguments) => build::run(&arguments),
        Task::Lit(arguments) => lit::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

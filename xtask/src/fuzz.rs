//! `cargo xtask fuzz`: runs the fuzz targets for a while, from a new seed.
//!
//! They are tests of `wrapgen`, which `cargo xtask test` runs for a fixed number of inputs from a fixed seed.
//! An input that breaks a parser is left in the corpus, `wrapgen/tests/fuzz/corpus/`.

use std::process::Command;

use anyhow::Result;

use crate::command::run_shown;
use crate::workspace::{Workspace, cargo};

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Minutes for each target; as many targets as there are processors run at a time
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// The target to run. Default: all
    target: Option<String>,
}

/// Runs `cargo xtask fuzz`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut command = Command::new(cargo());
    command
        .current_dir(&workspace.root)
        .args(["test", "--release", "--locked", "-p", "wrapgen", "--test", "fuzz"])
        .env("OFFLOOM_FUZZ_SECONDS", (arguments.minutes * 60).to_string())
        .env("CARGO_TARGET_DIR", workspace.llvm_target(19))
        .args(["--", "--nocapture"]);
    if let Some(target) = &arguments.target {
        command.args(["--exact", target]);
    }
    run_shown(&mut command)?;
    Ok(())
}

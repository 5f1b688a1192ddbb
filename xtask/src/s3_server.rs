//! The S3 server that tests of the JIT's remote cache start: `s3s-fs`, which keeps objects in a folder. A
//! tool of the tests alone, so it is no package of the workspace and not in its lock file. `cargo xtask
//! setup` builds it once, without optimisation, which takes twice as long and gains tests nothing, and
//! without debug information.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::progress::run_folded;
use crate::workspace::{Workspace, cargo};

const NAME: &str = "s3s-fs";
const VERSION: &str = "0.14.1";

/// Where it is installed: named by the version, so that another is installed anew.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join(format!("{NAME}-{VERSION}"))
}

/// The program, if it is installed.
pub(crate) fn program(workspace: &Workspace) -> Option<PathBuf> {
    Some(folder(workspace).join("bin").join(NAME)).filter(|program| program.is_file())
}

/// Builds and installs it if it is not there.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    if let Some(program) = program(workspace) {
        println!("the S3 server of the tests is {}", program.display());
        return Ok(());
    }
    let mut install = Command::new(cargo());
    install
        .current_dir(&workspace.root)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .args(["install", "--debug", NAME, "--version", VERSION, "--locked"])
        .args(["--features", "binary"])
        .arg("--root")
        .arg(folder(workspace));
    run_folded(&mut install, "building the S3 server of the tests")?;
    Ok(())
}

//! `cargo xtask virtual-hsa`: runs a program with what stands in for AMD's runtime. It executes nothing.
//!
//! What the program finds is `test/virtual-hsa`. `docs/dev/virtual-hsa.md` says what it checks.

pub(crate) mod check;

use std::path::PathBuf;

use anyhow::Result;

use super::{Arguments, become_program, stage};
use crate::workspace::Workspace;

/// Runs `cargo xtask virtual-hsa`: becomes the program.
pub(crate) fn run_program(arguments: &Arguments) -> Result<()> {
    become_program(&library_folder(&Workspace::find()?)?, arguments)
}

/// Builds the library and says in which folder it lies.
pub(crate) fn library_folder(workspace: &Workspace) -> Result<PathBuf> {
    // The name by which LLVM's plugin opens it.
    stage(
        workspace,
        "offloom-virtual-hsa",
        "virtual-hsa",
        "libhsa-runtime64.so",
    )
}

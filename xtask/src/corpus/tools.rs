//! Running LLVM's tools over modules of the corpus.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::Staged;
use crate::command::shown;

/// LLVM's switch in the JIT's worker process while it compiles variants: that of
/// `jit-passes/src/pipeline.rs`, which needs LLVM to be built.
pub(crate) const VARIANT_SWITCH: &str = "-force-ordered-reductions";

/// LLVM's switch that does what variants have no module flags for (`leave_out_openmp_opt` there).
pub(crate) const WITHOUT_OPENMP_OPT: &str = "-openmp-opt-disable";

/// LLVM's switch in the worker for kernels that spill many registers (`StraightLineVectors` there).
pub(crate) const DEARER_VECTORS: &str = "-slp-threshold=-4";

/// A tool of the LLVM at hand.
pub(crate) fn tool(staged: &Staged, name: &str) -> Command {
    Command::new(staged.llvm.bin_dir.join(name))
}

/// `clang` or `clang++`, without a warning.
pub(crate) fn clang(staged: &Staged, is_cxx: bool) -> Command {
    let mut command = tool(staged, if is_cxx { "clang++" } else { "clang" });
    command.arg("-w");
    command
}

/// `opt` with the passes under test and those that only tests use.
pub(crate) fn opt(staged: &Staged, passes: &str) -> Command {
    let mut command = tool(staged, "opt");
    for plugin in plugins(staged) {
        command.arg("-load-pass-plugin").arg(plugin);
    }
    command.arg(format!("-passes={passes}"));
    command
}

fn plugins(staged: &Staged) -> [PathBuf; 2] {
    [
        staged.dist.join("lib/liboffloom_passes.so"),
        staged.test_plugin.clone(),
    ]
}

/// A step of a pipeline at which [`printed`] takes the module's text.
pub(crate) const PRINT: &str = "print";

/// Runs passes over a module; returns its text at each [`PRINT`] among them.
pub(crate) fn printed(staged: &Staged, input: &Path, passes: &[&str], scratch: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut pipeline = Vec::new();
    for &pass in passes {
        if pass == PRINT {
            let file = scratch.join(format!("printed-{}.ll", files.len()));
            pipeline.push(format!("test-print-module<{}>", file.display()));
            files.push(file);
        } else {
            pipeline.push(pass.to_owned());
        }
    }
    output(opt(staged, &pipeline.join(",")).arg("-disable-output").arg(input))?;
    let read = |file: &PathBuf| {
        fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))
    };
    files.iter().map(read).collect()
}

/// Runs a command and returns what it printed on its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    ensure!(
        output.status.success(),
        "{} ended with {}: {}",
        shown(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

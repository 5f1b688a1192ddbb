//! The device link for AMD GPUs: `ld.lld` makes the code object, and compiles bitcode on the way.
//!
//! The command is the one that Clang would start; starting Clang to do so would take longer than linking
//! objects does.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::plan::TargetPlan;
use super::device_libraries;
use crate::error::Result;
use crate::process::Runner;
use crate::toolchain;

/// The command that links `inputs`, objects and bitcode, to `image`: an AMD code object or, if that is
/// wanted, their bitcode, merged and optimised.
///
/// # Errors
/// There is no `ld.lld`.
pub(super) fn command(
    plan: &TargetPlan<'_>,
    inputs: &[PathBuf],
    image: &Path,
    runner: Runner,
) -> Result<Command> {
    let target = &plan.group.target;
    let mut command = Command::new(toolchain::llvm_program("ld.lld")?);
    command.args(["--no-undefined", "-shared"]);
    if !matches!(target.processor(), "" | "generic") {
        command.arg(format!("-plugin-opt=mcpu={}", target.processor()));
    }
    let features: Vec<_> = target.features().collect();
    if !features.is_empty() {
        command.arg(format!("-plugin-opt=-mattr={}", features.join(",")));
    }
    command.args(plan.options.lto_words());
    if plan.image_is_bitcode {
        command.arg("--lto-emit-llvm");
    }
    command.args(inputs);
    for folder in device_libraries::folders(target) {
        command.arg("-L").arg(folder);
    }
    command.args(device_libraries::without_missing_runtime(
        &plan.options.linker,
        target,
        runner,
    ));
    command.arg("-o").arg(image);
    Ok(command)
}

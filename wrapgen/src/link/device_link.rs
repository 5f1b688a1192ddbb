//! Phase 4: links a group's objects to a device image.
//!
//! A module each for the devices that are known here. Any other device is linked by Clang, which knows the
//! tools of each.

mod amdgcn;
pub(super) mod device_libraries;
mod host_like;
mod nvptx;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::plan::TargetPlan;
use super::plan::target_plan::DeviceLink;
use super::work_folder::WorkFolder;
use crate::error::Result;
use crate::process::Runner;
use crate::toolchain;

/// Links `inputs` to `image`, as `link` of the plan says.
///
/// # Errors
/// A tool is missing or fails.
pub fn link_device(
    plan: &TargetPlan<'_>,
    link: &DeviceLink,
    inputs: &[PathBuf],
    image: &Path,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<()> {
    let mut command = match link {
        DeviceLink::Lld(link) => host_like::lld_command(plan, link, inputs, folder, image),
        DeviceLink::HostLikeByClang {
            libraries,
            dump_prefix,
        } => host_like::clang_command(plan, libraries, dump_prefix, inputs, image)?,
        DeviceLink::Amdgcn => amdgcn::command(plan, inputs, image, runner)?,
        DeviceLink::Nvptx => return nvptx::link(plan, inputs, folder, image, runner),
        DeviceLink::Clang => clang_link(plan, inputs, image, runner)?,
    };
    runner.run(&mut command)
}

/// The command that has Clang link for a device it knows.
fn clang_link(plan: &TargetPlan<'_>, inputs: &[PathBuf], image: &Path, runner: Runner) -> Result<Command> {
    let target = &plan.group.target;
    let mut command = Command::new(toolchain::llvm_program("clang")?);
    command.args(["--no-default-config", "-o"]).arg(image);
    command.arg(format!("--target={}", target.triple));
    if !target.arch.is_empty() {
        let option = match target.triple().is_amd_gpu() {
            true => "-mcpu",
            false => "-march",
        };
        command.arg(format!("{option}={}", target.arch));
    }
    if let Some(path) = plan.cuda_path {
        let mut option = OsString::from("--cuda-path=");
        option.push(path);
        command.arg(option);
    }
    if target.triple().is_amd_gpu() {
        // Its objects are bitcode unless somebody asks for others.
        command.args(["-flto", "-Wl,--no-undefined"]);
    }
    if plan.image_is_bitcode {
        command.arg("-Wl,--lto-emit-llvm");
    }
    command.args(inputs);
    for word in device_libraries::without_missing_runtime(&plan.options.linker, target, runner) {
        command.arg("-Xlinker").arg(word);
    }
    command.args(&plan.options.compiler);
    Ok(command)
}

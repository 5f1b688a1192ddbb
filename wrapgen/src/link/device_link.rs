//! Phase 4: links a group's objects to a device image.
//!
//! A module each for the devices that are known here. Any other device is linked by Clang, which knows the
//! tools of each.

mod amdgcn;
pub(super) mod device_libraries;
mod host_like;
mod nvptx;
pub(super) mod sanitizer_runtime;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command_line::CommandLine;
use super::device_options::DeviceOptions;
use super::group::Group;
use super::target::{DeviceLinker, Target};
use super::work_folder::WorkFolder;
use crate::error::Result;
use crate::process::Runner;
use crate::toolchain;

/// Links `inputs` and returns the image's file.
///
/// # Errors
/// A tool is missing or fails.
pub fn link_device(
    group: &Group<'_>,
    inputs: &[PathBuf],
    line: &CommandLine,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<PathBuf> {
    let bitcode = line.options.embed_bitcode;
    let image = folder.image(&group.target, bitcode);
    let linker = group.linker(&line.options);
    let mut command = match linker {
        DeviceLinker::HostLike | DeviceLinker::HostLikeWithBitcode => {
            let compiles_bitcode = linker == DeviceLinker::HostLikeWithBitcode;
            host_like::lld_command(group, inputs, line, folder, &image, compiles_bitcode)?
        }
        DeviceLinker::HostLikeByClang => host_like::clang_command(group, inputs, line, &image)?,
        DeviceLinker::Amdgcn => {
            let device = DeviceOptions::new(&line.options, &group.target.triple);
            amdgcn::command(&group.target, inputs, &device, &image, bitcode, runner)?
        }
        DeviceLinker::Nvptx => {
            nvptx::link(group, inputs, &line.options, folder, &image, runner)?;
            return Ok(image);
        }
        DeviceLinker::AmdgcnByClang | DeviceLinker::Clang => {
            clang_link(&group.target, inputs, line, &image, runner)?
        }
    };
    runner.run(&mut command)?;
    Ok(image)
}

/// The command that has Clang link for a device it knows.
fn clang_link(
    target: &Target,
    inputs: &[PathBuf],
    line: &CommandLine,
    image: &Path,
    runner: Runner,
) -> Result<Command> {
    let mut command = Command::new(toolchain::llvm_program("clang")?);
    command.args(["--no-default-config", "-o"]).arg(image);
    command.arg(format!("--target={}", target.triple));
    if !target.arch.is_empty() {
        let option = if target.triple.starts_with("amdgcn") {
            "-mcpu"
        } else {
            "-march"
        };
        command.arg(format!("{option}={}", target.arch));
    }
    if let Some(path) = &line.options.cuda_path {
        let mut option = OsString::from("--cuda-path=");
        option.push(path);
        command.arg(option);
    }
    if target.triple.starts_with("amdgcn") {
        // Its objects are bitcode unless somebody asks for others.
        command.args(["-flto", "-Wl,--no-undefined"]);
    }
    if line.options.embed_bitcode {
        command.arg("-Wl,--lto-emit-llvm");
    }
    command.args(inputs);
    let device = DeviceOptions::new(&line.options, &target.triple);
    for word in device_libraries::without_missing_runtime(&device.linker, target, runner) {
        command.arg("-Xlinker").arg(word);
    }
    command.args(device.compiler);
    Ok(command)
}

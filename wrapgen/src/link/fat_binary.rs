//! Bundles the linked images of a CUDA or HIP program to the one fat binary that its runtime takes, with the
//! vendor's program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_abi::OffloadKind;

use super::plan::FatBinaryPlan;
use super::work_folder::WorkFolder;
use super::wrap_images::LinkedImage;
use crate::LLVM;
use crate::error::Result;
use crate::process::Runner;
use crate::toolchain;

/// The file of a fat binary.
pub(super) fn path(kind: OffloadKind, folder: &WorkFolder) -> PathBuf {
    folder.output(match kind {
        OffloadKind::Cuda => "fatbin",
        _ => "hipfb",
    })
}

/// Writes the fat binary of `images` to `path`.
///
/// # Errors
/// The program that makes it is missing or fails.
pub(super) fn bundle(
    kind: OffloadKind,
    images: &[&LinkedImage],
    plan: &FatBinaryPlan<'_>,
    path: &Path,
    runner: Runner,
) -> Result<()> {
    let mut command = match kind {
        OffloadKind::Cuda => {
            let program = toolchain::cuda_program("fatbinary", plan.cuda_path)?;
            let mut command = Command::new(program);
            add_cuda_arguments(&mut command, images, path);
            command
        }
        _ => {
            let mut command = Command::new(toolchain::llvm_program("clang-offload-bundler")?);
            add_hip_arguments(&mut command, images, plan, path);
            command
        }
    };
    runner.run(&mut command)
}

/// CUDA's `fatbinary`. Images are named as LLVM 22 does: CUDA 13 no longer knows the spelling of LLVM 19.
fn add_cuda_arguments(command: &mut Command, images: &[&LinkedImage], output: &Path) {
    command.args(["-64", "--create"]).arg(output);
    for image in images {
        let arch = image.arch.as_deref().unwrap_or_default();
        let number = arch.strip_prefix("sm_").unwrap_or(arch);
        let option = format!("--image3=kind=elf,sm={number},file=");
        command.arg(joined(&option, image.path.as_os_str()));
    }
}

/// `clang-offload-bundler`, with an empty image for the host in front, which HIP's runtime expects.
fn add_hip_arguments(
    command: &mut Command,
    images: &[&LinkedImage],
    plan: &FatBinaryPlan<'_>,
    output: &Path,
) {
    command.args(["-type=o", "-bundle-align=4096"]);
    if plan.compress {
        command.arg("-compress");
    }
    if let Some(level) = plan.compression_level {
        command.arg(format!("-compression-level={level}"));
    }
    let mut targets = format!("-targets={}", LLVM.bundler_host);
    for image in images {
        // The environment between the dashes stays empty.
        targets += &format!(
            ",hip-{}--{}",
            image.triple,
            image.arch.as_deref().unwrap_or_default()
        );
    }
    command.arg(targets).arg("-input=/dev/null");
    for image in images {
        command.arg(joined("-input=", image.path.as_os_str()));
    }
    command.arg(joined("-output=", output.as_os_str()));
}

/// An option and its value as one word.
fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

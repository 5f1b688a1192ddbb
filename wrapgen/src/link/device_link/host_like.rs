//! The device link for the host's own instructions: the shared library that libomptarget opens.
//!
//! lld is run directly: starting Clang only to have it start the linker would double the time. Start files
//! and libraries are those that the host link names. Only options that nobody but Clang can read have Clang
//! start the linker.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_abi::HostProcessor;

use super::super::group::Group;
use super::super::plan::TargetPlan;
use super::super::plan::host_libraries::HostLibraries;
use super::super::plan::target_plan::LldLink;
use super::super::work_folder::WorkFolder;
use crate::error::Result;
use crate::toolchain;

/// The command with which lld links `inputs` to `image`.
pub(super) fn lld_command(
    plan: &TargetPlan<'_>,
    link: &LldLink,
    inputs: &[PathBuf],
    folder: &WorkFolder,
    image: &Path,
) -> Command {
    let start_files = &link.start_files;
    let mut command = Command::new(&link.program);
    command.args(["-shared", "-Bsymbolic", "--hash-style=gnu", "--eh-frame-hdr"]);
    if link.libraries.must_define_all {
        command.arg("--no-undefined");
    }
    if size_of_code(plan.group) < SIZE_WORTH_THREADS {
        command.arg("--threads=1");
    }
    if let Some(place) = folder.image_place() {
        command.arg(place.option());
    }
    if link.compiles_bitcode {
        command.args(plan.options.lto_words());
        if plan.image_is_bitcode {
            command.arg("--lto-emit-llvm");
        }
    }
    let processor = plan
        .group
        .target
        .host_processor()
        .unwrap_or(HostProcessor::NATIVE);
    command.args(["-m", processor.linker_emulation, "-o"]).arg(image);
    command.arg(&start_files.crti).arg(&start_files.crtbegin);
    command.args(inputs).args(&link.libraries.words);
    for folder in &start_files.folders_of_clang {
        command.arg("-L").arg(folder);
    }
    command.args(&plan.options.linker);
    // What Clang adds to every link.
    command.args([
        "-Bdynamic",
        "-lgcc",
        "--as-needed",
        "-lgcc_s",
        "--no-as-needed",
        "-lc",
        "-lgcc",
    ]);
    command.arg(&start_files.crtend).arg(&start_files.crtn);
    command
}

/// The command with which Clang does the same, and reads its own options.
///
/// # Errors
/// There is no Clang.
pub(super) fn clang_command(
    plan: &TargetPlan<'_>,
    libraries: &HostLibraries,
    dump_prefix: &OsStr,
    inputs: &[PathBuf],
    image: &Path,
) -> Result<Command> {
    let mut command = Command::new(toolchain::llvm_program("clang")?);
    command.args(["--no-default-config", "-o"]).arg(image);
    command.arg("-dumpdir").arg(dump_prefix);
    command.arg(format!("--target={}", plan.group.target.triple));
    // For what Clang adds, the linker's own among the libraries' words comes too late.
    command.args(&libraries.sysroot);
    command.args(["-fuse-ld=lld", "-shared", "-Wl,-Bsymbolic"]);
    if libraries.must_define_all {
        command.arg("-Wl,--no-undefined");
    }
    if plan.group.has_bitcode() {
        command.arg("-flto");
    }
    let mut linker = plan.options.lto_words();
    if plan.image_is_bitcode {
        linker.push("--lto-emit-llvm".into());
    }
    command.args(inputs);
    linker.extend_from_slice(&libraries.words);
    linker.extend_from_slice(&plan.options.linker);
    // Clang's own libraries follow.
    linker.push("-Bdynamic".into());
    for word in linker {
        command.arg("-Xlinker").arg(word);
    }
    command.args(&plan.options.for_clang);
    Ok(command)
}

/// Below so many bytes of device code, starting the linker's threads takes longer than they save.
const SIZE_WORTH_THREADS: usize = 1 << 20;

fn size_of_code(group: &Group<'_>) -> usize {
    let members = group.members.iter();
    members.map(|found| found.member.image().len()).sum()
}

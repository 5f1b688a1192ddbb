//! Libraries that a device link names: where they are looked for, and what to do about the one that is often
//! not there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::target::Target;
use crate::LLVM;
use crate::process::Runner;
use crate::toolchain;

/// The OpenMP device runtime, as Clang names it to the device link since LLVM 20.
const DEVICE_RUNTIME: &str = "-lompdevice";

/// The library's file.
const RUNTIME_FILE: &str = "libompdevice.a";

/// The folders of LLVM's own device libraries for a target, of those that exist.
pub(super) fn folders(target: &Target) -> Vec<PathBuf> {
    let folder = toolchain::llvm_target_library_dir(&target.triple);
    [folder].into_iter().filter(|folder| folder.is_dir()).collect()
}

/// The arguments of a device linker without the device runtime, where it is not installed.
///
/// Debian's LLVM 22 has none for GPUs. Kernels that call nothing of it link without, so this is a warning;
/// what is missing for others the device linker says.
pub(super) fn without_missing_runtime(
    arguments: &[OsString],
    target: &Target,
    runner: Runner,
) -> Vec<OsString> {
    if !names_runtime(arguments) {
        return arguments.to_vec();
    }
    let searched = searched_folders(arguments, target);
    if find_runtime(&searched).is_some() {
        return arguments.to_vec();
    }
    let searched: Vec<_> = searched
        .iter()
        .map(|folder| format!("'{}'", folder.display()))
        .collect();
    runner.say(&format!(
        "wrapgen: warning: LLVM {} has no OpenMP device runtime for {}: there is no '{RUNTIME_FILE}' in {}; linking without it, \
         which does for kernels that call none of its functions (name its folder by -Xoffload-linker -L<folder>)",
        LLVM.major(),
        target.triple,
        searched.join(" or ")
    ));
    arguments
        .iter()
        .filter(|argument| **argument != *DEVICE_RUNTIME)
        .cloned()
        .collect()
}

/// The library of the OpenMP device runtime that a device linker with these arguments finds, if they name it.
pub(in crate::link) fn runtime(arguments: &[OsString], target: &Target) -> Option<PathBuf> {
    names_runtime(arguments).then(|| find_runtime(&searched_folders(arguments, target)))?
}

fn names_runtime(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| *argument == *DEVICE_RUNTIME)
}

fn searched_folders(arguments: &[OsString], target: &Target) -> Vec<PathBuf> {
    let mut searched = folders(target);
    searched.extend(named_folders(arguments));
    searched.push(toolchain::llvm_library_dir());
    searched
}

fn find_runtime(folders: &[PathBuf]) -> Option<PathBuf> {
    let mut files = folders.iter().map(|folder| folder.join(RUNTIME_FILE));
    files.find(|file| file.is_file())
}

/// The folders behind `-L`, joined or as the next word.
fn named_folders(arguments: &[OsString]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_bytes().strip_prefix(b"-L") {
            Some(b"") => folders.extend(arguments.next().map(PathBuf::from)),
            Some(folder) => folders.push(Path::new(OsStr::from_bytes(folder)).to_owned()),
            None => {}
        }
    }
    folders
}

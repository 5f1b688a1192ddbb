//! Clang, and what it links programs with.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Problem;
use crate::installation::{LLVM, LLVM_MAJOR};

/// Clang of the LLVM that this build is for.
pub(super) fn find() -> Option<PathBuf> {
    let name = format!("clang++-{LLVM_MAJOR}");
    let folders = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&folders).map(|folder| folder.join(&name));
    let own = PathBuf::from(format!("/usr/lib/llvm-{LLVM_MAJOR}/bin/clang++"));
    on_path.chain([own]).find(|path| path.is_file())
}

/// What is wrong where there is none.
pub(super) fn missing() -> Result<String, Problem> {
    Err(Problem::new(
        format!("no clang++-{LLVM_MAJOR} on PATH, and none in /usr/lib/llvm-{LLVM_MAJOR}/bin"),
        format!("install the Debian package clang-{LLVM_MAJOR}"),
    ))
}

/// What is wrong where it finds none.
pub(super) fn no_libomptarget() -> Result<String, Problem> {
    Err(Problem::new(
        "Clang finds no libomptarget.so",
        format!("install the Debian package {}", LLVM.libomptarget_dev_package()),
    ))
}

/// What it says it is, if that is the LLVM that this build is for.
pub(super) fn version(clang: &Path) -> Result<String, Problem> {
    let unusable = |reason: String| {
        Problem::new(
            format!("`{}` cannot be run: {reason}", clang.display()),
            format!("install the Debian package clang-{LLVM_MAJOR} again"),
        )
    };
    let output = Command::new(clang)
        .arg("--version")
        .output()
        .map_err(|error| unusable(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap_or_default();
    if !output.status.success() {
        return Err(unusable(output.status.to_string()));
    }
    if major(first) != Some(LLVM_MAJOR) {
        return Err(Problem::new(
            format!("`{}` is something else: {first}", clang.display()),
            format!(
                "have `{}` be Clang {LLVM_MAJOR}, or another folder with clang++-{LLVM_MAJOR} come first on PATH",
                clang.display()
            ),
        ));
    }
    Ok(format!("{}, {first}", clang.display()))
}

/// The major version in the first line that Clang prints of itself.
fn major(line: &str) -> Option<u32> {
    let (_, version) = line.split_once("clang version ")?;
    version.split('.').next()?.parse().ok()
}

/// The library that Clang links; it prints the bare name where it finds none.
pub(super) fn libomptarget(clang: &Path) -> Option<PathBuf> {
    let output = Command::new(clang)
        .arg("-print-file-name=libomptarget.so")
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_clang_prints() {
        assert_eq!(major("Debian clang version 19.1.7 (3~deb12u1)"), Some(19));
        assert_eq!(major("clang version 22.1.0-rc1"), Some(22));
        assert_eq!(major("g++ (Debian 12.2.0-14) 12.2.0"), None);
    }
}

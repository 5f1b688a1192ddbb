//! Clang, and what it links programs with.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Problem;
use crate::installation::{LLVM, LLVM_MAJOR};

/// Clang of the LLVM that this build is for.
pub(super) fn find() -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&folders).collect();
    find_in(
        &folders,
        Path::new(&format!("/usr/lib/llvm-{LLVM_MAJOR}/bin/clang++")),
    )
}

/// The one with the version in its name; else the one of Debian's folder; else one that says that it has this
/// version, as Spack and EasyBuild install it.
fn find_in(folders: &[PathBuf], of_debian: &Path) -> Option<PathBuf> {
    let named = |name: &str| folders.iter().map(|folder| folder.join(name)).collect::<Vec<_>>();
    let with_version = named(&format!("clang++-{LLVM_MAJOR}"));
    let mut first = with_version.into_iter().chain([of_debian.to_owned()]);
    let mut others = named("clang++").into_iter();
    first
        .find(|path| path.is_file())
        .or_else(|| others.find(|path| path.is_file() && version(path).is_ok()))
}

/// What is wrong where there is none.
pub(super) fn missing() -> Result<String, Problem> {
    Err(Problem::new(
        format!(
            "no clang++-{LLVM_MAJOR} on PATH, none in /usr/lib/llvm-{LLVM_MAJOR}/bin, and no clang++ of that version on PATH"
        ),
        format!(
            "install the Debian package clang-{LLVM_MAJOR}, or have the folder of Clang {LLVM_MAJOR} on PATH"
        ),
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_clang_without_a_version_in_its_name_is_asked_for_it() {
        let place = tempfile::tempdir().unwrap();
        let make = |folder: &str, name: &str, version: u32| {
            let folder = place.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\necho clang version {version}.1.0\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let folders = ["older", "right", "named"].map(|name| place.path().join(name));
        let of_debian = place.path().join("debian/clang++");
        make("older", "clang++", LLVM_MAJOR - 1);
        assert_eq!(find_in(&folders, &of_debian), None);
        let right = make("right", "clang++", LLVM_MAJOR);
        assert_eq!(find_in(&folders, &of_debian), Some(right));
        let debian = make("debian", "clang++", LLVM_MAJOR);
        assert_eq!(find_in(&folders, &of_debian), Some(debian));
        let named = make("named", &format!("clang++-{LLVM_MAJOR}"), LLVM_MAJOR);
        assert_eq!(find_in(&folders, &of_debian), Some(named));
    }

    #[test]
    fn the_version_is_read_from_what_clang_prints() {
        assert_eq!(major("Debian clang version 19.1.7 (3~deb12u1)"), Some(19));
        assert_eq!(major("clang version 22.1.0-rc1"), Some(22));
        assert_eq!(major("g++ (Debian 12.2.0-14) 12.2.0"), None);
    }
}

//! An installation that only runs programs: what can be tried without a compiler.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use offloom_abi::HostProcessor;

use super::{Check, Problem};
use crate::installation::{Installation, LLVM, LLVM_MAJOR};
use crate::scratch_folder::ScratchFolder;

/// What is said of such an installation.
pub(super) fn notice() -> Check {
    Check {
        what: "installation".to_owned(),
        found: Ok(format!(
            "runs programs and builds none, so neither Clang nor a build is tried; the package offloom-{LLVM_MAJOR} has what builds them"
        )),
    }
}

/// Whether the JIT library can be loaded, and whether there is a libomptarget.
pub(super) fn checks(installation: &Installation) -> Vec<Check> {
    let check = |what: &str, found| Check {
        what: what.to_owned(),
        found,
    };
    vec![
        check("loading the JIT library", load(installation)),
        check("libomptarget", libomptarget()),
    ]
}

/// Has the replaying process load the library, and replay a folder that holds nothing.
fn load(installation: &Installation) -> Result<String, Problem> {
    let folder = ScratchFolder::new()
        .map_err(|error| Problem::new(format!("no temporary folder: {error}"), "set TMPDIR to one"))?;
    let caller = installation.caller();
    let output = installation
        .call("offloom_jit_replay", folder.path())
        .output()
        .map_err(|error| {
            Problem::new(
                format!("`{}` cannot be run: {error}", caller.display()),
                "install Offloom again",
            )
        })?;
    if output.status.success() {
        return Ok("with all libraries that it needs".to_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = errors.lines().next().unwrap_or("it said nothing");
    let reason = line.strip_prefix("offloom-jit-call: ").unwrap_or(line);
    Err(Problem::new(
        format!("{}; {reason}", output.status),
        format!("install the Debian package libllvm{LLVM_MAJOR}, or what else the message names"),
    ))
}

/// The library that the programs are linked to, where the loader or a program built here would find it.
fn libomptarget() -> Result<String, Problem> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = env::split_paths(&named).filter(|folder| folder.is_absolute());
    let debians = [
        format!("/usr/lib/llvm-{LLVM_MAJOR}/lib"),
        format!("/usr/lib/{}", HostProcessor::NATIVE.multiarch),
    ];
    let mut folders = named.chain(debians.map(PathBuf::from));
    match folders.find_map(|folder| libomptarget_in(&folder)) {
        Some(library) => Ok(library.display().to_string()),
        None => Err(Problem::note(
            format!("there is no libomptarget.so.{LLVM_MAJOR} where Debian has it, nor in LD_LIBRARY_PATH"),
            format!(
                "install the Debian package {}, unless your programs name another folder (-Wl,-rpath)",
                LLVM.libomptarget_package()
            ),
        )),
    }
}

fn libomptarget_in(folder: &Path) -> Option<PathBuf> {
    let start = format!("libomptarget.so.{LLVM_MAJOR}");
    let names = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut found = names.filter(|name| {
        let rest = name.to_str().and_then(|name| name.strip_prefix(&start));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    found.next().map(|name| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_libomptarget_is_of_this_llvm() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "libomptarget.so",
            "libomptarget.so.7.1",
            &format!("libomptarget.so.{LLVM_MAJOR}0.1"),
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(libomptarget_in(folder.path()), None);
        let library = folder.path().join(format!("libomptarget.so.{LLVM_MAJOR}.1"));
        fs::write(&library, "").unwrap();
        assert_eq!(libomptarget_in(folder.path()), Some(library));
    }
}

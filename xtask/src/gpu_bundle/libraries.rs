//! The libraries that programs in the archive need beyond a C library.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::copy;
use crate::build::Staged;
use crate::corpus::tools;

/// Libraries of the C library, which every machine has. They must fit its loader and its driver.
const OF_EVERY_MACHINE: [&str; 8] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "linux-vdso.so.1",
];

/// Libraries that libLLVM wants to be there and that offloading never calls: a solver, XML and line editing.
/// They bring others of 60 MB. Stand-ins end the program where something in them is called.
const STOOD_IN_FOR: [&str; 3] = ["libedit.so.2", "libxml2.so.2", "libz3.so.4"];

/// What brings all others.
const LIBRARY: &str = "libomptarget.so";

/// Fills `folder` with libomptarget and all that it needs. liboffloom_jit.so needs the same.
pub(super) fn collect(staged: &Staged, folder: &Path) -> Result<()> {
    let library = staged.llvm.lib_dir.join(LIBRARY);
    let mut left_to_do = vec![(soname(staged, &library)?, library.clone())];
    let found = needed(&library)?;
    let mut done = BTreeSet::new();
    while let Some((name, file)) = left_to_do.pop() {
        if !done.insert(name.clone()) {
            continue;
        }
        copy(&file, &folder.join(&name))?;
        for name in direct(staged, &file)? {
            if OF_EVERY_MACHINE.contains(&name.as_str()) {
                continue;
            }
            let file = found
                .get(&name)
                .with_context(|| format!("`{name}` is not found by `ldd`"))?;
            if STOOD_IN_FOR.contains(&name.as_str()) {
                if done.insert(name.clone()) {
                    stand_in(
                        staged,
                        &name,
                        file,
                        found.get("libLLVM.so.19.1").unwrap_or(&library),
                        folder,
                    )?;
                }
            } else {
                left_to_do.push((name, file.clone()));
            }
        }
    }
    Ok(())
}

/// All libraries that one needs, by their names, as the loader finds them here.
fn needed(library: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let text = tools::output(Command::new("ldd").arg(library))?;
    let pairs = text.lines().filter_map(|line| line.trim().split_once(" => "));
    let file = |rest: &str| rest.split(" (").next().map(PathBuf::from);
    Ok(pairs
        .filter_map(|(name, rest)| Some((name.to_owned(), file(rest)?)))
        .collect())
}

/// The libraries that one names itself.
fn direct(staged: &Staged, library: &Path) -> Result<Vec<String>> {
    dynamic(staged, library, "(NEEDED)")
}

fn soname(staged: &Staged, library: &Path) -> Result<String> {
    let names = dynamic(staged, library, "(SONAME)")?;
    names
        .into_iter()
        .next()
        .with_context(|| format!("`{}` has no name", library.display()))
}

/// Names in a library's dynamic section.
fn dynamic(staged: &Staged, library: &Path, tag: &str) -> Result<Vec<String>> {
    let text = tools::output(
        tools::tool(staged, "llvm-readelf")
            .arg("--dynamic-table")
            .arg(library),
    )?;
    let lines = text.lines().filter(|line| line.contains(tag));
    Ok(lines
        .filter_map(|line| {
            Some(
                line.split_once('[')?
                    .1
                    .trim_end()
                    .trim_end_matches(']')
                    .to_owned(),
            )
        })
        .collect())
}

/// Makes a library in the place of another: with the functions that `user` calls in it, under their versions.
fn stand_in(staged: &Staged, name: &str, of: &Path, user: &Path, folder: &Path) -> Result<()> {
    let symbols = |kind: &str, library: &Path| -> Result<BTreeSet<String>> {
        let mut list = tools::tool(staged, "llvm-nm");
        let text = tools::output(
            list.args(["--dynamic", "--format=just-symbols", kind])
                .arg(library),
        )?;
        Ok(text.lines().map(|symbol| symbol.replace("@@", "@")).collect())
    };
    let defined = symbols("--defined-only", of)?;
    let called = symbols("--undefined-only", user)?;
    let (source, versions) = source(called.intersection(&defined).map(String::as_str));
    let scratch = tempfile::tempdir()?;
    fs::write(scratch.path().join("stand-in.c"), source)?;
    fs::write(scratch.path().join("versions"), &versions)?;
    let mut compile = tools::clang(staged, false);
    compile
        .current_dir(scratch.path())
        .args(["-O1", "-shared", "-fPIC", "-fno-builtin", "stand-in.c"]);
    if !versions.is_empty() {
        compile.arg("-Wl,--version-script=versions");
    }
    compile
        .arg(format!("-Wl,-soname,{name}"))
        .arg("-o")
        .arg(folder.join(name));
    tools::output(&mut compile)?;
    Ok(())
}

/// C that defines the symbols, and the linker's script that gives them their versions.
fn source<'a>(symbols: impl Iterator<Item = &'a str>) -> (String, String) {
    let mut source = String::new();
    let mut versions = BTreeMap::<&str, String>::new();
    for symbol in symbols {
        let (name, version) = symbol.split_once('@').unwrap_or((symbol, ""));
        let _ = writeln!(source, "void {name}(void) {{ __builtin_trap(); }}");
        if !version.is_empty() {
            let _ = write!(versions.entry(version).or_default(), " {name};");
        }
    }
    let nodes = versions
        .into_iter()
        .map(|(version, names)| format!("{version} {{ global:{names} }};\n"));
    (source, nodes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_versions() {
        let (text, versions) = source(["a@V_1", "b", "c@V_2", "d@V_1"].into_iter());
        assert_eq!(text.lines().count(), 4);
        assert_eq!(versions, "V_1 { global: a; d; };\nV_2 { global: c; };\n");
    }
}

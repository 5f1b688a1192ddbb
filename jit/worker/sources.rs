//! For the build scripts of the runtime and its worker: gives a name to the sources that decide on what
//! objects are made.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::Path;

/// What decides on what a compile makes: code that it goes through, how that is built, and which versions of
/// others' packages.
const SOURCES: [&str; 18] = [
    "../../Cargo.lock",
    "../../support/abi/src",
    "../../support/descriptor/src",
    "../../support/device-linker/build.rs",
    "../../support/device-linker/src",
    "../../support/ir/build.rs",
    "../../support/ir/passes",
    "../../support/ir/shim",
    "../../support/ir/src",
    "../cache/src",
    "../cuda/src",
    "../hsa/src",
    "../../jit-passes/src",
    "../policy/src",
    "../runtime/src",
    "../variants/src",
    "../worker/build.rs",
    "../worker/src",
];

/// Sets `OFFLOOM_SOURCES` for the crate: a hash of the sources, the same in both crates if they are built of
/// the same.
pub(crate) fn name_sources() -> io::Result<()> {
    let mut sources = DefaultHasher::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        hash(Path::new(source), &mut sources)?;
    }
    println!("cargo::rustc-env=OFFLOOM_SOURCES={:016x}", sources.finish());
    Ok(())
}

/// Adds the name and contents of a file, or of all in a folder, in one order on all machines. Not of what
/// editors leave there.
fn hash(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    if path.is_dir() {
        let entries = fs::read_dir(path)?;
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        return paths.iter().try_for_each(|path| hash(path, hasher));
    }
    let is_source = |extension| ["rs", "cpp", "h", "lock"].map(OsStr::new).contains(&extension);
    if path.extension().is_some_and(is_source) {
        path.hash(hasher);
        let contents = fs::read(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        contents.hash(hasher);
    }
    Ok(())
}

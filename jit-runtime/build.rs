//! Links the shared libLLVM, the one that libomptarget itself uses, and gives a name to the sources that decide on what objects are made.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::Path;

/// Where code is that a compile goes through.
const SOURCES: [&str; 6] = [
    "../abi/src",
    "../ir/shim",
    "../ir/src",
    "../jit-passes/src",
    "../jit-worker/src",
    "src",
];

fn main() -> io::Result<()> {
    let mut sources = DefaultHasher::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        hash_folder(Path::new(folder), &mut sources)?;
    }
    println!("cargo::rustc-env=OFFLOOM_SOURCES={:016x}", sources.finish());
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return Ok(());
    };
    println!("cargo::rustc-cdylib-link-arg=-L{}", llvm.lib_dir.display());
    println!("cargo::rustc-cdylib-link-arg=-lLLVM-{}", llvm.major);
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liboffloom_jit.so");
    Ok(())
}

/// Adds names and contents of all files, in one order on all machines.
fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        entry.file_name().hash(hasher);
        if entry.file_type()?.is_dir() {
            hash_folder(&entry.path(), hasher)?;
        } else {
            fs::read(entry.path())?.hash(hasher);
        }
    }
    Ok(())
}

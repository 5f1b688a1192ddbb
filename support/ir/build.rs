//! Compiles the C++ shims and passes against the chosen LLVM's headers. Links no LLVM: the final artefact
//! decides how.
//!
//! The files of a folder are one translation unit: nearly all that compiling one of them takes is reading
//! LLVM's headers.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders with C++.
const FOLDERS: [&str; 2] = ["shim", "passes"];

fn main() -> Result<()> {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return Ok(());
    };
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .include(&llvm.include_dir)
        .include("shim")
        // As LLVM itself is built: neither run-time type information nor exceptions.
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility=hidden")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-comment");
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        build.file(translation_unit(folder)?);
    }
    build.compile("offloom_ir_shim");
    offloom_find_llvm::link_tests(&llvm);
    Ok(())
}

/// Writes a file that includes all C++ files of a folder.
fn translation_unit(folder: &str) -> Result<PathBuf> {
    let variable = |name| env::var_os(name).ok_or_else(|| Error::other(format!("Cargo sets no {name}")));
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let mut files = Vec::new();
    for entry in fs::read_dir(package.join(folder))? {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cpp"));
    files.sort();
    let include = |file: &PathBuf| format!("#include \"{}\"\n", file.display());
    let unit = Path::new(&variable("OUT_DIR")?).join(format!("all_{folder}.cpp"));
    fs::write(&unit, files.iter().map(include).collect::<String>())?;
    Ok(unit)
}

//! Links what compiling needs of LLVM into the program: to load the shared libLLVM, which the rest of Offloom
//! uses, takes as long as to compile a small kernel, most of it for relocations.

mod sources;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, io};

/// What the worker takes from LLVM, besides the target of the machine's own processor.
const COMPONENTS: [&str; 8] = [
    "amdgpu",
    "bitreader",
    "bitwriter",
    "executionengine",
    "irreader",
    "linker",
    "nvptx",
    "passes",
];

/// What LLVM calls a processor's target, by Cargo's name of the processor.
const NATIVE_TARGETS: [(&str, &str); 2] = [("aarch64", "aarch64"), ("x86_64", "x86")];

fn main() {
    if let Err(error) = sources::name_sources() {
        println!("cargo::error=cannot read the sources: {error}");
    }
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    offloom_find_llvm::let_linker_be_chosen();
    println!("cargo::rustc-env=OFFLOOM_LLVM_BIN_DIR={}", llvm.bin_dir.display());
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let native = NATIVE_TARGETS.into_iter().find(|(name, _)| *name == architecture);
    let components: Vec<_> = COMPONENTS
        .into_iter()
        .chain(native.map(|(_, target)| target))
        .collect();
    let Some(libraries) = offloom_find_llvm::static_libraries(&llvm, &components) else {
        return;
    };
    for argument in [
        // Without relocations to apply at its start; its addresses need not differ from run to run.
        "-no-pie",
        // LLVM's static constructors lie side by side, so that fewer pages are touched.
        "-Wl,-z,keep-text-section-prefix",
        // `cargo xtask build` lays its code out anew, for which it takes symbols and the linker's
        // relocations; it removes both.
        "-Wl,--strip-debug,--emit-relocs",
    ] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    // GNU ld takes of an archive what it misses when it comes to it: what LLVM needs comes after LLVM. The
    // C++ library was named before, for the C++ code of other packages.
    // The compiler's own library has atomic operations of AArch64.
    for library in libraries
        .iter()
        .map(String::as_str)
        .chain(["-lstdc++", "-lm", "-lgcc"])
    {
        println!("cargo::rustc-link-arg-bins={library}");
    }
    if let Err(error) = prefer_static_cxx_library() {
        println!("cargo::error=cannot link the C++ library statically: {error}");
    }
}

/// Has `-lstdc++`, which the C++ code of other packages asks for, mean the static library: in a folder that
/// is looked into first, and has nothing else. Of the shared one nearly four thousand entries of LLVM's
/// tables would be looked up by name at each start.
fn prefer_static_cxx_library() -> io::Result<()> {
    const LIBRARY: &str = "libstdc++.a";
    // The linker that rustc uses knows where it is; it answers with the name alone where there is none.
    let linker = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let answer = Command::new(&linker)
        .arg(format!("-print-file-name={LIBRARY}"))
        .output()?;
    let library = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    if !library.is_absolute() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("`{}` finds no {LIBRARY}", linker.display()),
        ));
    }
    let Some(folder) = std::env::var_os("OUT_DIR").map(PathBuf::from) else {
        return Err(io::Error::other("OUT_DIR is not set"));
    };
    let link = folder.join(LIBRARY);
    if link.is_symlink() {
        fs::remove_file(&link)?;
    }
    symlink(library, link)?;
    println!("cargo::rustc-link-search=native={}", folder.display());
    Ok(())
}

//! Links the tests with the libomptarget of the chosen LLVM, tells them where its Clang is, and takes the
//! Rust program out of the user documentation so that a test can run it.

use std::path::Path;
use std::{env, fs};

const DOCUMENTATION: &str = "../../../docs/user/launch.md";

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    let folder = llvm.lib_dir.display();
    println!("cargo::rustc-link-arg-tests=-L{folder}");
    println!("cargo::rustc-link-arg-tests=-Wl,-rpath,{folder}");
    println!("cargo::rustc-link-arg-tests=-lomptarget");
    println!("cargo::rustc-env=CLANG={}", llvm.bin_dir.join("clang").display());

    println!("cargo::rerun-if-changed={DOCUMENTATION}");
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(problem) = extract_example() {
        println!("cargo::error=`{DOCUMENTATION}`: {problem}");
    }
}

/// Writes the one Rust program of the documentation to `example.rs`.
fn extract_example() -> Result<(), String> {
    let text = fs::read_to_string(DOCUMENTATION).map_err(|error| error.to_string())?;
    let (_, rest) = text.split_once("\n```rust\n").ok_or("no Rust program")?;
    let (program, rest) = rest.split_once("\n```\n").ok_or("the Rust program has no end")?;
    if rest.contains("\n```rust\n") {
        return Err("more than one Rust program".to_owned());
    }
    let folder = env::var_os("OUT_DIR").ok_or("Cargo has set no OUT_DIR")?;
    fs::write(Path::new(&folder).join("example.rs"), program).map_err(|error| error.to_string())
}

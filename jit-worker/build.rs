//! Links what compiling needs of LLVM into the program: to load the shared libLLVM, which the rest of Offloom uses, takes as long as to
//! compile a small kernel, most of it for relocations.

/// What the worker takes from LLVM.
const COMPONENTS: [&str; 8] = [
    "aarch64",
    "bitreader",
    "bitwriter",
    "executionengine",
    "irreader",
    "linker",
    "passes",
    "x86",
];

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rustc-env=OFFLOOM_LLVM_BIN_DIR={}", llvm.bin_dir.display());
    let Some(libraries) = offloom_find_llvm::static_libraries(&llvm, &COMPONENTS) else {
        return;
    };
    // Without relocations to apply at its start; its addresses need not differ from run to run.
    for argument in ["-no-pie", "-Wl,-s"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    for library in libraries {
        println!("cargo::rustc-link-arg-bins={library}");
    }
    println!("cargo::rustc-link-arg-bins=-lstdc++");
}

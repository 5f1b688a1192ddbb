//! Links the shared libLLVM into `wrapgen-bitcode` alone, since `wrapgen` itself never loads LLVM, and tells the crate where
//! the programs of that LLVM are.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rustc-env=OFFLOOM_LLVM_BIN_DIR={}", llvm.bin_dir.display());
    println!(
        "cargo::rustc-link-arg-bin=wrapgen-bitcode=-L{}",
        llvm.lib_dir.display()
    );
    println!("cargo::rustc-link-arg-bin=wrapgen-bitcode=-lLLVM-{}", llvm.major);
}

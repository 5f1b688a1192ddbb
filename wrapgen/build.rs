//! Links the shared libLLVM into `wrapgen-bitcode` alone: `wrapgen` itself never loads LLVM.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!(
        "cargo::rustc-link-arg-bin=wrapgen-bitcode=-L{}",
        llvm.lib_dir.display()
    );
    println!("cargo::rustc-link-arg-bin=wrapgen-bitcode=-lLLVM-{}", llvm.major);
}

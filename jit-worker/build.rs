//! Links the shared libLLVM, as every artefact that compiles does.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rustc-link-arg-bins=-L{}", llvm.lib_dir.display());
    println!("cargo::rustc-link-arg-bins=-lLLVM-{}", llvm.major);
}

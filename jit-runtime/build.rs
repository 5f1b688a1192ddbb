//! Links the shared libLLVM, the one that libomptarget itself uses.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rustc-cdylib-link-arg=-L{}", llvm.lib_dir.display());
    println!("cargo::rustc-cdylib-link-arg=-lLLVM-{}", llvm.major);
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liboffloom_jit.so");
}

//! Links the tests with the libomptarget of the chosen LLVM, and tells them where its Clang is.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    let folder = llvm.lib_dir.display();
    println!("cargo::rustc-link-arg-tests=-L{folder}");
    println!("cargo::rustc-link-arg-tests=-Wl,-rpath,{folder}");
    println!("cargo::rustc-link-arg-tests=-lomptarget");
    println!("cargo::rustc-env=CLANG={}", llvm.bin_dir.join("clang").display());
}

//! Tells the program which LLVM it is for. It uses nothing of LLVM itself.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    offloom_find_llvm::chosen_major();
}

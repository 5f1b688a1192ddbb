//! Links the tests with LLVM. Links none into the library: the final artefact decides how.

fn main() {
    if let Some(llvm) = offloom_find_llvm::for_build_script() {
        offloom_find_llvm::link_tests(&llvm);
    }
}

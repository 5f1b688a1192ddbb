//! Links the shared libLLVM, the one that libomptarget itself uses, into the library and the tests.

#[path = "../worker/sources.rs"]
mod sources;

use std::io;

fn main() -> io::Result<()> {
    sources::name_sources()?;
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return Ok(());
    };
    for argument in offloom_find_llvm::shared_library(&llvm) {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liboffloom_jit.so");
    offloom_find_llvm::link_tests(&llvm);
    Ok(())
}

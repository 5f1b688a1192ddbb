//! Finds an installed LLVM of a given major version.
//!
//! Used by the build scripts of every crate that needs LLVM's headers or its shared library, and by `xtask`.
//! The search order is that of `llvm-sys`: an environment variable such as `LLVM_SYS_191_PREFIX`, then the
//! distribution's `llvm-config-19` on `PATH`, then `/usr/lib/llvm-19`. A build for another machine than this
//! one finds it in the folder that `OFFLOOM_LLVM_SYSROOT` names (`sysroot.rs`).
#![forbid(unsafe_code)]

mod build_script;
mod find;
mod sysroot;

pub use build_script::{
    chosen_major, for_build_script, let_linker_be_chosen, link_tests, shared_library, static_libraries,
};
pub use find::{FindError, Llvm, find, prefix_variable};

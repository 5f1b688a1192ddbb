//! Why there is no LLVM.

use crate::sysroot;

/// No usable LLVM of the wanted version.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FindError {
    /// `llvm-config` was not found.
    #[error(
        "LLVM {major} is not installed: no `llvm-config-{major}` and no folder `/usr/lib/llvm-{major}`. \
         Install the Debian package `llvm-{major}-dev` (or run `cargo xtask setup`), or set `{variable}` to the \
         folder LLVM {major} is installed in"
    )]
    Missing {
        /// The major version that was looked for.
        major: u32,
        /// The environment variable that overrides the search.
        variable: String,
    },
    /// The build is for another machine, of which nothing is known.
    #[error(
        "a build for another machine needs its LLVM: set `{}` to the folder that holds that machine's files",
        sysroot::VARIABLE
    )]
    NoSysroot,
    /// `llvm-config` belongs to another LLVM, or cannot be run.
    #[error("`{path}` is not the `llvm-config` of LLVM {major}: {reason}")]
    Unusable {
        /// The program that was tried.
        path: String,
        /// The major version that was looked for.
        major: u32,
        /// What is wrong with it.
        reason: String,
    },
    /// The development files are absent.
    #[error("LLVM {major} has no headers in `{path}`: install the Debian package `llvm-{major}-dev`")]
    NoHeaders {
        /// The folder that should hold them.
        path: String,
        /// The major version that was looked for.
        major: u32,
    },
}

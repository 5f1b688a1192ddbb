//! Finds an installed LLVM of a given major version.
//!
//! Used by the build scripts of every crate that needs LLVM's headers or its shared library, and by `xtask`.
//! The search order is that of `llvm-sys`: an environment variable such as `LLVM_SYS_191_PREFIX`, then the
//! distribution's `llvm-config-19` on `PATH`, then `/usr/lib/llvm-19`. A build for another machine than
//! this one finds it in the folder that [`sysroot`] names.
#![forbid(unsafe_code)]

mod build_script;
mod config;
mod error;
mod sysroot;

use std::path::PathBuf;

use config::Config;

pub use build_script::{chosen_major, for_build_script, link_tests, shared_library, static_libraries};
pub use config::prefix_variable;
pub use error::FindError;

/// An installed LLVM: where its programs, headers and libraries are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// Major version, such as 19.
    pub major: u32,
    /// Full version, such as `19.1.7`.
    pub version: String,
    /// Folder of the programs (`opt`, `clang`, `FileCheck`, ...), each without a version suffix, on the
    /// machine that is built for.
    pub bin_dir: PathBuf,
    /// Folder of the C and C++ headers.
    pub include_dir: PathBuf,
    /// Folder of the shared libraries (`libLLVM-19.so`, `libomptarget.so`, ...).
    pub lib_dir: PathBuf,
    config: Config,
}

/// Finds LLVM `major`.
///
/// # Errors
/// When it is not installed, when `llvm-config` reports another version, or when its headers are missing.
pub fn find(major: u32) -> Result<Llvm, FindError> {
    let config = Config::find(major)?;
    let ask = |option| config.ask(major, option);
    let version = ask("--version")?;
    if version.split('.').next() != Some(&major.to_string()) {
        let reason = format!("it reports version {version}");
        return Err(FindError::Unusable {
            path: config.program.display().to_string(),
            major,
            reason,
        });
    }
    let include_dir = PathBuf::from(ask("--includedir")?);
    if !include_dir.join("llvm-c/Core.h").exists() {
        return Err(FindError::NoHeaders {
            path: include_dir.display().to_string(),
            major,
        });
    }
    let lib_dir = PathBuf::from(ask("--libdir")?);
    // `llvm-config --bindir` names the folder with unversioned names, where clang, lld and FileCheck are as
    // well.
    let bin_dir = PathBuf::from(ask("--bindir")?);
    Ok(Llvm {
        major,
        version,
        bin_dir: match &config.sysroot {
            Some(sysroot) => sysroot.as_seen_inside(&bin_dir),
            None => bin_dir,
        },
        include_dir,
        lib_dir,
        config,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_llvm_is_named_with_its_package() {
        let error = find(7).unwrap_err();
        assert!(error.to_string().contains("llvm-7-dev"), "{error}");
    }
}

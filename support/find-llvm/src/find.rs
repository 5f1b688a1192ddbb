//! Where an LLVM is, as its `llvm-config` says.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sysroot::{self, Sysroot};

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
    pub(crate) config: Config,
}

/// LLVM's `llvm-config`, and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    program: PathBuf,
    /// Where its machine's files are, if it is another one's.
    pub(crate) sysroot: Option<Sysroot>,
}

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

/// The environment variable that names the folder LLVM `major` is installed in (the name that `llvm-sys`
/// uses).
pub fn prefix_variable(major: u32) -> String {
    format!("LLVM_SYS_{major}1_PREFIX")
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

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(program))
        .find(|path| path.is_file())
}

impl Config {
    /// Finds the one of LLVM `major`.
    fn find(major: u32) -> Result<Self, FindError> {
        let variable = prefix_variable(major);
        let prefix = std::env::var_os(&variable).map(PathBuf::from);
        let in_folder = |folder: &Path| folder.join("bin/llvm-config");
        let usual = PathBuf::from(format!("/usr/lib/llvm-{major}"));
        if sysroot::is_cross_build() {
            let sysroot = Sysroot::of_environment().ok_or(FindError::NoSysroot)?;
            let program = in_folder(&prefix.unwrap_or_else(|| sysroot.file(&usual)));
            return Ok(Self {
                program,
                sysroot: Some(sysroot),
            });
        }
        let program = match prefix {
            Some(prefix) => in_folder(&prefix),
            None => on_path(&format!("llvm-config-{major}"))
                .or_else(|| Some(in_folder(&usual)).filter(|program| program.exists()))
                .ok_or(FindError::Missing { major, variable })?,
        };
        Ok(Self {
            program,
            sysroot: None,
        })
    }

    pub(crate) fn command(&self) -> Command {
        match &self.sysroot {
            Some(sysroot) => sysroot.command(&self.program),
            None => Command::new(&self.program),
        }
    }

    /// What it says to an option.
    fn ask(&self, major: u32, option: &str) -> Result<String, FindError> {
        let unusable = |reason: String| FindError::Unusable {
            path: self.program.display().to_string(),
            major,
            reason,
        };
        let output = self
            .command()
            .arg(option)
            .output()
            .map_err(|error| unusable(error.to_string()))?;
        if !output.status.success() {
            return Err(unusable(format!("`{option}` ended with {}", output.status)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
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

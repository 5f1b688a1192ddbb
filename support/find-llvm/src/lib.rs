//! Finds an installed LLVM of a given major version.
//!
//! Used by the build scripts of every crate that needs LLVM's headers or its shared library, and by `xtask`.
//! The search order is that of `llvm-sys`: an environment variable such as `LLVM_SYS_191_PREFIX`, then the
//! distribution's `llvm-config-19` on `PATH`, then `/usr/lib/llvm-19`. A build for another machine than this one
//! finds it in the folder that [`sysroot`] names.
#![forbid(unsafe_code)]

mod sysroot;

use std::path::{Path, PathBuf};
use std::process::Command;

use sysroot::Sysroot;

/// An installed LLVM: where its programs, headers and libraries are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// Major version, such as 19.
    pub major: u32,
    /// Full version, such as `19.1.7`.
    pub version: String,
    /// Folder of the programs (`opt`, `clang`, `FileCheck`, ...), each without a version suffix, on the machine
    /// that is built for.
    pub bin_dir: PathBuf,
    /// Folder of the C and C++ headers.
    pub include_dir: PathBuf,
    /// Folder of the shared libraries (`libLLVM-19.so`, `libomptarget.so`, ...).
    pub lib_dir: PathBuf,
    config: Config,
}

/// LLVM's `llvm-config`, and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Config {
    program: PathBuf,
    /// Where its machine's files are, if it is another one's.
    sysroot: Option<Sysroot>,
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

/// For build scripts: the major version of the LLVM that a Cargo feature of the crate being built chooses,
/// `llvm19` and such. The crate finds it as `env!("OFFLOOM_LLVM_MAJOR")`.
///
/// Returns `None` after having reported an error; the script then just returns.
pub fn chosen_major() -> Option<u32> {
    let features = std::env::vars_os().filter_map(|(name, _)| {
        let major = name.to_str()?.strip_prefix("CARGO_FEATURE_LLVM")?.parse().ok()?;
        Some::<u32>(major)
    });
    let mut majors: Vec<u32> = features.collect();
    majors.sort_unstable();
    match *majors {
        [major] => {
            println!("cargo::rustc-env=OFFLOOM_LLVM_MAJOR={major}");
            Some(major)
        }
        [] => {
            println!("cargo::error=choose an LLVM: enable one of the features `llvmN`, such as `llvm19`");
            None
        }
        [first, second, ..] => {
            println!(
                "cargo::error=features `llvm{first}` and `llvm{second}` exclude each other: add `--no-default-features` to choose LLVM {second}"
            );
            None
        }
    }
}

/// For build scripts: finds the LLVM that [`chosen_major`] names, tells Cargo when to run the script again,
/// and turns a failure into one clear Cargo error.
///
/// Returns `None` after having reported an error; the script then just returns.
pub fn for_build_script() -> Option<Llvm> {
    let major = chosen_major()?;
    println!("cargo::rerun-if-env-changed={}", prefix_variable(major));
    println!("cargo::rerun-if-env-changed={}", sysroot::VARIABLE);
    match find(major) {
        Ok(llvm) => {
            // An upgrade of the packages replaces this header.
            println!(
                "cargo::rerun-if-changed={}",
                llvm.include_dir.join("llvm/Config/llvm-config.h").display()
            );
            Some(llvm)
        }
        Err(error) => {
            println!("cargo::error={error}");
            None
        }
    }
}

/// For build scripts: links the shared libLLVM into the integration tests of the crate being built, which are
/// programs and so have nobody to take LLVM's symbols from.
pub fn link_tests(llvm: &Llvm) {
    println!(
        "cargo::rustc-link-arg-tests=-Wl,-rpath,{}",
        llvm.lib_dir.display()
    );
    for argument in shared_library(llvm) {
        println!("cargo::rustc-link-arg-tests={argument}");
    }
}

/// For build scripts: what a linker needs to be told for the shared libLLVM.
pub fn shared_library(llvm: &Llvm) -> Vec<String> {
    let mut arguments = vec![
        format!("-L{}", llvm.lib_dir.display()),
        format!("-lLLVM-{}", llvm.major),
    ];
    if let Some(sysroot) = &llvm.config.sysroot {
        // The libraries that it needs itself.
        arguments.push(format!("-Wl,-rpath-link,{}", sysroot.library_folder().display()));
    }
    arguments
}

/// For build scripts: what a linker needs to be told for these components of LLVM, and all that they use, to
/// become part of a program. Without `llvm-config`'s answer there is nothing, and the build fails with a
/// message.
pub fn static_libraries(llvm: &Llvm, components: &[&str]) -> Option<Vec<String>> {
    let output = llvm
        .config
        .command()
        .args(["--link-static", "--libs"])
        .args(components)
        .output()
        .ok()
        .filter(|output| output.status.success());
    let Some(output) = output else {
        println!(
            "cargo::error=`llvm-config` of LLVM {} does not name LLVM's static libraries",
            llvm.major
        );
        return None;
    };
    let names = String::from_utf8_lossy(&output.stdout);
    let mut arguments = vec![format!("-L{}", llvm.lib_dir.display())];
    arguments.extend(names.split_whitespace().map(str::to_owned));
    // What LLVM's libraries use; a program that is started often does not load them each time. Of another
    // machine by path: with its folder, the linker would find a C library whose parts it does not.
    arguments.extend(["libz.a", "libzstd.a"].map(|name| match &llvm.config.sysroot {
        Some(sysroot) => sysroot.library_folder().join(name).display().to_string(),
        None => format!("-l:{name}"),
    }));
    Some(arguments)
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

    fn command(&self) -> Command {
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

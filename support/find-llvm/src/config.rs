//! `llvm-config`: where it is, and what it says.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::FindError;
use crate::sysroot::{self, Sysroot};

/// The environment variable that names the folder LLVM `major` is installed in (the name that `llvm-sys`
/// uses).
pub fn prefix_variable(major: u32) -> String {
    format!("LLVM_SYS_{major}1_PREFIX")
}

/// LLVM's `llvm-config`, and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) program: PathBuf,
    /// Where its machine's files are, if it is another one's.
    pub(crate) sysroot: Option<Sysroot>,
}

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(program))
        .find(|path| path.is_file())
}

impl Config {
    /// Finds the one of LLVM `major`.
    pub(crate) fn find(major: u32) -> Result<Self, FindError> {
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
    pub(crate) fn ask(&self, major: u32, option: &str) -> Result<String, FindError> {
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

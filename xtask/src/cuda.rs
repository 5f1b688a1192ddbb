//! CUDA folders for tests: what it takes to make device code for NVIDIA GPUs, laid out as a CUDA
//! installation.
//!
//! NVIDIA's packages for Python hold it ([`packages`]); Debian's CUDA is in another archive, is gigabytes,
//! and is for PTX that newer LLVMs no longer write. Nothing of it is linked into what we build. What tests
//! compile with is a folder of links to it for each LLVM, in which two tools are replaced by programs of ours
//! (`test/virtual-gpu/tools`): `ptxas` leaves the PTX in its output, so that the virtual GPU can run what a
//! real GPU could; and LLVM 19, whose libomptarget knows no cubins of CUDA 13, gets an `nvlink` of CUDA 12.

pub(crate) mod gpu;
mod packages;

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use offloom_abi::LlvmVersion;

use crate::command::run;
use crate::llvm;
use crate::openmp::replace_link;
use crate::workspace::{Workspace, cargo};

pub(crate) use packages::install;

/// What `ptxas` becomes in our folder, and the real one.
const PTXAS: &str = "bin/ptxas";
const REAL_PTXAS: &str = "libexec/ptxas";

/// What a folder must have for a device link.
const NEEDED: [&str; 4] = [
    PTXAS,
    "bin/nvlink",
    "include/cuda.h",
    "nvvm/libdevice/libdevice.10.bc",
];

/// Options of `cargo xtask cuda-folder`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The LLVM that is to compile with it
    #[arg(long = "llvm", value_name = "MAJOR", default_value = "19", value_parser = crate::llvm::supported)]
    major: u32,
}

/// Runs `cargo xtask cuda-folder`: prints the folder for `--cuda-path`, and nothing else on the standard
/// output.
pub(crate) fn print_folder(arguments: &Arguments) -> Result<()> {
    let folder = folder(&Workspace::find()?, arguments.major)?;
    let folder = folder.context("CUDA's tools are not there: `cargo xtask setup` installs them")?;
    println!("{}", folder.display());
    Ok(())
}

/// Makes the CUDA folder for an LLVM, or brings it up to date. None where CUDA's tools are not installed.
///
/// Where `CUDA_PATH` names a CUDA folder, the tools are those of that folder, with our `ptxas` before its
/// own.
pub(crate) fn folder(workspace: &Workspace, major: u32) -> Result<Option<PathBuf>> {
    let sources = Sources::find(workspace, llvm::version(major)?);
    if !sources.are_complete() {
        return Ok(None);
    }
    let mut build = Command::new(cargo());
    build.current_dir(&workspace.root).args([
        "build",
        "--release",
        "--locked",
        "--quiet",
        "-p",
        "offloom-cuda-tools",
    ]);
    run(&mut build)?;
    let built = workspace.target.join("release");
    let folder = workspace.target.join("cuda").join(format!("llvm-{major}"));
    sources.lay_out(&folder, &built)?;
    Ok(Some(folder))
}

/// Where the parts of a folder come from.
#[derive(Debug)]
struct Sources {
    /// The CUDA folder with everything that no other has.
    base: PathBuf,
    /// A further folder for programs that `base` lacks.
    more: Option<PathBuf>,
    /// Whether `nvlink` is ours.
    own_nvlink: bool,
}

impl Sources {
    fn find(workspace: &Workspace, version: LlvmVersion) -> Self {
        let given = env::var_os("CUDA_PATH").map(PathBuf::from);
        let newest = packages::CUDA_13.folder(workspace);
        match given {
            Some(base) => Self {
                base,
                more: None,
                own_nvlink: false,
            },
            None if packages::CUDA_12.is_for(version) => Self {
                base: packages::CUDA_12.folder(workspace),
                more: Some(newest),
                own_nvlink: true,
            },
            None => Self {
                base: newest,
                more: None,
                own_nvlink: false,
            },
        }
    }

    fn are_complete(&self) -> bool {
        let mut needed = NEEDED
            .iter()
            .filter(|&&file| !(self.own_nvlink && file == "bin/nvlink"));
        let more = self.more.as_ref();
        needed.all(|file| self.base.join(file).is_file()) && more.is_none_or(|more| more.is_dir())
    }

    /// Fills a folder with links to the sources and with the tools of ours that were built.
    fn lay_out(&self, folder: &Path, built: &Path) -> Result<()> {
        for name in names(&self.base)? {
            if name != "bin" && name != "libexec" {
                replace_link(&folder.join(&name), &self.base.join(&name))?;
            }
        }
        for source in self.more.iter().chain([&self.base]) {
            for name in names(&source.join("bin"))? {
                if name != "ptxas" && !(self.own_nvlink && name == "nvlink") {
                    replace_link(&folder.join("bin").join(&name), &source.join("bin").join(&name))?;
                }
            }
        }
        replace_link(&folder.join(REAL_PTXAS), &self.base.join(PTXAS))?;
        copy_if_changed(&built.join("ptxas"), &folder.join(PTXAS))?;
        if self.own_nvlink {
            copy_if_changed(&built.join("nvlink"), &folder.join("bin/nvlink"))?;
        }
        Ok(())
    }
}

/// The names of what lies in a folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read folder `{}`", folder.display()))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    names
        .collect::<Result<_, _>>()
        .with_context(|| format!("cannot read folder `{}`", folder.display()))
}

/// Puts a copy of a program at `to`, whole at every moment: a compile may be running it. A copy, because the
/// programs look for their folder beside themselves.
pub(crate) fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let new = fs::read(from).with_context(|| format!("cannot read `{}`", from.display()))?;
    match fs::read(to) {
        Ok(present) if present == new => return Ok(()),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read `{}`", to.display()));
        }
        _ => {}
    }
    let folder = to.parent().context("a program needs a folder")?;
    let scratch = tempfile::tempdir_in(folder)?;
    let beside = scratch.path().join("program");
    fs::copy(from, &beside)
        .and_then(|_| fs::rename(&beside, to))
        .with_context(|| format!("cannot write `{}`", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[&str]) {
        for file in files {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, file.display().to_string()).unwrap();
        }
    }

    #[test]
    fn a_folder_without_a_tool_is_not_complete() {
        let base = tempfile::tempdir().unwrap();
        write(
            base.path(),
            &["bin/ptxas", "include/cuda.h", "nvvm/libdevice/libdevice.10.bc"],
        );
        let mut sources = Sources {
            base: base.path().to_owned(),
            more: None,
            own_nvlink: true,
        };
        assert!(sources.are_complete());
        sources.own_nvlink = false;
        assert!(!sources.are_complete());
        write(base.path(), &["bin/nvlink"]);
        assert!(sources.are_complete());
        sources.more = Some(base.path().join("none"));
        assert!(!sources.are_complete());
    }

    #[test]
    fn our_tools_lie_before_those_of_the_packages() {
        let scratch = tempfile::tempdir().unwrap();
        let [base, more, built, folder] =
            ["base", "more", "built", "folder"].map(|name| scratch.path().join(name));
        write(
            &base,
            &["bin/ptxas", "include/cuda.h", "nvvm/libdevice/libdevice.10.bc"],
        );
        write(&more, &["bin/ptxas", "bin/nvlink", "bin/fatbinary"]);
        write(&built, &["ptxas", "nvlink"]);
        let sources = Sources {
            base: base.clone(),
            more: Some(more.clone()),
            own_nvlink: true,
        };
        for _ in 0..2 {
            sources.lay_out(&folder, &built).unwrap();
            let is = |path: &str, from: PathBuf| {
                assert_eq!(
                    fs::read(folder.join(path)).unwrap(),
                    fs::read(from).unwrap(),
                    "{path}"
                );
            };
            is("bin/ptxas", built.join("ptxas"));
            is("bin/nvlink", built.join("nvlink"));
            is("bin/fatbinary", more.join("bin/fatbinary"));
            is("libexec/ptxas", base.join("bin/ptxas"));
            is(
                "nvvm/libdevice/libdevice.10.bc",
                base.join("nvvm/libdevice/libdevice.10.bc"),
            );
            write(&built, &["ptxas"]);
        }
    }
}

//! The parts of CUDA that it takes to link device code for NVIDIA GPUs, from NVIDIA's packages for Python, in a folder of our own.
//!
//! Debian's CUDA is in another archive, is gigabytes, and is for PTX that LLVM 22 no longer writes. The two packages hold what a
//! device link runs, and nothing of them is linked into what we build.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::progress::run_folded;
use crate::workspace::Workspace;

/// Packages of the Python Package Index, and what they are needed for.
const PACKAGES: [(&str, &str); 2] = [
    (
        "nvidia-cuda-nvcc",
        "ptxas, nvlink: cubins for the tests of device links",
    ),
    ("nvidia-nvvm", "libdevice: mathematical functions of device code"),
];

/// The version of both.
const VERSION: &str = "13.5.37";

/// The folder in the packages that is laid out as a CUDA installation.
const INSTALLED: &str = "nvidia/cu13";

/// Clang takes the version of PTX from this header. The highest that LLVM 19 knows is that of CUDA 12.3.
const HEADER: &str = "#define CUDA_VERSION 12030\n";

/// The CUDA folder: the one that `CUDA_PATH` names, else our own. Nothing says that it is there.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    env::var_os("CUDA_PATH").map_or_else(|| own_folder(workspace), PathBuf::from)
}

/// The folder that holds what was installed, named by the version so that another is installed anew.
fn own_folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join(format!("cuda-{VERSION}"))
}

/// Installs the packages, if `CUDA_PATH` names no folder and they are not there yet.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let folder = folder(workspace);
    if is_complete(&folder) {
        println!("CUDA's ptxas, nvlink and libdevice are in {}", folder.display());
        return Ok(());
    }
    ensure!(
        env::var_os("CUDA_PATH").is_none(),
        "`CUDA_PATH` names `{}`, which has no bin/ptxas, bin/nvlink, include/cuda.h and nvvm/libdevice: unset it",
        folder.display()
    );
    println!(
        "Packages of the Python Package Index to install in {}:",
        folder.display()
    );
    for (name, purpose) in PACKAGES {
        println!("  {name} {VERSION}: {purpose}");
    }
    fs::create_dir_all(&workspace.target)?;
    let scratch = tempfile::tempdir_in(&workspace.target)?;
    let mut command = Command::new("python3");
    command.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--target",
    ]);
    command.arg(scratch.path());
    command.args(PACKAGES.map(|(name, _)| format!("{name}=={VERSION}")));
    run_folded(&mut command, "installing CUDA's tools").context(
        "pip is needed to install CUDA's tools, and a way to the Python Package Index; or name a CUDA folder by `CUDA_PATH`",
    )?;
    let installed = scratch.path().join(INSTALLED);
    fs::write(installed.join("include/cuda.h"), HEADER)?;
    ensure!(
        is_complete(&installed),
        "the packages do not hold what they should"
    );
    // Whole or not at all.
    fs::rename(&installed, &folder).with_context(|| format!("cannot make `{}`", folder.display()))
}

/// Whether a folder has what a device link needs.
pub(crate) fn is_complete(folder: &Path) -> bool {
    [
        "bin/ptxas",
        "bin/nvlink",
        "include/cuda.h",
        "nvvm/libdevice/libdevice.10.bc",
    ]
    .iter()
    .all(|file| folder.join(file).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_tool_is_not_complete() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["bin/ptxas", "include/cuda.h", "nvvm/libdevice/libdevice.10.bc"] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        assert!(!is_complete(folder.path()));
        fs::write(folder.path().join("bin/nvlink"), "").unwrap();
        assert!(is_complete(folder.path()));
    }
}

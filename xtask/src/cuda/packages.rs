//! NVIDIA's packages of the Python Package Index, each version in a folder of its own.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use offloom_abi::LlvmVersion;

use crate::progress::run_folded;
use crate::workspace::Workspace;

/// Clang takes the version of PTX from this header. The highest that LLVM 19 knows is that of CUDA 12.3.
const HEADER: &str = "#define CUDA_VERSION 12030\n";

/// What says that a folder was put in its place whole.
const LAST_FILE: &str = "include/cuda.h";

/// One version of CUDA's tools.
#[derive(Debug)]
pub(super) struct Version {
    number: &'static str,
    /// The ABI version of its cubins.
    cubin: u8,
    /// Packages, and what they are needed for.
    packages: &'static [(&'static str, &'static str)],
    /// The folder in the packages that becomes the CUDA folder.
    installed: &'static str,
    /// Files of other folders: where they are in the packages, and where in the CUDA folder.
    moved: &'static [(&'static str, &'static str)],
}

/// For LLVMs whose libomptarget knows its cubins, and the programs that no package of CUDA 12 holds.
pub(super) const CUDA_13: Version = Version {
    number: "13.5.37",
    cubin: 8,
    packages: &[
        (
            "nvidia-cuda-nvcc",
            "ptxas, nvlink, fatbinary: cubins for the tests of device links",
        ),
        ("nvidia-nvvm", "libdevice: mathematical functions of device code"),
    ],
    installed: "nvidia/cu13",
    moved: &[],
};

/// For LLVMs whose libomptarget refuses cubins with CUDA 13's ELF marks: 19.
pub(super) const CUDA_12: Version = Version {
    number: "12.9.86",
    cubin: 7,
    packages: &[
        (
            "nvidia-cuda-nvcc-cu12",
            "ptxas, libdevice: cubins that LLVM 19's libomptarget takes",
        ),
        ("nvidia-nvjitlink-cu12", "the linker of such cubins, as a library"),
    ],
    installed: "nvidia/cuda_nvcc",
    moved: &[(
        "nvidia/nvjitlink/lib/libnvJitLink.so.12",
        "lib64/libnvJitLink.so.12",
    )],
};

impl Version {
    /// Where it is installed, if it is: named by the version, so that another is installed anew.
    pub(super) fn folder(&self, workspace: &Workspace) -> PathBuf {
        workspace.target.join(format!("cuda-{}", self.number))
    }

    /// Whether its cubins are the newest that a release's libomptarget knows.
    pub(super) fn is_for(&self, version: LlvmVersion) -> bool {
        version.newest_cubin == self.cubin
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        let folder = self.folder(workspace);
        if folder.join(LAST_FILE).is_file() {
            println!(
                "CUDA's tools, version {}, are in {}",
                self.number,
                folder.display()
            );
            return Ok(());
        }
        println!(
            "Packages of the Python Package Index to install in {}:",
            folder.display()
        );
        for (name, purpose) in self.packages {
            println!("  {name} {}: {purpose}", self.number);
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
        let packages = self.packages.iter();
        command.args(packages.map(|(name, _)| format!("{name}=={}", self.number)));
        run_folded(&mut command, "installing CUDA's tools").context(
            "pip is needed to install CUDA's tools, and a way to the Python Package Index; or name a CUDA folder by `CUDA_PATH`",
        )?;
        let installed = scratch.path().join(self.installed);
        for (from, to) in self.moved {
            let to = installed.join(to);
            fs::create_dir_all(to.parent().context("a file needs a folder")?)?;
            fs::rename(scratch.path().join(from), &to)
                .with_context(|| format!("the packages do not hold `{from}`"))?;
        }
        fs::write(installed.join(LAST_FILE), HEADER)?;
        // Whole or not at all.
        fs::rename(&installed, &folder).with_context(|| format!("cannot make `{}`", folder.display()))
    }
}

/// Installs what is not there yet, unless `CUDA_PATH` names a CUDA folder.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    if let Some(given) = env::var_os("CUDA_PATH").map(PathBuf::from) {
        for file in super::NEEDED {
            ensure!(
                given.join(file).is_file(),
                "`CUDA_PATH` names `{}`, which has no `{file}`: unset it",
                given.display()
            );
        }
        println!("CUDA's tools are in {}", given.display());
        return Ok(());
    }
    CUDA_12.install(workspace)?;
    CUDA_13.install(workspace)
}

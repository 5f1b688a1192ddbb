//! What it takes to compile, link and run an OpenMP offload program with the distribution's packages of one
//! LLVM.
//!
//! Debian has an LLVM use the OpenMP host runtime of another where both are installed: LLVM 22 that of 19
//! (`libomp-22-dev` cannot be installed beside `libomp-19-dev`). Its programs must not find the rest of that
//! folder: linked to the `libomptarget` of 19 they crash when they start. So `omp.h` and `libomp.so` alone
//! are linked into a folder of our own. Users have `lib/openmp` of an installation for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use offloom_abi::{HostProcessor, LlvmVersion};
use offloom_find_llvm::Llvm;

use crate::llvm;
use crate::workspace::Workspace;

/// The target that stands in for a GPU: the host itself, as libomptarget's device for it.
pub(crate) const DEVICE_TRIPLE: &str = HostProcessor::NATIVE.triple;

/// Options and environment for OpenMP offload programs.
#[derive(Debug, Clone)]
pub(crate) struct OpenMp {
    /// Options for a compile without offloading: where `omp.h` is.
    pub(crate) include_options: Vec<String>,
    /// Options for a link: where the runtime libraries are, now and when the program runs.
    pub(crate) link_options: Vec<String>,
}

impl OpenMp {
    /// Finds the runtime for `llvm`, making the private folder when it needs one.
    pub(crate) fn prepare(workspace: &Workspace, llvm: &Llvm) -> Result<Self> {
        let own = llvm.lib_dir.display();
        let mut include_options = Vec::new();
        let mut link_options = vec![format!("-L{own}")];
        if !llvm.lib_dir.join("libomp.so").exists() {
            let private = workspace.target.join(format!("openmp-{}", llvm.major));
            let version = llvm::version(llvm.major)?;
            link_to(
                &private.join("include/omp.h"),
                &present(header(version), version)?,
            )?;
            let library = runtime_folder(version).join("libomp.so.5");
            link_to(&private.join("lib/libomp.so"), &present(library, version)?)?;
            include_options.push(format!("-I{}", private.join("include").display()));
            link_options.push(format!("-L{}", private.join("lib").display()));
        }
        link_options.push(format!("-Wl,-rpath,{own}"));
        Ok(Self {
            include_options,
            link_options,
        })
    }

    /// Options for compiling a source with target regions for the host and for the x86_64 device.
    pub(crate) fn compile_options(&self) -> Vec<String> {
        let mut options = vec!["-fopenmp".to_owned(), format!("-fopenmp-targets={DEVICE_TRIPLE}")];
        options.extend_from_slice(&self.include_options);
        options
    }
}

/// The folder with the OpenMP host runtime that Debian has an LLVM use: its own or another's.
fn runtime_folder(version: LlvmVersion) -> PathBuf {
    PathBuf::from(format!("/usr/lib/llvm-{}/lib", version.host_runtime))
}

/// The `omp.h` of that runtime.
pub(crate) fn header(version: LlvmVersion) -> PathBuf {
    runtime_folder(version).join(format!("clang/{}/include/omp.h", version.host_runtime))
}

fn present(path: PathBuf, version: LlvmVersion) -> Result<PathBuf> {
    fs::metadata(&path).with_context(|| {
        format!(
            "no `{}`: install the Debian package `{}`",
            path.display(),
            version.host_runtime_dev_package()
        )
    })?;
    Ok(path)
}

/// Makes `link` a symbolic link to `target`, in place of whatever link is there.
fn link_to(link: &Path, target: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|present| present == target) {
        return Ok(());
    }
    replace_link(link, target)
}

/// Puts a symbolic link at `link`, whole at every moment: made beside it, then renamed.
pub(crate) fn replace_link(link: &Path, target: &Path) -> Result<()> {
    let folder = link.parent().context("a link needs a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let scratch = tempfile::tempdir_in(folder)?;
    let new = scratch.path().join("link");
    symlink(target, &new)
        .and_then(|()| fs::rename(&new, link))
        .with_context(|| format!("cannot make the link `{}`", link.display()))
}

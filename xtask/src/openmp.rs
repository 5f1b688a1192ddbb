//! What it takes to compile, link and run an OpenMP offload program with the distribution's packages of one
//! LLVM.
//!
//! LLVM 22 is meant to be used next to the OpenMP host runtime of 19 (Debian's `libomp-22-dev` cannot be
//! installed beside `libomp-19-dev`). Its programs must not find the rest of that folder: linked to the
//! `libomptarget` of 19 they crash when they start. So `omp.h` and `libomp.so` alone are linked into a folder
//! of our own. Users have `lib/openmp` of an installation for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use offloom_find_llvm::Llvm;

use crate::workspace::Workspace;

/// The target that stands in for a GPU: the host itself, as libomptarget's x86_64 device.
pub(crate) const DEVICE_TRIPLE: &str = "x86_64-pc-linux-gnu";

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
            link_to(&private.join("include/omp.h"), &other_header()?)?;
            link_to(&private.join("lib/libomp.so"), &other_library()?)?;
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

/// The folder of LLVM 19, the only one besides LLVM 22's own that holds an OpenMP host runtime we know to
/// fit.
pub(crate) const RUNTIME_FOLDER: &str = "/usr/lib/llvm-19/lib";

fn other_header() -> Result<PathBuf> {
    present(Path::new(RUNTIME_FOLDER).join("clang/19/include/omp.h"))
}

fn other_library() -> Result<PathBuf> {
    present(Path::new(RUNTIME_FOLDER).join("libomp.so.5"))
}

fn present(path: PathBuf) -> Result<PathBuf> {
    fs::metadata(&path).with_context(|| {
        format!(
            "no `{}`: install the Debian package `libomp-19-dev`",
            path.display()
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

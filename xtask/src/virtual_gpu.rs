//! `cargo xtask virtual-gpu`: runs a program on the virtual GPU, which executes PTX on the processor.
//!
//! What the program finds as NVIDIA's driver is `test/virtual-gpu/driver`. `docs/dev/virtual-gpu.md` says
//! what it can do.

pub(crate) mod hsa;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command::run;
use crate::cuda::copy_if_changed;
use crate::openmp::replace_link;
use crate::workspace::{Workspace, cargo};

/// The name under which programs open the driver, and the one that LLVM's plugin uses.
const LIBRARY: &str = "libcuda.so.1";
const LINK: &str = "libcuda.so";

/// Options of `cargo xtask virtual-gpu`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs `cargo xtask virtual-gpu`: becomes the program.
pub(crate) fn run_program(arguments: &Arguments) -> Result<()> {
    become_program(&library_folder(&Workspace::find()?)?, arguments)
}

/// Becomes a program that finds a folder's libraries before all others, and whose regions must run on a
/// device.
pub(crate) fn become_program(folder: &Path, arguments: &Arguments) -> Result<()> {
    let (program, rest) = arguments.program.split_first().context("no program is named")?;
    let mut command = Command::new(program);
    command.args(rest).env("LD_LIBRARY_PATH", library_path(folder)?);
    if env::var_os("OMP_TARGET_OFFLOAD").is_none() {
        command.env("OMP_TARGET_OFFLOAD", "MANDATORY");
    }
    Err(command.exec()).with_context(|| format!("cannot run `{}`", Path::new(program).display()))
}

/// Builds the driver and says in which folder it lies.
pub(crate) fn library_folder(workspace: &Workspace) -> Result<PathBuf> {
    let folder = stage(workspace, "offloom-virtual-cuda", "virtual-gpu", LIBRARY)?;
    replace_link(&folder.join(LINK), Path::new(LIBRARY))?;
    Ok(folder)
}

/// Builds a package that stands in for a library of a GPU's vendor, and puts it into a folder of the target
/// folder by the name that programs open.
pub(crate) fn stage(workspace: &Workspace, package: &str, folder: &str, library: &str) -> Result<PathBuf> {
    let mut build = Command::new(cargo());
    build
        .current_dir(&workspace.root)
        .args(["build", "--release", "--locked", "--quiet", "-p", package]);
    run(&mut build)?;
    let folder = workspace.target.join(folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let built = format!("release/lib{}.so", package.replace('-', "_"));
    copy_if_changed(&workspace.target.join(built), &folder.join(library))?;
    Ok(folder)
}

/// `LD_LIBRARY_PATH` with a folder before what the user has in it.
pub(crate) fn library_path(folder: &Path) -> Result<OsString> {
    let given = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = [folder.to_owned()].into_iter().chain(env::split_paths(&given));
    Ok(env::join_paths(
        folders.filter(|folder| !folder.as_os_str().is_empty()),
    )?)
}

//! The OpenMP device runtime that programs for NVIDIA GPUs are linked with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::build::Staged;
use crate::command::run;
use crate::corpus::tools;
use crate::openmp::RUNTIME_FOLDER;
use crate::workspace::Workspace;

/// The runtime's bitcode for the oldest processor that is built for.
const BITCODE: &str = "libomptarget-nvptx-sm_80.bc";

/// The one function that LLVM 19's runtime lacks for programs of LLVM 22.
const MISSING: &str = "test/virtual-gpu/lit/Inputs/parallel-60.ll";

/// What compiles and links need to find it.
#[derive(Debug)]
pub(super) struct DeviceRuntime {
    /// Options of all compiles and links.
    pub(super) options: Vec<String>,
    /// Options of a link with `-r` besides.
    pub(super) relocatable_options: Vec<String>,
    /// Whether it is that of another LLVM.
    pub(super) is_substitute: bool,
}

impl DeviceRuntime {
    /// That of the LLVM at hand, or else one made of LLVM 19's. None where neither is installed.
    pub(super) fn find(workspace: &Workspace, staged: &Staged) -> Result<Option<Self>> {
        let own = &staged.llvm.lib_dir;
        if own.join(BITCODE).is_file() {
            return Ok(Some(Self {
                options: vec![format!("--libomptarget-nvptx-bc-path={}", own.display())],
                relocatable_options: vec![format!("-L{}", own.display()), "-lomptarget.devicertl".to_owned()],
                is_substitute: false,
            }));
        }
        let other = Path::new(RUNTIME_FOLDER).join(BITCODE);
        if !other.is_file() {
            return Ok(None);
        }
        let folder = substitute(workspace, staged, &other)?;
        Ok(Some(Self {
            options: vec![
                format!(
                    "--libomptarget-nvptx-bc-path={}",
                    folder.join("runtime.bc").display()
                ),
                // For what the optimiser calls after the bitcode was linked in.
                "-Xoffload-linker".to_owned(),
                format!("-L{}", folder.display()),
            ],
            relocatable_options: vec![format!("-L{}", folder.display()), "-lompdevice".to_owned()],
            is_substitute: true,
        }))
    }
}

/// Makes the folder with the runtime of another LLVM and the function that it lacks, as bitcode and as a
/// library.
fn substitute(workspace: &Workspace, staged: &Staged, other: &Path) -> Result<PathBuf> {
    let folder = workspace
        .target
        .join(format!("device-runtime-{}", staged.llvm.major));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let tool = |name: &str| -> Command {
        let mut tool = tools::tool(staged, name);
        tool.current_dir(&folder);
        tool
    };
    run(tool("llvm-link")
        .arg(other)
        .arg(workspace.root.join(MISSING))
        .args(["-o", "runtime.bc"]))?;
    run(tool("llvm-ar").args(["rcs", "libompdevice.a", "runtime.bc"]))?;
    Ok(folder)
}

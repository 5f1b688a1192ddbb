//! The OpenMP device runtime that programs for NVIDIA GPUs are linked with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use offloom_abi::LlvmVersion;
use offloom_abi::version::DeviceRuntimes;
use offloom_find_llvm::Llvm;

use crate::build::Staged;
use crate::command::run;
use crate::corpus::tools;
use crate::llvm;
use crate::openmp::{OpenMp, runtime_folder};
use crate::workspace::Workspace;

/// The one function that LLVM 19's runtime lacks for programs of LLVM 22.
const MISSING: &str = "test/virtual-gpu/lit/Inputs/parallel-60.ll";

/// What compiles and links need to find it.
#[derive(Debug)]
pub(super) struct DeviceRuntime {
    /// Where it is.
    folder: PathBuf,
    /// Options of all compiles and links.
    pub(super) options: Vec<String>,
    /// Options of a link with `-r` besides.
    pub(super) relocatable_options: Vec<String>,
}

impl DeviceRuntime {
    /// That of the LLVM at hand, or else one made of that of the LLVM whose OpenMP host runtime it uses. None
    /// where neither is installed.
    pub(super) fn find(workspace: &Workspace, staged: &Staged) -> Result<Option<Self>> {
        let Some((runtime, is_own)) = bitcode(&staged.llvm)? else {
            return Ok(None);
        };
        if is_own {
            let libraries = staged.llvm.lib_dir.display();
            return Ok(Some(Self {
                folder: runtime.parent().unwrap_or(&staged.llvm.lib_dir).to_owned(),
                options: vec![bitcode_option(&runtime)],
                relocatable_options: match llvm::version(staged.llvm.major)?.device_runtimes {
                    DeviceRuntimes::ForProcessors => {
                        vec![format!("-L{libraries}"), "-lomptarget.devicertl".to_owned()]
                    }
                    // In a folder that the linker knows.
                    DeviceRuntimes::ForTriples => vec!["-lompdevice".to_owned()],
                },
            }));
        }
        let folder = substitute(workspace, staged, &runtime)?;
        Ok(Some(Self {
            options: vec![
                bitcode_option(&folder.join("runtime.bc")),
                // For what the optimiser calls after the bitcode was linked in.
                "-Xoffload-linker".to_owned(),
                format!("-L{}", folder.display()),
            ],
            relocatable_options: vec![format!("-L{}", folder.display()), "-lompdevice".to_owned()],
            folder,
        }))
    }
}

/// The bitcode of the device runtime for an LLVM, for the oldest processor that is built for, and whether it
/// is of that LLVM. Else it is of the one whose OpenMP host runtime it uses. None where neither is installed.
pub(crate) fn bitcode(llvm: &Llvm) -> Result<Option<(PathBuf, bool)>> {
    let version = llvm::version(llvm.major)?;
    let own = of_release(version, &llvm.lib_dir);
    let other = llvm::version(version.host_runtime)?;
    let other = of_release(other, &runtime_folder(version));
    let candidates = [(own, true), (other, false)];
    Ok(candidates.into_iter().find(|(file, _)| file.is_file()))
}

/// Where a release has that bitcode, from the folder of its libraries.
fn of_release(version: LlvmVersion, libraries: &Path) -> PathBuf {
    libraries.join(match version.device_runtimes {
        DeviceRuntimes::ForProcessors => "libomptarget-nvptx-sm_80.bc",
        DeviceRuntimes::ForTriples => "nvptx64-nvidia-cuda/libomptarget-nvptx.bc",
    })
}

/// The option of Clang for a runtime's bitcode.
fn bitcode_option(file: &Path) -> String {
    format!("--libomptarget-nvptx-bc-path={}", file.display())
}

/// The options of compiles and links of the lit tests for NVIDIA GPUs that find device runtime and header;
/// none where there is no device runtime. They name the bitcode for sm_80 where there is some for each
/// processor.
pub(crate) fn options(workspace: &Workspace, staged: &Staged, openmp: &OpenMp) -> Result<Vec<String>> {
    let Some(runtime) = DeviceRuntime::find(workspace, staged)? else {
        return Ok(Vec::new());
    };
    let mut options = runtime.options;
    // Links for the JIT, and those of LTO, look for the library as the host's link does.
    options.push(format!("-L{}", runtime.folder.display()));
    options.extend_from_slice(&openmp.include_options);
    Ok(options)
}

/// Makes the folder with the runtime of another LLVM and the function that it lacks, as bitcode and as a
/// library. It lays data out as this LLVM does: what differs from one release to the next is of types that
/// the runtime has not.
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
    // The source names no layout: Clang gives it its own, and what is linked later takes that of the first.
    run(tool("clang")
        .args([
            "--target=nvptx64-nvidia-cuda",
            "-Wno-override-module",
            "-c",
            "-emit-llvm",
            "-x",
            "ir",
        ])
        .arg(workspace.root.join(MISSING))
        .args(["-o", "missing.bc"]))?;
    run(tool("llvm-link")
        .args(["--suppress-warnings", "missing.bc"])
        .arg(other)
        .args(["-o", "runtime.bc"]))?;
    // It may be there already, and hold an older one.
    let _ = fs::remove_file(folder.join("libompdevice.a"));
    run(tool("llvm-ar").args(["rcs", "libompdevice.a", "runtime.bc"]))?;
    Ok(folder)
}

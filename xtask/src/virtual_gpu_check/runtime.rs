//! The OpenMP device runtime that programs for NVIDIA GPUs are linked with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use offloom_abi::LlvmVersion;
use offloom_abi::version::DeviceRuntimes;
use offloom_find_llvm::Llvm;

use crate::build::Staged;
use crate::command::run;
use crate::corpus::tools;
use crate::llvm;
use crate::openmp::OpenMp;
use crate::workspace::{Workspace, remove_folder};

/// The functions that an earlier LLVM's runtime lacks for programs of a later one.
const MISSING: &str = "test/virtual-gpu/lit/Inputs/missing-functions.c";

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
    /// That of the LLVM at hand, or else one made of another LLVM's ([`LlvmVersion::gpu_runtime`]). None
    /// where neither is there.
    pub(super) fn find(workspace: &Workspace, staged: &Staged) -> Result<Option<Self>> {
        let Some((runtime, is_own)) = bitcode(workspace, &staged.llvm)? else {
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
/// is of that LLVM. Else it is of another ([`LlvmVersion::gpu_runtime`]), installed or unpacked by
/// [`install`]. None where neither is there.
pub(crate) fn bitcode(workspace: &Workspace, llvm: &Llvm) -> Result<Option<(PathBuf, bool)>> {
    let version = llvm::version(llvm.major)?;
    let other = llvm::version(version.gpu_runtime)?;
    let libraries = format!("usr/lib/llvm-{}/lib", other.major());
    let own = of_release(version, &llvm.lib_dir);
    let installed = of_release(other, &Path::new("/").join(&libraries));
    let unpacked = of_release(other, &unpacked(workspace, other).join(&libraries));
    let candidates = [(own, true), (installed, false), (unpacked, false)];
    Ok(candidates.into_iter().find(|(file, _)| file.is_file()))
}

/// Where [`install`] unpacks the runtime of a release.
fn unpacked(workspace: &Workspace, version: LlvmVersion) -> PathBuf {
    let name = format!("device-runtime-of-{}", version.major());
    workspace.target.join(name)
}

/// Unpacks another LLVM's package with a runtime, where the LLVM at hand has none and Debian lets the package
/// not be installed beside its own.
pub(crate) fn install(workspace: &Workspace, llvm: &Llvm) -> Result<()> {
    let version = llvm::version(llvm.major)?;
    if version.gpu_runtime == version.host_runtime || bitcode(workspace, llvm)?.is_some() {
        return Ok(());
    }
    let other = llvm::version(version.gpu_runtime)?;
    // So it is called in every release of Debian that has LLVM 23.
    let package = format!("liboffload-{}-dev", other.major());
    let folder = unpacked(workspace, other);
    println!(
        "Package to unpack in {}: {package}, whose device runtime tests link programs of LLVM {} with",
        folder.display(),
        llvm.major
    );
    fs::create_dir_all(&workspace.target)?;
    let scratch = tempfile::tempdir_in(&workspace.target)?;
    run(Command::new("apt-get")
        .args(["-qq", "download", &package])
        .current_dir(scratch.path()))?;
    let mut files = fs::read_dir(scratch.path())?;
    let archive = files.next().context("apt has downloaded nothing")??.path();
    let whole = scratch.path().join("whole");
    run(Command::new("dpkg-deb").arg("--extract").arg(archive).arg(&whole))?;
    // Whole or not at all. One that is there lacks the runtime.
    remove_folder(&folder)?;
    fs::rename(&whole, &folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    ensure!(
        bitcode(workspace, llvm)?.is_some(),
        "`{package}` holds no device runtime for NVIDIA GPUs"
    );
    Ok(())
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

/// Makes the folder with the runtime of another LLVM and the functions that it lacks, as bitcode and as a
/// library. It lays data out as this LLVM does: what differs from one release to the next is of types that
/// the runtime has not. Links that read older files meanwhile read them to their end.
fn substitute(workspace: &Workspace, staged: &Staged, other: &Path) -> Result<PathBuf> {
    let folder = workspace
        .target
        .join(format!("device-runtime-{}", staged.llvm.major));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let scratch = tempfile::tempdir_in(&workspace.target)?;
    let tool = |name: &str| -> Command {
        let mut tool = tools::tool(staged, name);
        tool.current_dir(scratch.path());
        tool
    };
    run(tool("clang")
        .args([
            "--target=nvptx64-nvidia-cuda",
            "-O2",
            "-nogpulib",
            "-fvisibility=hidden",
        ])
        .args(["-fconvergent-functions", "-emit-llvm", "-c"])
        .arg(workspace.root.join(MISSING))
        .args(["-o", "missing.bc"]))?;
    // What comes first says how data is laid out.
    run(tool("llvm-link")
        .args(["--suppress-warnings", "missing.bc"])
        .arg(other)
        .args(["-o", "runtime.bc"]))?;
    run(tool("llvm-ar").args(["rcs", "libompdevice.a", "runtime.bc"]))?;
    for name in ["runtime.bc", "libompdevice.a"] {
        let place = folder.join(name);
        fs::rename(scratch.path().join(name), &place)
            .with_context(|| format!("cannot write `{}`", place.display()))?;
    }
    Ok(folder)
}

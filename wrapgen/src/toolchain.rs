//! Where the programs are that wrapgen runs: those of the LLVM it was built for, and its own helper.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The folder of LLVM's programs on the machine that built this.
const LLVM_BIN_DIR: &str = env!("OFFLOOM_LLVM_BIN_DIR");

/// The folder of the drop-in names, seen from the folder of an installed `wrapgen`.
const INSTALLED_HELPER_DIR: &str = "../libexec/offloom";

/// Finds a program of this build's LLVM, such as `ld.lld`: where it was at build time, else on `PATH` under
/// its name with the version.
pub fn find_llvm_program(name: &str) -> Option<PathBuf> {
    let built = Path::new(LLVM_BIN_DIR).join(name);
    if built.is_file() {
        return Some(built);
    }
    let versioned = format!("{name}-{}", crate::LLVM.major());
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(&versioned))
        .find(|path| path.is_file())
}

/// As [`find_llvm_program`], for a program that there is no other way without.
///
/// # Errors
/// It is not installed; the message names the Debian package.
pub fn llvm_program(name: &str) -> Result<PathBuf> {
    find_llvm_program(name).ok_or_else(|| {
        let version = crate::LLVM.major();
        let package = match name {
            "ld.lld" => "lld",
            "clang" => "clang",
            "clang-nvlink-wrapper" | "clang-offload-bundler" => "clang-tools",
            _ => "llvm",
        };
        Error::Usage(format!(
            "`{name}` of LLVM {version} is needed and not installed: install the Debian package `{package}-{version}`"
        ))
    })
}

/// The folder of LLVM's libraries.
pub fn llvm_library_dir() -> PathBuf {
    Path::new(LLVM_BIN_DIR).with_file_name("lib")
}

/// The folder of LLVM's libraries for a target, whether it exists or not; as Clang spells it, because
/// `nvlink` notes its options in what it links.
pub fn llvm_target_library_dir(triple: &str) -> PathBuf {
    Path::new(LLVM_BIN_DIR).join("../lib").join(triple)
}

/// Where CUDA is installed where nobody says otherwise.
const CUDA_FOLDERS: [&str; 2] = ["/usr/local/cuda", "/usr/lib/cuda"];

/// Finds a program of CUDA, such as `ptxas`: in the folder of `--cuda-path=`, else on `PATH`, else in the
/// usual places.
///
/// # Errors
/// It is in none of them.
pub fn cuda_program(name: &str, cuda_path: Option<&Path>) -> Result<PathBuf> {
    let given = cuda_path.map(|folder| folder.join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = CUDA_FOLDERS.iter().map(|folder| Path::new(folder).join("bin"));
    given
        .into_iter()
        .chain(env::split_paths(&path))
        .chain(usual)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            Error::Usage(format!(
                "`{name}` of CUDA is needed to link device code for NVIDIA GPUs and was not found: install CUDA, and name \
                 its folder by --cuda-path=<folder>"
            ))
        })
}

/// The program `wrapgen-bitcode`: beside `wrapgen`, or where an installation has it.
///
/// # Errors
/// It is in neither place.
pub fn bitcode_program() -> Result<PathBuf> {
    let folder = program_dir()?;
    helper_program(&folder, "wrapgen-bitcode").ok_or_else(|| {
        Error::Usage(format!(
            "`wrapgen-bitcode`, which handles LLVM IR, is neither in '{0}' nor in '{0}/{INSTALLED_HELPER_DIR}': \
             the installation is incomplete",
            folder.display()
        ))
    })
}

/// LLVM's linker for device images of the host's kind: `wrapgen-lld`, which starts without libLLVM, where it
/// is installed, else `ld.lld`.
pub fn find_device_linker() -> Option<PathBuf> {
    own_device_linker().or_else(|| find_llvm_program("ld.lld"))
}

/// `wrapgen-lld`, if it is installed.
pub fn own_device_linker() -> Option<PathBuf> {
    helper_program(&program_dir().ok()?, "wrapgen-lld")
}

/// A program of our own: beside `wrapgen` in `folder`, or where an installation has it.
fn helper_program(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.to_owned(), folder.join(INSTALLED_HELPER_DIR)]
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// The folder that holds `wrapgen` under the names of the LLVM tools, for `clang -B`.
///
/// # Errors
/// This `wrapgen` is not installed, so there is no such folder.
pub fn dropin_dir() -> Result<PathBuf> {
    let folder = program_dir()?.join(INSTALLED_HELPER_DIR);
    folder.canonicalize().map_err(|_| {
        Error::Usage(format!(
            "there is no folder '{}': this wrapgen is not installed; `cargo xtask build` stages an installation",
            folder.display()
        ))
    })
}

/// The running program itself, links followed.
///
/// # Errors
/// The system does not tell.
pub fn program() -> Result<PathBuf> {
    env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(Error::read(Path::new("/proc/self/exe")))
}

/// The folder of the running program itself, links followed.
pub(crate) fn program_dir() -> Result<PathBuf> {
    let program = program()?;
    Ok(program.parent().unwrap_or(Path::new("/")).to_owned())
}

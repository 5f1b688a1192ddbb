//! Device code of the workloads as a link for the JIT gets it, and the kernels in it.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::build::Staged;
use crate::corpus::program::Source;
use crate::corpus::tools;
use crate::openmp::OpenMp;

/// Compiles a source for the x86_64 device to bitcode. `header` is the folder of the workloads' common
/// header.
pub(crate) fn compile(
    staged: &Staged,
    openmp: &OpenMp,
    header: &Path,
    source: &Source,
    bitcode: &Path,
) -> Result<()> {
    let mut clang = tools::clang(staged, source.is_cxx());
    clang.args(&source.flags).args(openmp.compile_options());
    clang.args([
        "-O3",
        "-foffload-lto=thin",
        "--offload-device-only",
        "-emit-llvm",
        "-c",
        "-I",
    ]);
    clang.arg(header).arg(&source.path);
    tools::output(clang.arg("-o").arg(bitcode))?;
    Ok(())
}

/// The kernels that a module defines. Fails where there is none.
pub(crate) fn kernels(staged: &Staged, module: &Path) -> Result<Vec<String>> {
    let kernels = kernels_if_any(staged, module)?;
    ensure!(!kernels.is_empty(), "no kernel in `{}`", module.display());
    Ok(kernels)
}

/// The kernels that a module defines.
pub(crate) fn kernels_if_any(staged: &Staged, module: &Path) -> Result<Vec<String>> {
    let mut nm = tools::tool(staged, "llvm-nm");
    nm.args(["--defined-only", "--extern-only", "--format=just-symbols"]);
    let symbols = tools::output(nm.arg(module))?;
    let kernels = symbols
        .lines()
        .filter(|name| name.starts_with("__omp_offloading_"));
    Ok(kernels.map(str::to_owned).collect())
}

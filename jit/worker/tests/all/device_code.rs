//! Kernels to compile: those of the workload `fmm`, for a processor on which LLVM leaves its complex numbers
//! scalar (the cost of the vectors is 3 more, of 156 operations). Nothing is run, so the processor need not
//! be there.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const SOURCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../test/workloads/fmm/kernels.cpp"
);

/// The workload's device code.
pub(crate) struct DeviceCode {
    pub(crate) folder: TempDir,
    pub(crate) bitcode: Vec<u8>,
    symbols: String,
}

impl DeviceCode {
    pub(crate) fn compile() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let module = folder.path().join("kernels.bc");
        let options = [
            "-O3",
            "-fopenmp",
            "-fopenmp-targets=x86_64-pc-linux-gnu",
            "-foffload-lto=thin",
            "--offload-device-only",
            "-emit-llvm",
            "-c",
            SOURCE,
            "-o",
        ];
        tool("clang++", &options, &module);
        let symbols = tool("llvm-nm", &["--defined-only", "--format=just-symbols"], &module);
        let bitcode = std::fs::read(&module).expect("the module is there");
        Self {
            folder,
            bitcode,
            symbols,
        }
    }

    /// The kernel with this in its name.
    pub(crate) fn kernel(&self, part: &str) -> &str {
        let named = |name: &&str| name.starts_with("__omp_offloading_") && name.contains(part);
        self.symbols.lines().find(named).expect("the kernel is there")
    }
}

/// What a tool of LLVM prints for a file.
pub(crate) fn tool(name: &str, arguments: &[&str], file: &Path) -> String {
    let arguments = arguments.iter().map(OsStr::new);
    let output = Command::new(Path::new(env!("OFFLOOM_LLVM_BIN_DIR")).join(name))
        .args(arguments)
        .arg(file)
        .output()
        .expect("the tool runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

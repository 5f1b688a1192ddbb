//! Builds a workload in Rust: a library whose kernels are marked, and a `main` that calls its `run`.
//!
//! The steps are those of `docs/user/markers.md`. There is no stock toolchain for them, so "stock" is here:
//! our passes, and LLVM's own tools for the links.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::configuration::Build;
use crate::build::Staged;
use crate::corpus::tools;
use crate::openmp::{DEVICE_TRIPLE, OpenMp};
use crate::workspace::{Workspace, cargo};

/// Why this LLVM cannot build Rust workloads, if it cannot: bitcode of rustc is for the LLVM that rustc is
/// built on.
pub(super) fn not_for_llvm(major: u32) -> Option<String> {
    let said = Command::new("rustc").arg("-vV").output();
    let text = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    let version = text.lines().find_map(|line| line.strip_prefix("LLVM version: "));
    match version {
        Some(version) if version.split('.').next() == Some(&major.to_string()) => None,
        Some(version) => Some(format!("rustc is built on LLVM {version}")),
        None => Some("there is no rustc".to_owned()),
    }
}

/// What all Rust workloads are linked with.
#[derive(Debug)]
pub(super) struct Libraries {
    /// The folder with `liboffloom_launch.rlib`; in `deps` there is what that needs.
    folder: PathBuf,
}

impl Libraries {
    /// Builds them.
    pub(super) fn build(workspace: &Workspace, staged: &Staged) -> Result<Self> {
        let target = workspace.llvm_target(staged.llvm.major);
        let mut command = Command::new(cargo());
        command.current_dir(&workspace.root);
        command.args([
            "build",
            "--quiet",
            "--release",
            "--locked",
            "-p",
            "offloom-launch",
            "--target-dir",
        ]);
        // What it is made of lies beside it then.
        command.arg(&target).env("CARGO_BUILD_BUILD_DIR", &target);
        tools::output(&mut command)?;
        Ok(Self {
            folder: target.join("release"),
        })
    }

    /// The compiler. Device code cannot unwind: without `panic=abort` it would ask for the library that does.
    fn rustc(&self, folder: &Path) -> Command {
        let mut command = Command::new("rustc");
        command.current_dir(folder).args([
            "--edition",
            "2024",
            "-C",
            "opt-level=3",
            "-C",
            "panic=abort",
            "-C",
            "codegen-units=1",
        ]);
        command
            .arg("-L")
            .arg(format!("dependency={}", self.folder.join("deps").display()));
        command
    }
}

/// Builds the program of one source in `scratch` and returns it.
pub(super) fn build(
    staged: &Staged,
    openmp: &OpenMp,
    libraries: &Libraries,
    source: &Path,
    build: Build,
    scratch: &Path,
) -> Result<PathBuf> {
    let run = |mut command: Command| tools::output(command.current_dir(scratch));
    // LLVM's vectorisers come later, when values are known.
    let mut compile = libraries.rustc(scratch);
    compile.args(["-C", "no-vectorize-loops", "-C", "no-vectorize-slp"]);
    compile.args(["-C", "relocation-model=pic", "-A", "dead_code"]);
    compile.args(["--crate-type", "lib", "--crate-name", "program"]);
    compile.args(["--emit=llvm-bc,link", "--extern"]);
    compile.arg(format!(
        "offloom_launch={}",
        libraries.folder.join("liboffloom_launch.rlib").display()
    ));
    compile.arg(source);
    run(compile)?;

    let pass = |passes: &str, output: &str| {
        let mut opt = tools::opt(staged, passes);
        opt.args(["program.bc", "-o", output]);
        run(opt)
    };
    pass("offload-host", "host.bc")?;
    pass("offload-device-module<host-ir=host.bc>", "device.bc")?;
    let is_bitcode = build
        .options()
        .iter()
        .any(|option| option.starts_with("-foffload-lto"));
    if !is_bitcode {
        let mut native = tools::clang(staged, false);
        native.args(build.options());
        native.args(["-O3", "-fPIC", "-c", "device.bc", "-o", "device.o"]);
        run(native)?;
    }
    let device = if is_bitcode { "device.bc" } else { "device.o" };
    let mut pack = Command::new(staged.dist.join("bin/wrapgen"));
    pack.args(["pack", "-o", "images"]);
    pack.arg(format!(
        "--image=file={device},triple={DEVICE_TRIPLE},kind=openmp"
    ));
    run(pack)?;
    let mut host = tools::clang(staged, false);
    host.args([
        "-O3",
        "-c",
        "host.bc",
        "-Xclang",
        "-fembed-offload-object=images",
        "-o",
        "host.o",
    ]);
    run(host)?;

    // Our object stands in for the compiler's.
    let library = "libprogram.rlib";
    let mut list = tools::tool(staged, "llvm-ar");
    list.args(["t", library]);
    for member in run(list)?.lines().filter(|member| member.ends_with(".o")) {
        let mut delete = tools::tool(staged, "llvm-ar");
        delete.args(["d", library, member]);
        run(delete)?;
    }
    let main = scratch.join("main.rs");
    fs::write(&main, "fn main() { program::run() }\n")
        .with_context(|| format!("cannot write `{}`", main.display()))?;
    run(link(staged, openmp, libraries, build, scratch))?;
    Ok(scratch.join("main"))
}

fn link(staged: &Staged, openmp: &OpenMp, libraries: &Libraries, build: Build, scratch: &Path) -> Command {
    let mut command = libraries.rustc(scratch);
    command.args(["--extern", "program=libprogram.rlib", "main.rs", "-C"]);
    command.arg(format!("linker={}", staged.llvm.bin_dir.join("clang").display()));
    // lld, because the object is named after the libraries that it needs.
    let mut options: Vec<_> = [
        "host.o",
        "--offload-link",
        "-fuse-ld=lld",
        "-Wl,-z,nostart-stop-gc",
        "-lomptarget",
    ]
    .map(str::to_owned)
    .into();
    options.extend_from_slice(&openmp.link_options);
    if build.is_ours() {
        options.push(format!("-B{}", staged.dist.join("libexec/offloom").display()));
    }
    if build == Build::Jit {
        options.extend(["-Xoffload-linker", "--jit"].map(str::to_owned));
    }
    for option in options {
        command.arg("-C").arg(format!("link-arg={option}"));
    }
    command
}

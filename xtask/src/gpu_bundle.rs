//! `cargo xtask gpu-bundle`: one archive that runs on a bare machine with a driver for NVIDIA GPUs, by one
//! command, without a network or LLVM: programs that the JIT must run right, and the figures of a GPU.
//!
//! What runs there is `test/gpu-bundle`. `docs/dev/gpu-bundle.md` says how to use it.

mod attempt;
mod libraries;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use offloom_gpu_bundle::pairs;
use offloom_gpu_bundle::plan::{self, Plan, ThreadsKernel};
use offloom_gpu_bundle::results::{self, Results};

use self::programs::Choice;
use crate::bench_launch::build_pairs;
use crate::build::{LlvmBuilds, Staged};
use crate::command::{run, run_shown};
use crate::corpus::tools;
use crate::virtual_gpu::library_folder;
use crate::virtual_gpu_check::Targets;
use crate::workspace::{Workspace, cargo, remove_folder, write_whole};

/// The archive's only folder.
const FOLDER: &str = "offloom-gpu-bundle";

/// The page that a run on a GPU becomes.
const PAGE: &str = "docs/results/gpu.md";

/// The most bytes of an archive.
const MOST_BYTES: u64 = 45_000_000;

/// How it is compressed: machine code is most of it.
const COMPRESSION: [&str; 4] = [
    "--x86",
    "--lzma2=preset=6,dict=128MiB",
    "--check=crc32",
    "--stdout",
];

/// Kernels about threads, which the tests of the virtual GPU run too.
const THREADS: &str = "test/virtual-gpu/executor/tests/data/threads.ptx";

/// The program by which the driver is asked.
const PROBE: &str = "test/gpu-bundle/Inputs/probe.c";

/// Options of `cargo xtask gpu-bundle`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Make `docs/results/gpu.md` of the file that a run has left, and nothing else
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Unpack the archive in a root without LLVM, and run it there on the virtual GPU
    #[arg(long = "try")]
    try_it: bool,
    /// Only a few programs
    #[arg(long)]
    short: bool,
}

/// Runs `cargo xtask gpu-bundle`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if let Some(file) = &arguments.page {
        return write_page(&workspace, file);
    }
    let choice = if arguments.short { Choice::Few } else { Choice::All };
    arguments.builds.check_each(&workspace, |staged| {
        let Some(folder) = lay_out(&workspace, staged, choice)? else {
            return Ok(());
        };
        let archive = pack(staged, &folder)?;
        if arguments.try_it {
            let driver = library_folder(&workspace)?;
            let results = attempt::archive(&workspace, &archive, &driver)?;
            println!("results are in {}", results.display());
        }
        remove_folder(&folder)
    })
}

/// Runs what is in the archive on the GPU that is here, and makes the page of the results.
pub(crate) fn measure_here(workspace: &Workspace, staged: &Staged) -> Result<()> {
    let Some(folder) = lay_out(workspace, staged, Choice::All)? else {
        return Ok(());
    };
    let results = workspace.target.join(results::FILE);
    let ran = run_shown(Command::new(folder.join("run")).arg("--output").arg(&results));
    remove_folder(&folder)?;
    ran?;
    write_page(workspace, &results)
}

/// Makes the page of a run's results.
fn write_page(workspace: &Workspace, file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let results: Results = serde_json::from_str(&text)
        .with_context(|| format!("`{}` is no `{}` of an archive", file.display(), results::FILE))?;
    let page = workspace.root.join(PAGE);
    write_whole(&page, &results.page())?;
    println!("{}", page.display());
    Ok(())
}

/// Fills the archive's folder. None where programs for GPUs cannot be built, which is said.
fn lay_out(workspace: &Workspace, staged: &Staged, choice: Choice) -> Result<Option<PathBuf>> {
    let Some(targets) = Targets::find(workspace, staged)? else {
        return Ok(None);
    };
    let folder = workspace
        .llvm_target(staged.llvm.major)
        .join("gpu-bundle")
        .join(FOLDER);
    remove_folder(&folder)?;
    for name in [
        "bin",
        "lib",
        "libexec/offloom",
        "cuda/bin",
        "cuda/libexec",
        "threads",
        "programs",
        pairs::FOLDER,
    ] {
        make_folder(&folder.join(name))?;
    }
    copy(&runner(workspace)?, &folder.join("run"))?;
    let mut probe = tools::clang(staged, false);
    probe
        .arg("-O1")
        .arg(workspace.root.join(PROBE))
        .arg("-o")
        .arg(folder.join("bin/probe"));
    tools::output(&mut probe)?;
    libraries::collect(staged, &folder.join("lib"))?;
    stripped(
        staged,
        &staged.dist.join("lib/liboffloom_jit.so"),
        &folder.join("lib/liboffloom_jit.so"),
    )?;
    // The staged one has its code twice: as it was linked, and as it is laid out for a quick start.
    let worker = workspace
        .llvm_target(staged.llvm.major)
        .join("release/offloom-jit-worker");
    stripped(
        staged,
        &worker,
        &folder.join("libexec/offloom/offloom-jit-worker"),
    )?;
    for assembler in ["bin/ptxas", "libexec/ptxas"] {
        stripped(
            staged,
            &targets.cuda.join(assembler),
            &folder.join("cuda").join(assembler),
        )?;
    }
    let built = tempfile::tempdir()?;
    let (program, libraries) = build_pairs(workspace, staged, &targets, built.path())?;
    copy(&program, &folder.join(pairs::PROGRAM))?;
    for (from, to) in libraries.iter().zip(pairs::LIBRARIES) {
        copy(from, &folder.join(to))?;
    }
    copy(&workspace.root.join(THREADS), &folder.join("threads/threads.ptx"))?;
    let plan = Plan {
        llvm: staged.llvm.major,
        commit: commit(workspace),
        programs: programs::build(workspace, staged, &targets, &folder.join("programs"), choice)?,
        threads: kernels(&fs::read_to_string(workspace.root.join(THREADS))?),
    };
    write_whole(&folder.join(plan::FILE), &serde_json::to_string_pretty(&plan)?)?;
    write_whole(&folder.join("README"), README)?;
    Ok(Some(folder))
}

/// What the archive says of itself.
const README: &str = "Offloom's programs for NVIDIA GPUs. `./run` runs all on the first GPU, within four minutes, and leaves\n\
    gpu-results.json. It needs the driver (libcuda.so.1) and the C library of Debian 12, Ubuntu 24.04 or later\n\
    (glibc 2.36).\n";

/// The kernels of a file of PTX that a GPU is asked about: all but the first, whose answer has been known.
fn kernels(ptx: &str) -> Vec<ThreadsKernel> {
    let names = ptx
        .lines()
        .filter_map(|line| line.strip_prefix(".visible .entry ")?.split_once('('));
    names
        .skip(1)
        .map(|(name, _)| ThreadsKernel {
            name: name.to_owned(),
        })
        .collect()
}

/// Builds the program that is `run` in the archive, with its C library in it: it starts on any machine, and
/// says what is missing there.
fn runner(workspace: &Workspace) -> Result<PathBuf> {
    let mut build = Command::new(cargo());
    build
        .current_dir(&workspace.root)
        .args(["rustc", "--release", "--locked", "--quiet"]);
    build.args(["-p", "offloom-gpu-bundle", "--bin", "gpu-bundle"]);
    run(build.args(["--", "-C", "target-feature=+crt-static"]))?;
    Ok(workspace.target.join("release/gpu-bundle"))
}

/// The commit of the checkout.
fn commit(workspace: &Workspace) -> String {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root)
        .args(["describe", "--always", "--dirty"]);
    tools::output(&mut git).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Puts all into one file, which appears whole.
fn pack(staged: &Staged, folder: &Path) -> Result<PathBuf> {
    let archive = staged.dist.with_file_name(FOLDER).with_extension("tar.xz");
    let parent = folder.parent().context("the archive's folder is in none")?;
    let scratch = tempfile::tempdir_in(parent)?;
    let beside = scratch.path().join("archive");
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]);
    tar.arg(format!("--use-compress-program=xz {}", COMPRESSION.join(" ")));
    tar.arg("--file")
        .arg(&beside)
        .arg("--directory")
        .arg(parent)
        .arg(FOLDER);
    run_shown(&mut tar)?;
    let bytes = fs::metadata(&beside)?.len();
    ensure!(
        bytes <= MOST_BYTES,
        "the archive has {bytes} bytes, at most {MOST_BYTES} are wanted"
    );
    fs::rename(&beside, &archive).with_context(|| format!("cannot write `{}`", archive.display()))?;
    println!("{}: {bytes} bytes", archive.display());
    Ok(archive)
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make folder `{}`", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy `{}` to `{}`", from.display(), to.display()))?;
    Ok(())
}

/// Copies machine code without what only linkers and debuggers read.
fn stripped(staged: &Staged, from: &Path, to: &Path) -> Result<()> {
    copy(from, to)?;
    let mut strip = tools::tool(staged, "llvm-strip");
    tools::output(strip.arg("--strip-all").arg(to))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_wait_for_an_answer_are_found() -> Result<()> {
        let ptx = fs::read_to_string(Workspace::find()?.root.join(THREADS))?;
        let names: Vec<_> = kernels(&ptx).into_iter().map(|kernel| kernel.name).collect();
        assert_eq!(names.len(), 21, "{names:?}");
        assert_eq!(names[0], "one_lane_named_barrier");
        Ok(())
    }
}

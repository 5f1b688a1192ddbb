//! `cargo xtask ptx`: makes all the PTX that matters here, has the virtual GPU's parser read it, and compares
//! the opcodes in it with the list that the tests of the virtual GPU use.
//!
//! The PTX is that of the corpus, the demo and the workloads at `-O0` and `-O3`, in cubins that carry it, as
//! Clang makes them with a device runtime; of that runtime whole, where it is of the same LLVM; and of all of
//! libdevice. It is left in `target/ptx/llvm-N`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use offloom_find_llvm::Llvm;

use crate::command::run_shown;
use crate::corpus::program::{self, Source, WORKLOADS};
use crate::corpus::{tools, workers};
use crate::cuda;
use crate::llvm::Choice;
use crate::openmp::OpenMp;
use crate::virtual_gpu_check::runtime;
use crate::workspace::{Workspace, cargo};

/// The list of opcodes, from the root of the checkout.
const LIST: &str = "test/virtual-gpu/ptx/opcodes.txt";

/// Kernels about threads, written by hand, from the root of the checkout.
const THREADS: &str = "test/virtual-gpu/executor/tests/data/threads.ptx";

/// What the runtime is called for, so that the rest of it, which LLVM 19 cannot compile, goes.
const RUNTIME_FUNCTIONS: &str = "__kmpc_*,omp_*,__omp*,__llvm*,__tgt*,_mlir*";

/// A function of libdevice that LLVM 19 knows no instruction for.
const TOO_NEW: &str = "__nv_fast_tanhf";

/// The processor to compile for.
const PROCESSOR: &str = "sm_80";

/// Options of `cargo xtask ptx`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    llvm: Choice,
    /// Write the list of opcodes instead of comparing with it. Takes both LLVMs
    #[arg(long)]
    write: bool,
}

/// Runs `cargo xtask ptx`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    run_shown(Command::new(cargo()).current_dir(&workspace.root).args([
        "build",
        "--release",
        "--locked",
        "-p",
        "offloom-ptx",
    ]))?;
    let mut files = Vec::new();
    for llvm in arguments.llvm.find()? {
        files.extend(make(&workspace, &llvm)?);
    }
    ensure!(!files.is_empty(), "Clang made no PTX");
    files.push(workspace.root.join(THREADS));
    let reader = workspace.target.join("release/offloom-ptx");
    let found = tools::output(Command::new(reader).arg("opcodes").args(&files))?;
    println!("{} files, {} opcodes", files.len(), found.lines().count());

    let list = workspace.root.join(LIST);
    if arguments.write {
        ensure!(
            arguments.llvm.majors().len() > 1,
            "`--write` needs the PTX of both LLVMs: leave `--llvm` out"
        );
        return fs::write(&list, found).with_context(|| format!("cannot write `{}`", list.display()));
    }
    let known = fs::read_to_string(&list).with_context(|| format!("cannot read `{}`", list.display()))?;
    let new: Vec<_> = found
        .lines()
        .filter(|opcode| !known.lines().any(|line| line == *opcode))
        .collect();
    ensure!(
        new.is_empty(),
        "opcodes that are not in `{LIST}`: {}; `cargo xtask ptx --write` adds them",
        new.join(" ")
    );
    Ok(())
}

/// Makes the PTX of one LLVM. Returns the files.
fn make(workspace: &Workspace, llvm: &Llvm) -> Result<Vec<PathBuf>> {
    let folder = workspace.target.join("ptx").join(format!("llvm-{}", llvm.major));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let cuda = cuda::folder(workspace, llvm.major)?;
    let cuda = cuda.context("CUDA's tools are not there: `cargo xtask setup` installs them")?;
    let (runtime, is_own) = runtime::bitcode(workspace, llvm)?
        .context("no package that is installed holds a device runtime for NVIDIA GPUs")?;
    let openmp = OpenMp::prepare(workspace, llvm)?;

    let mut sources = program::sources(&workspace.root)?;
    for workload in program::programs_in(&workspace.root.join(WORKLOADS))? {
        sources.extend(workload.sources);
    }
    // What is not for GPUs fails, and is told: what Clang can compile is read.
    sources.retain(|source| source.not_for_llvm(llvm.major).is_none());
    let compiles: Vec<_> = sources
        .iter()
        .flat_map(|source| ["-O0", "-O3"].map(|level| (source, level)))
        .collect();
    let compile = |&(source, level): &(&Source, &str)| {
        let output = folder.join(format!("{}{level}.cubin", source.name.replace('/', "-")));
        let mut clang = Command::new(
            llvm.bin_dir
                .join(if source.is_cxx() { "clang++" } else { "clang" }),
        );
        clang.args([
            "-w",
            "-c",
            level,
            "-fopenmp",
            "-fopenmp-targets=nvptx64",
            "--offload-device-only",
        ]);
        clang.arg(format!("--offload-arch={PROCESSOR}"));
        clang.arg(format!("--cuda-path={}", cuda.display()));
        clang.arg(format!("--libomptarget-nvptx-bc-path={}", runtime.display()));
        clang.args(&openmp.include_options).args(&source.flags).arg("-I");
        clang.arg(workspace.root.join(WORKLOADS).join("common"));
        let made = tools::output(clang.arg("-o").arg(&output).arg(&source.path));
        made.map(|_| output)
    };
    let mut files = Vec::new();
    let mut failed = Vec::new();
    workers::for_each("PTX", &compiles, compile, |(source, level), made| match made {
        Ok(file) => files.push(file),
        Err(_) => failed.push(format!("{}{level}", source.name)),
    })?;
    failed.sort();
    println!(
        "LLVM {} cannot compile for nvptx64: {}",
        llvm.major,
        failed.join(" ")
    );

    if is_own {
        files.push(whole(
            llvm,
            &runtime,
            RUNTIME_FUNCTIONS,
            &folder.join("device-runtime"),
        )?);
    }
    let libdevice = cuda.join("nvvm/libdevice/libdevice.10.bc");
    let functions = functions(llvm, &libdevice)?;
    files.push(whole(llvm, &libdevice, &functions, &folder.join("libdevice"))?);
    files.sort();
    Ok(files)
}

/// The functions of a library of bitcode, as a list with commas.
fn functions(llvm: &Llvm, library: &Path) -> Result<String> {
    let mut nm = Command::new(llvm.bin_dir.join("llvm-nm"));
    let functions = tools::output(nm.args(["--defined-only", "--format=just-symbols"]).arg(library))?;
    let kept = functions
        .lines()
        .filter(|name| llvm.major != 19 || *name != TOO_NEW);
    Ok(kept.collect::<Vec<_>>().join(","))
}

/// Compiles those functions of a library of bitcode to PTX.
fn whole(llvm: &Llvm, library: &Path, functions: &str, output: &Path) -> Result<PathBuf> {
    let bitcode = output.with_extension("bc");
    let mut opt = Command::new(llvm.bin_dir.join("opt"));
    opt.arg("-passes=internalize,globaldce");
    opt.arg(format!("-internalize-public-api-list={functions}"));
    tools::output(opt.arg(library).arg("-o").arg(&bitcode))?;
    let ptx = output.with_extension("ptx");
    let mut llc = Command::new(llvm.bin_dir.join("llc"));
    llc.args(["-mtriple=nvptx64-nvidia-cuda", "-mcpu", PROCESSOR])
        .arg(&bitcode);
    tools::output(llc.arg("-o").arg(&ptx))?;
    Ok(ptx)
}

//! The command line: one subcommand for each task. To add a task: a module of its own, and a row in `Task`
//! and in `run`.

use anyhow::Result;

use crate::{
    bench, bench_jit_passes, bench_launch, bench_link, bench_passes, build, corpus, cuda, demo, dist, fuzz,
    gpu_bundle, gpu_instructions, jit_check, lint, lit, matrix, ptx, setup, specialize_check, test,
    virtual_gpu, virtual_gpu_check,
};

/// Tasks of the Offloom project.
#[derive(clap::Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// One task.
#[derive(clap::Subcommand, Debug)]
enum Task {
    /// Install the Debian packages that are missing
    Setup(setup::Arguments),
    /// Print the CUDA folder for Clang's `--cuda-path`, with whose tools images carry their PTX
    CudaFolder(cuda::Arguments),
    /// Build everything and stage what a user would install in `dist/llvm-N`
    Build(build::BuildArgs),
    /// Formatting, clippy, documentation
    Lint(lint::Arguments),
    /// Build, then run the lit tests
    Lit(lit::Arguments),
    /// Debian packages and a tarball for each LLVM in `dist/packages`, installed and tried
    Dist(dist::Arguments),
    /// Everything that must hold before a change is good: set-up, lint, Rust tests, build, lit
    Test(build::LlvmBuilds),
    /// The passes over the corpus: compared with what Clang makes, run on the device; random modules
    Corpus(corpus::Arguments),
    /// Programs in every form of link, through wrapgen and through LLVM's wrapper, run on the device
    Matrix(matrix::Arguments),
    /// Programs with the JIT in every mode of it, compared with stock builds, run on the device
    JitCheck(jit_check::Arguments),
    /// Run a program on the virtual GPU, which executes PTX on the processor: `-- PROGRAM ARGUMENTS`
    VirtualGpu(virtual_gpu::Arguments),
    /// Run a program with what stands in for AMD's runtime, and executes nothing: `-- PROGRAM ARGUMENTS`
    VirtualHsa(virtual_gpu::Arguments),
    /// Programs for NVIDIA GPUs, built by LLVM's tools and by ours, on the virtual GPU
    VirtualGpuCheck(virtual_gpu_check::Arguments),
    /// Instructions that kernels of the workloads execute on the virtual GPU, with the JIT and without
    GpuInstructions(gpu_instructions::Arguments),
    /// One archive that runs on a bare machine with an NVIDIA GPU; and the page of what it found
    GpuBundle(gpu_bundle::Arguments),
    /// The workloads for AMD GPUs, linked for the JIT, with a stand-in for AMD's runtime: nothing is executed
    AmdCheck(virtual_gpu::hsa::check::Arguments),
    /// Random kernels, specialised to random launches, give the bits that they give as they are
    SpecializeCheck(specialize_check::Arguments),
    /// The workloads in every form against the stock build, or a program of your own with and without the JIT
    Bench(bench::Arguments),
    /// What compiling each kernel of the workloads takes, pass by pass, alone and with the rest of its module
    BenchJitPasses(bench_jit_passes::Arguments),
    /// What the JIT adds to launches, to the start of a program and to the first launch of a kernel
    BenchLaunch(bench_launch::Arguments),
    /// What links with device code take, beside LLVM's linker wrapper and the host link alone
    BenchLink(bench_link::Arguments),
    /// How long the passes take on a large module, beside LLVM's own work on it
    BenchPasses(bench_passes::Arguments),
    /// The fuzz targets of every parser, for minutes instead of the fixed number of inputs of a test run
    Fuzz(fuzz::Arguments),
    /// The PTX of all programs, the device runtime and libdevice, read by the virtual GPU's parser; its list
    /// of opcodes
    Ptx(ptx::Arguments),
    /// The ZAXPY program from source to a region on the device, by the stock tools and by ours; and what the
    /// JIT gains
    Demo(build::LlvmBuilds),
}

impl Arguments {
    /// Does the task.
    pub(crate) fn run(&self) -> Result<()> {
        match &self.task {
            Task::Setup(arguments) => setup::run(arguments),
            Task::CudaFolder(arguments) => cuda::print_folder(arguments),
            Task::Build(arguments) => build::run(arguments),
            Task::Lint(arguments) => lint::run(arguments),
            Task::Lit(arguments) => lit::run(arguments),
            Task::Dist(arguments) => dist::run(arguments),
            Task::Test(arguments) => test::run(arguments),
            Task::Corpus(arguments) => corpus::run(arguments),
            Task::Matrix(arguments) => matrix::run(arguments),
            Task::JitCheck(arguments) => jit_check::run(arguments),
            Task::VirtualGpu(arguments) => virtual_gpu::run_program(arguments),
            Task::VirtualHsa(arguments) => virtual_gpu::hsa::run_program(arguments),
            Task::GpuInstructions(arguments) => gpu_instructions::run(arguments),
            Task::GpuBundle(arguments) => gpu_bundle::run_task(arguments),
            Task::VirtualGpuCheck(arguments) => virtual_gpu_check::run(arguments),
            Task::AmdCheck(arguments) => virtual_gpu::hsa::check::run(arguments),
            Task::SpecializeCheck(arguments) => specialize_check::run(arguments),
            Task::Bench(arguments) => bench::run(arguments),
            Task::BenchJitPasses(arguments) => bench_jit_passes::run(arguments),
            Task::BenchLaunch(arguments) => bench_launch::run(arguments),
            Task::BenchLink(arguments) => bench_link::run(arguments),
            Task::BenchPasses(arguments) => bench_passes::run(arguments),
            Task::Fuzz(arguments) => fuzz::run(arguments),
            Task::Ptx(arguments) => ptx::run(arguments),
            Task::Demo(arguments) => demo::run(arguments),
        }
    }
}

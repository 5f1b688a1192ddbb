//! `cargo xtask bench-jit-passes`: what compiling takes, pass by pass, for each kernel of the workloads: of
//! the kernel alone, as the JIT does it, and of the whole module that it is stored in.
//!
//! `opt` and `llc` do what the JIT's worker does to the code that a link stores, and report LLVM's own
//! figures. Processor time is compared, because it says the same on a machine that does other work as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::build::{LlvmBuilds, Staged};
use crate::corpus::device_code;
use crate::corpus::program::{self, Program, WORKLOADS};
use crate::corpus::tools;
use crate::figures::Figures;
use crate::names::is_wanted;
use crate::openmp::OpenMp;
use crate::pass_times::PassTimes;
use crate::workspace::Workspace;

/// Options of `cargo xtask bench-jit-passes`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Only workloads whose name has this in it
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Repetitions
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
}

/// From the merged device code of a program to what a link stores for variants.
const STORE: &str = "internalize,globaldce,offload-match-bits";

/// What the worker does to that, after it was cut down to a kernel, and before LLVM's passes.
const PREPARE: &str = "offload-retarget<cpu=native>";

/// LLVM's passes in the worker.
const COMPILE: &str = "lto<O3>";

/// Passes with less than this part of the time are not listed.
const LEAST_PART: f64 = 0.02;

/// Runs `cargo xtask bench-jit-passes`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.for_each(&workspace, |staged| {
        let openmp = OpenMp::prepare(&workspace, &staged.llvm)?;
        let folder = workspace.llvm_target(staged.llvm.major).join("bench-jit-passes");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        let root = workspace.root.join(WORKLOADS);
        let mut programs = program::programs_in(&root)?;
        programs.retain(|program| is_wanted(&program.name, &arguments.only));
        ensure!(
            !programs.is_empty(),
            "no workload of that name in `{}`",
            root.display()
        );
        let bench = Bench {
            staged,
            openmp: &openmp,
            header: &root.join("common"),
            folder: &folder,
        };
        bench.run(&programs, arguments.repetitions)
    })
}

struct Bench<'a> {
    staged: &'a Staged,
    openmp: &'a OpenMp,
    /// The folder of the workloads' common header.
    header: &'a Path,
    folder: &'a Path,
}

/// Milliseconds that a compile took.
#[derive(Debug, Clone, Default)]
struct Times {
    /// In LLVM's passes and their analyses.
    optimize: f64,
    /// In the code generator.
    generate: f64,
    /// By the pass's name; those of the code generator together.
    passes: BTreeMap<String, f64>,
}

impl Bench<'_> {
    fn run(&self, programs: &[Program], repetitions: u32) -> Result<()> {
        println!(
            "LLVM {}, milliseconds of processor time, median of {repetitions}:\n",
            self.staged.llvm.major
        );
        println!(
            "| workload | kernels | module: optimise | module: generate code | kernel: optimise | kernel: generate code | kernel to module |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        let mut passes: BTreeMap<String, f64> = BTreeMap::new();
        for program in programs
            .iter()
            .filter(|program| program.is_for_llvm(self.staged.llvm.major))
        {
            let module = self.stored(program)?;
            let kernels = device_code::kernels(self.staged, &module)?;
            let whole = self.measure(&module, PREPARE, repetitions)?;
            let mut alone = Times::default();
            for kernel in &kernels {
                let pipeline = format!("offload-prune<kernel={kernel}>,{PREPARE}");
                let times = self.measure(&module, &pipeline, repetitions)?;
                alone.optimize += times.optimize / kernels.len() as f64;
                alone.generate += times.generate / kernels.len() as f64;
                for (pass, time) in times.passes {
                    *passes.entry(pass).or_default() += time;
                }
            }
            println!(
                "| {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.2} |",
                program.name,
                kernels.len(),
                whole.optimize,
                whole.generate,
                alone.optimize,
                alone.generate,
                (alone.optimize + alone.generate) / (whole.optimize + whole.generate)
            );
        }
        print_parts(&passes);
        Ok(())
    }

    /// The program's device code as a link stores it.
    fn stored(&self, program: &Program) -> Result<PathBuf> {
        let file = |name: &str| self.folder.join(format!("{}{name}.bc", program.name));
        let merged = file("-merged");
        let mut merge = tools::tool(self.staged, "llvm-link");
        for (number, source) in program.sources.iter().enumerate() {
            let part = file(&format!("-{number}"));
            device_code::compile(self.staged, self.openmp, self.header, source, &part)?;
            merge.arg(part);
        }
        tools::output(merge.arg("-o").arg(&merged))?;
        let stored = file("");
        let mut opt = tools::opt(self.staged, STORE);
        let kernels = device_code::kernels(self.staged, &merged)?.join(",");
        opt.arg(format!("-internalize-public-api-list={kernels}"));
        tools::output(opt.arg(&merged).arg("-o").arg(&stored))?;
        Ok(stored)
    }

    /// Prepares the module by these passes, compiles it and takes the median of each time.
    fn measure(&self, module: &Path, passes: &str, repetitions: u32) -> Result<Times> {
        let prepared = self.folder.join("prepared.bc");
        let mut opt = tools::opt(self.staged, passes);
        tools::output(opt.arg(module).arg("-o").arg(&prepared))?;
        let mut runs = Vec::new();
        for _ in 0..repetitions {
            runs.push(self.compile(&prepared)?);
        }
        let median = |of: &dyn Fn(&Times) -> f64| Figures::of(runs.iter().map(of).collect()).median;
        let names = runs.iter().flat_map(|times| times.passes.keys());
        Ok(Times {
            optimize: median(&|times| times.optimize),
            generate: median(&|times| times.generate),
            passes: names
                .map(|name| {
                    (
                        name.clone(),
                        median(&|times| times.passes.get(name).copied().unwrap_or_default()),
                    )
                })
                .collect(),
        })
    }

    fn compile(&self, module: &Path) -> Result<Times> {
        let optimized = self.folder.join("optimized.bc");
        let mut opt = tools::tool(self.staged, "opt");
        opt.arg(format!("-passes={COMPILE}"));
        opt.args([
            tools::VARIANT_SWITCH,
            tools::WITHOUT_OPENMP_OPT,
            "-disable-verify",
        ]);
        opt.arg(module).arg("-o").arg(&optimized);
        let optimize = self.times(&mut opt)?;
        let mut llc = tools::tool(self.staged, "llc");
        llc.args(["-O3", "-relocation-model=pic", "-filetype=obj", "-disable-verify"]);
        llc.arg(&optimized).arg("-o").arg(self.folder.join("optimized.o"));
        let generate = self.times(&mut llc)?;
        let mut times = Times::default();
        for row in optimize.rows() {
            let is_done = matches!(row.table.as_str(), "Pass execution" | "Analysis execution");
            // Writing bitcode is no part of it.
            if is_done && !matches!(row.name.as_str(), "Total" | "BitcodeWriterPass") {
                times.optimize += row.seconds * 1e3;
                *times.passes.entry(row.name.clone()).or_default() += row.seconds * 1e3;
            }
        }
        times.generate = generate.seconds(|row| row.table == "Pass execution" && row.name == "Total") * 1e3;
        times.passes.insert("code generator".to_owned(), times.generate);
        Ok(times)
    }

    fn times(&self, command: &mut std::process::Command) -> Result<PassTimes> {
        let report = self.folder.join("report.txt");
        command
            .arg("-time-passes")
            .arg(format!("-info-output-file={}", report.display()));
        // The tools append.
        if report.exists() {
            fs::remove_file(&report).with_context(|| format!("cannot remove `{}`", report.display()))?;
        }
        tools::output(command)?;
        let text =
            fs::read_to_string(&report).with_context(|| format!("cannot read `{}`", report.display()))?;
        let times = PassTimes::read(&text);
        ensure!(!times.rows().is_empty(), "no times in `{}`", report.display());
        Ok(times)
    }
}

/// Prints what part of the time of all kernels each pass has.
fn print_parts(passes: &BTreeMap<String, f64>) {
    let all: f64 = passes.values().sum();
    let mut parts: Vec<_> = passes.iter().map(|(name, time)| (name, time / all)).collect();
    parts.sort_by(|(_, first), (_, second)| second.total_cmp(first));
    println!("\nOf the time of all kernels:\n\n| pass | part |\n| --- | --- |");
    for (name, part) in parts.into_iter().filter(|(_, part)| *part >= LEAST_PART) {
        println!("| {name} | {:.0} % |", part * 1e2);
    }
}

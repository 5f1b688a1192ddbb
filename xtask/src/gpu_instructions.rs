//! `cargo xtask gpu-instructions`: instructions that kernels of the workloads execute on the virtual GPU, as
//! they are linked and with the JIT.
//!
//! This is no time: it says how much less there is to do, not how fast a GPU does it. Programs are small.
//! What is printed is compared too. Registers and local memory are those that `ptxas` wrote into the cubins.

mod occupancy;
mod resources;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use offloom_gpu_bundle::results::geometric_mean;

use self::occupancy::{Multiprocessor, SM_70, SM_80, SM_90};
use self::resources::Pair;
use crate::bench::workload::gpu_sizes;
use crate::build::{LlvmBuilds, Staged};
use crate::corpus::program::WORKLOADS;
use crate::corpus::workers;
use crate::llvm;
use crate::matrix;
use crate::matrix::builds::{Builds, Device, Subject, Variant};
use crate::names::is_wanted;
use crate::openmp::OpenMp;
use crate::virtual_gpu_check::{Targets, runtime};
use crate::workspace::{Workspace, write_whole};

/// The page, from the root of the checkout.
const PAGE: &str = "gpu-instructions.md";

/// The processor whose instructions are counted: that of [`Targets::one`] without a real GPU.
const COUNTED: Multiprocessor = SM_80;

/// Processors whose code is looked at besides: older and newer.
const OTHERS: [Multiprocessor; 2] = [SM_70, SM_90];

/// Of a run, in the folder of its program.
const CACHE: &str = "variants";
const STATISTICS: &str = "statistics";

/// What the names of variants end in.
const VARIANT: &str = "$jit";

/// Options of `cargo xtask gpu-instructions`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Only workloads whose name contains one of these, without writing the page. Default: all
    workloads: Vec<String>,
}

/// Runs `cargo xtask gpu-instructions`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.check_each(&workspace, |staged| {
        count(&workspace, staged, &arguments.workloads)
    })
}

/// What the launches of a kernel have executed.
#[derive(Debug, Default, Clone, Copy)]
struct Executed {
    launches: u64,
    /// Instructions of warps.
    instructions: u64,
    /// The sum of the most that one warp of each launch has executed.
    longest: u64,
}

impl Executed {
    /// How many of these there are a launch; none without launches.
    fn a_launch(self, count: impl Fn(Self) -> u64) -> Option<f64> {
        (self.launches > 0).then(|| count(self) as f64 / self.launches as f64)
    }
}

/// One kernel, as it is linked and with the JIT.
#[derive(Debug)]
struct Row {
    workload: String,
    /// How many files the workload is compiled from.
    files: usize,
    kernel: String,
    base: Executed,
    /// Launches of variants alone.
    variants: Executed,
    /// Launches with the JIT that ran ahead-of-time code.
    ahead_of_time: Executed,
    /// At its GPU size, the same of ahead-of-time code and of variants, where variants execute more here.
    at_gpu_size: Option<[Executed; 2]>,
    /// For the processor that counted.
    code: Code,
    /// For the others, in their order.
    other_code: Vec<Code>,
}

/// What the machine code of a kernel is for one processor.
#[derive(Debug, Default, Clone, Copy)]
struct Code {
    /// What it needs, if there is a variant.
    needs: Option<Pair>,
    /// Its bytes, of the ahead-of-time code and of the variant.
    bytes: [Option<u64>; 2],
}

impl Row {
    /// Whether the variant executes more and lets fewer warps run at a time: it cannot be worth anything.
    fn loses(&self) -> bool {
        let has_fewer_warps = self
            .code
            .needs
            .is_some_and(|pair| pair.variant.warps < pair.ahead_of_time.warps);
        has_fewer_warps && self.ratio().is_some_and(|ratio| ratio < 1.0)
    }

    /// Whether the variant executes more, as the page shows it.
    fn executes_more(&self) -> bool {
        self.ratio().is_some_and(|ratio| ratio < 0.995)
    }

    /// How many times fewer instructions a launch of a variant takes; nothing without variants.
    fn ratio(&self) -> Option<f64> {
        self.ratio_of(|executed| executed.instructions)
    }

    /// How many times fewer its longest warp takes.
    fn ratio_of_longest(&self) -> Option<f64> {
        self.ratio_of(|executed| executed.longest)
    }

    /// A table's line as far as all processors have it: what its code needs, and its bytes.
    fn cells(&self, pair: Pair, bytes: [Option<u64>; 2]) -> String {
        let Pair {
            ahead_of_time,
            variant,
            ..
        } = pair;
        format!(
            "| {} | `{}` | {}, {} | {}, {} | {}, {} | {}, {} |",
            self.workload,
            crate::names::short_kernel(&self.kernel),
            ahead_of_time.registers,
            variant.registers,
            ahead_of_time.local_bytes,
            variant.local_bytes,
            shown(ahead_of_time.warps.map(u64::from)),
            shown(variant.warps.map(u64::from)),
            shown(bytes[0]),
            shown(bytes[1]),
        )
    }

    fn ratio_of(&self, count: impl Fn(Executed) -> u64) -> Option<f64> {
        Some(self.base.a_launch(&count)? / self.variants.a_launch(&count)?)
    }
}

/// Counts with one LLVM; what was counted of all workloads becomes the page.
pub(crate) fn count(workspace: &Workspace, staged: &Staged, only: &[String]) -> Result<()> {
    let major = staged.llvm.major;
    let Some(targets) = Targets::find(workspace, staged)? else {
        return Ok(());
    };
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let mut subjects = matrix::subjects(workspace, major)?;
    let workloads = workspace.root.join(WORKLOADS);
    subjects.retain(|subject| {
        let sources = &subject.program.sources;
        is_wanted(&subject.program.name, only)
            && sources.iter().all(|source| source.path.starts_with(&workloads))
    });
    let others = others(&targets)?;
    let gpu_sizes = gpu_sizes(&workspace.root)?;
    let (mut rows, mut without) = (Vec::new(), Vec::new());
    let subjects: Vec<_> = subjects.iter().collect();
    workers::for_each(
        "workloads on the virtual GPU",
        &subjects,
        |subject| count_one(staged, &openmp, subject, &targets, &others, &gpu_sizes),
        |subject, counted| match counted {
            Ok(counted) => rows.extend(counted),
            Err(error) => without.push(format!("{}: {error:#}", subject.program.name)),
        },
    )?;
    rows.sort_by(|one, other| (&one.workload, &one.kernel).cmp(&(&other.workload, &other.kernel)));
    without.sort();
    let mut text = page(&rows, &without, major, &gpu_sizes, &others);
    if let Some((_, false)) = runtime::bitcode(workspace, &staged.llvm)? {
        let other = llvm::version(major)?.gpu_runtime;
        let _ = write!(
            text,
            "\nThe device runtime is that of LLVM {other}: Debian has none of LLVM {major}.\n"
        );
    }
    print!("{text}");
    ensure!(
        rows.iter().any(|row| row.ratio().is_some()),
        "LLVM {major}: no launch ran a variant"
    );
    if only.is_empty() {
        let folder = workspace.root.join(format!("docs/results/llvm-{major}"));
        write_whole(&folder.join(PAGE), &text)?;
    }
    Ok(())
}

fn count_one(
    staged: &Staged,
    openmp: &OpenMp,
    subject: &Subject,
    targets: &Targets,
    others: &[Multiprocessor],
    gpu_sizes: &[(String, Vec<String>)],
) -> Result<Vec<Row>> {
    let program = Program::build(staged, openmp, subject, targets, &targets.one)?;
    let (expected, base) = program.run("base", "off", &[])?;
    let (printed, with_jit) = program.run("jit", "sync", &[])?;
    ensure!(
        printed == expected,
        "with the JIT it prints\n{printed}instead of\n{expected}"
    );
    let code = program.code(COUNTED)?;
    let mut other_code = Vec::new();
    for other in others {
        let device = targets.one_other(other.processor);
        let program = Program::build(staged, openmp, subject, targets, &device)?;
        let (printed, _) = program.run("jit", "sync", &[]).context(other.processor)?;
        ensure!(
            printed == expected,
            "with the JIT it prints for {}\n{printed}instead of\n{expected}",
            other.processor
        );
        other_code.push(program.code(*other)?);
    }
    let rows = base.into_iter().map(|(kernel, base)| {
        let of = |name: &str| with_jit.get(name).copied().unwrap_or_default();
        let code_of = |code: &BTreeMap<String, Code>| code.get(&kernel).copied().unwrap_or_default();
        Row {
            workload: subject.program.name.clone(),
            files: subject.program.sources.len(),
            variants: of(&format!("{kernel}{VARIANT}")),
            ahead_of_time: of(&kernel),
            at_gpu_size: None,
            code: code_of(&code),
            other_code: other_code.iter().map(code_of).collect(),
            kernel,
            base,
        }
    });
    let mut rows: Vec<_> = rows.collect();
    let size = gpu_sizes.iter().find(|(name, _)| *name == subject.program.name);
    if let (true, Some((_, arguments))) = (rows.iter().any(Row::executes_more), size) {
        let once = |argument: &String| match argument.starts_with("launches=") {
            // What counts is what one executes.
            true => "launches=1".to_owned(),
            false => argument.clone(),
        };
        let arguments: Vec<_> = arguments.iter().map(once).collect();
        // Large sizes may take the virtual GPU too long. Then the page has none.
        let (Ok((expected, base)), Ok((printed, with_jit))) = (
            program.run("large-base", "off", &arguments),
            program.run("large-jit", "sync", &arguments),
        ) else {
            return Ok(rows);
        };
        ensure!(
            printed == expected,
            "with the JIT it prints something else at its GPU size"
        );
        for row in rows.iter_mut().filter(|row| row.executes_more()) {
            let of = |counted: &BTreeMap<String, Executed>, name: &str| counted.get(name).copied();
            let variants = of(&with_jit, &format!("{}{VARIANT}", row.kernel));
            row.at_gpu_size = of(&base, &row.kernel).zip(variants).map(Into::into);
        }
    }
    Ok(rows)
}

/// A workload, linked for one GPU with the JIT.
struct Program<'a> {
    builds: Builds<'a>,
    staged: &'a Staged,
    assembler: String,
}

impl<'a> Program<'a> {
    fn build(
        staged: &'a Staged,
        openmp: &'a OpenMp,
        subject: &'a Subject,
        targets: &Targets,
        device: &'a Device,
    ) -> Result<Self> {
        let builds = Builds::begin_for(staged, openmp, subject, Variant::O3, Some(device))?;
        builds
            .ours
            .link_for_jit(&["-foffload-lto", "-Xoffload-linker", "--jit"])?;
        Ok(Self {
            builds,
            staged,
            assembler: targets.cuda.join("bin/ptxas").display().to_string(),
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.builds.ours.folder().join(name)
    }

    /// What a run prints, and what its kernels have executed.
    fn run(
        &self,
        name: &str,
        mode: &str,
        arguments: &[String],
    ) -> Result<(String, BTreeMap<String, Executed>)> {
        let [counts, cache, statistics] =
            [name, CACHE, STATISTICS].map(|name| self.file(name).display().to_string());
        let environment = [
            ("OFFLOOM_JIT", mode),
            ("OFFLOOM_JIT_RETIRE", "0"),
            ("OFFLOOM_JIT_PTXAS", &self.assembler),
            ("OFFLOOM_JIT_CACHE_DIR", &cache),
            ("OFFLOOM_JIT_STATS", &statistics),
            ("OFFLOOM_VIRTUAL_GPU_COUNTS", &counts),
        ];
        let printed = self.builds.ours.run_with(&environment, arguments)?;
        Ok((printed, executed(Path::new(&counts))?))
    }

    /// The code of each kernel, after a run with variants.
    fn code(&self, multiprocessor: Multiprocessor) -> Result<BTreeMap<String, Code>> {
        let mut needs = resources::of_kernels(&self.file(STATISTICS), multiprocessor)?;
        let of_base = resources::code_bytes(self.staged, &self.file("program"))?;
        let cache = self.file(CACHE);
        let of_variants = if cache.is_dir() {
            resources::code_bytes(self.staged, &cache)?
        } else {
            BTreeMap::new()
        };
        let code = of_base.into_iter().map(|(kernel, base)| {
            let variant = of_variants.get(&format!("{kernel}{VARIANT}")).copied();
            let code = Code {
                needs: needs.remove(&kernel),
                bytes: [Some(base), variant],
            };
            (kernel, code)
        });
        Ok(code.collect())
    }
}

/// For each workload of one file the geometric mean of what its kernels have.
fn of_workloads(rows: &[Row], ratio: fn(&Row) -> Option<f64>) -> Vec<f64> {
    let mut workloads = BTreeMap::<&str, Vec<f64>>::new();
    for row in rows.iter().filter(|row| row.files == 1) {
        workloads.entry(&row.workload).or_default().extend(ratio(row));
    }
    workloads
        .values()
        .filter_map(|ratios| geometric_mean(ratios))
        .collect()
}

/// Kernels whose variants execute more at small sizes, at the sizes that a GPU is for.
fn large_table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let counts = row.at_gpu_size.and_then(|counts| {
            Some([
                counts[0].a_launch(INSTRUCTIONS)?,
                counts[1].a_launch(INSTRUCTIONS)?,
            ])
        });
        if let Some([base, variant]) = counts {
            let _ = writeln!(
                text,
                "| {} | `{}` | {base:.0}, {variant:.0} | {:.3} |",
                row.workload,
                crate::names::short_kernel(&row.kernel),
                base / variant
            );
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\nWhat executes more in a variant, at its size on a GPU ([below](#sizes-on-a-gpu)):\n\n\
         | workload | kernel | all warps: instructions a launch, ahead of time and of a variant | fewer by |\n\
         | --- | --- | --- | --- |\n{text}"
    )
}

/// Instructions of all warps.
const INSTRUCTIONS: fn(Executed) -> u64 = |executed| executed.instructions;

/// What the virtual GPU has written, by kernel.
fn executed(counts: &Path) -> Result<BTreeMap<String, Executed>> {
    let text = fs::read_to_string(counts).context("no kernel was launched")?;
    let mut kernels = BTreeMap::<String, Executed>::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (Some(kernel), Some(warps), Some(longest)) = (fields.next(), fields.nth(1), fields.next()) else {
            continue;
        };
        let count = |text: &str| text.parse::<u64>().context("a count of the virtual GPU");
        let kernel = kernels.entry(kernel.to_owned()).or_default();
        kernel.launches += 1;
        kernel.instructions += count(warps)?;
        kernel.longest += count(longest)?;
    }
    Ok(kernels)
}

fn page(
    rows: &[Row],
    without: &[String],
    major: u32,
    gpu_sizes: &[(String, Vec<String>)],
    others: &[Multiprocessor],
) -> String {
    let mut text = format!(
        "# Instructions on a GPU, with the JIT and without\n\n\
         What kernels of the workloads execute on the [virtual GPU](../../dev/virtual-gpu.md), by `cargo xtask gpu-instructions`, with LLVM {major} at `-O3`, at\n\
         small sizes. Instructions are those of PTX, counted once for each warp: of all warps together, and of the one that executes most, which is\n\
         what a launch takes on a device that holds all warps at a time. The first grow where threads share work that a few had to do, the second\n\
         shrink. **This is no time, and nothing here ran on a real GPU.** An integer division counts as one, and is some twenty of a GPU's own;\n\
         registers, which decide how many threads run, and waiting are not in it.\n\n\
         | workload | kernel | launches | all warps: instructions a launch, ahead of time and of a variant | fewer by | longest warp | shorter by | launches ahead of time |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    for row in rows {
        let both = |count: fn(Executed) -> u64| {
            let shown = |executed: Executed| {
                let of_launch = executed.a_launch(count);
                of_launch.map_or_else(|| "none".to_owned(), |count| format!("{count:.0}"))
            };
            format!("{}, {}", shown(row.base), shown(row.variants))
        };
        let ratio = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let kernel = crate::names::short_kernel(&row.kernel);
        let _ = writeln!(
            text,
            "| {} | `{kernel}` | {} | {} | {} | {} | {} | {} |",
            row.workload,
            row.base.launches,
            both(|executed| executed.instructions),
            ratio(row.ratio()),
            both(|executed| executed.longest),
            ratio(row.ratio_of_longest()),
            row.ahead_of_time.launches
        );
    }
    for (what, ratio) in [
        (
            "fewer instructions of all warps",
            Row::ratio as fn(&Row) -> Option<f64>,
        ),
        ("fewer of the longest warp", Row::ratio_of_longest),
    ] {
        let ratios: Vec<_> = rows.iter().filter_map(ratio).collect();
        if let Some(mean) = geometric_mean(&ratios) {
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let _ = writeln!(
                text,
                "\n{} kernels with variants: {mean:.2} times {what} in the geometric mean, {least:.2} at least.",
                ratios.len()
            );
        }
        let of_workloads = of_workloads(rows, ratio);
        if let Some(mean) = geometric_mean(&of_workloads) {
            let _ = writeln!(
                text,
                "The {} workloads of one file, each by the mean of its kernels: {mean:.2} times {what}.",
                of_workloads.len()
            );
        }
    }
    text += &large_table(rows);
    text += &needs_table(rows);
    text += &others_table(rows, others);
    let losing: Vec<_> = rows.iter().filter(|row| row.loses()).collect();
    let _ = writeln!(
        text,
        "\n{} variants execute more than the ahead-of-time code and let fewer warps run at a time.",
        losing.len()
    );
    text += "\n## Sizes on a GPU\n\n\
             Fixed beforehand: those at which a real GPU runs the workloads. What it took is on [another page](../gpu.md).\n\n\
             | workload | arguments |\n| --- | --- |\n";
    for (name, arguments) in gpu_sizes {
        let _ = writeln!(text, "| {name} | `{}` |", arguments.join(" "));
    }
    if !without.is_empty() {
        text += "\nNot counted:\n\n";
        for why in without {
            let line = why.lines().next().unwrap_or_default();
            let _ = writeln!(text, "* {line}");
        }
    }
    text
}

/// The table of what the code needs.
fn needs_table(rows: &[Row]) -> String {
    let mut text = "\n## Registers, occupancy, code\n\n\
         From the cubins that `ptxas` makes for sm_80. Of each pair the first is ahead of time, the second the variant\n\
         that ran most. Local memory is that of a thread: arrays and spilled registers together. `warps` is the\n\
         occupancy: how many of at most 64 a multiprocessor holds at a time, by NVIDIA's published formula, from\n\
         registers, shared memory and the threads of the launch. Code is the kernel's own, without what it calls.\n\
         Times are by the clock of the machine that wrote this page, busy or not: compile is all passes and `ptxas`,\n\
         load is by the virtual GPU's driver.\n\n\
         | workload | kernel | registers | local bytes | warps | bytes of code | compile, ms | load, ms |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for row in rows {
        let Some(pair) = row.code.needs else {
            continue;
        };
        let cells = row.cells(pair, row.code.bytes);
        let _ = writeln!(text, "{cells} {:.0} | {:.1} |", pair.compile_ms, pair.load_ms);
    }
    text
}

/// The tables for the other processors.
fn others_table(rows: &[Row], others: &[Multiprocessor]) -> String {
    let mut text = "\n## Code for other processors\n\n\
         The same program, compiled and linked for each, with the variants that it asked for in a run on a virtual\n\
         GPU of that processor. Pairs are as above.\n"
        .to_owned();
    for (index, other) in others.iter().enumerate() {
        let _ = write!(
            text,
            "\n### {}\n\n| workload | kernel | registers | local bytes | warps | bytes of code |\n| --- | --- | --- | --- | --- | --- |\n",
            other.processor
        );
        for row in rows {
            let code = row.other_code[index];
            if let Some(pair) = code.needs {
                let _ = writeln!(text, "{}", row.cells(pair, code.bytes));
            }
        }
    }
    for other in OTHERS.iter().filter(|other| !others.contains(other)) {
        let _ = writeln!(
            text,
            "\nThe `ptxas` of these CUDA tools makes no code for {}.",
            other.processor
        );
    }
    text
}

/// The other processors that CUDA's tools make code for: CUDA 13 knows none before sm_75.
fn others(targets: &Targets) -> Result<Vec<Multiprocessor>> {
    let assembler = targets.cuda.join("bin/ptxas");
    let help = Command::new(&assembler).arg("--help").output();
    let help = help.with_context(|| format!("cannot run `{}`", assembler.display()))?;
    let help = String::from_utf8_lossy(&help.stdout);
    let knows = |other: &Multiprocessor| help.contains(&format!("'{}'", other.processor));
    ensure!(
        knows(&COUNTED),
        "`{} --help` names no {}",
        assembler.display(),
        COUNTED.processor
    );
    let mut others = OTHERS.to_vec();
    others.retain(knows);
    Ok(others)
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

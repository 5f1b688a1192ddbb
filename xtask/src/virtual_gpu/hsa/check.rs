//! `cargo xtask amd-check`: the workloads, linked with `--jit` for AMD GPUs, with the stand-in for AMD's
//! runtime.
//!
//! Nothing is executed: the stand-in checks code objects, packets and signals, and ends each launch. So what
//! programs print is not looked at. The code of kernels and of their variants is: how many instructions there
//! are, registers, stack, and how many wavefronts fit.

mod code;
mod occupancy;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use offloom_find_llvm::Llvm;
use offloom_gpu_bundle::results::geometric_mean;
use serde_json::Value;

use self::code::Code;
use self::occupancy::Simd;
use super::library_folder;
use crate::build::{LlvmBuilds, Staged};
use crate::corpus::program::WORKLOADS;
use crate::corpus::workers;
use crate::llvm::distribution::Distribution;
use crate::matrix;
use crate::matrix::builds::{Builds, Device, Subject, Variant};
use crate::names::{is_wanted, short_kernel};
use crate::openmp::OpenMp;
use crate::virtual_gpu::library_path;
use crate::workspace::{Workspace, write_whole};

/// The page, from the root of the checkout.
const PAGE: &str = "docs/results/amd-gpu.md";

/// The processors: one with wavefronts of 64 and one of 32.
const PROCESSORS: [&str; 2] = ["gfx90a", "gfx1030"];

/// Workloads of a test run.
pub(crate) const SHORT: [&str; 4] = ["zaxpy", "reduction", "transport", "n-body"];

/// Options of `cargo xtask amd-check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Only workloads whose name contains one of these, without writing the page. Default: all
    workloads: Vec<String>,
}

/// Runs `cargo xtask amd-check`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.check_each(&workspace, |staged| {
        check(&workspace, staged, &arguments.workloads)
    })
}

/// A kernel of a workload on a processor.
#[derive(Debug)]
struct Row {
    workload: String,
    kernel: String,
    processor: &'static str,
    ahead_of_time: Code,
    /// Of the largest of its variants; none: the kernel has stayed ahead of time.
    variant: Option<Code>,
}

impl Row {
    /// How many times fewer instructions the variant's code has.
    fn ratio(&self) -> Option<f64> {
        let variant = self.variant?.instructions;
        (variant > 0).then(|| f64::from(self.ahead_of_time.instructions) / f64::from(variant))
    }
}

/// Checks with one LLVM; what was found of all workloads becomes the page.
pub(crate) fn check<S: AsRef<str>>(workspace: &Workspace, staged: &Staged, only: &[S]) -> Result<()> {
    let major = staged.llvm.major;
    let libraries = Distribution::here().map(|distribution| Path::new(distribution.amd_libraries.folder));
    let Some(libraries) = libraries.filter(|folder| folder.is_dir()) else {
        println!("LLVM {major}: left out: `cargo xtask setup` installs AMD's device libraries, on Debian");
        return Ok(());
    };
    if !has_device_runtime(&staged.llvm)? {
        println!("LLVM {major}: left out: its packages hold no device runtime for AMD GPUs");
        return Ok(());
    }
    let runtime = library_folder(workspace)?;
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let only: Vec<_> = only.iter().map(|name| name.as_ref().to_owned()).collect();
    let folder = workspace.root.join(WORKLOADS);
    let mut subjects = matrix::subjects(workspace, major)?;
    subjects.retain(|subject| {
        let sources = &subject.program.sources;
        is_wanted(&subject.program.name, &only)
            && sources.iter().all(|source| source.path.starts_with(&folder))
    });
    let devices = PROCESSORS.map(|processor| (processor, device(processor, libraries, &runtime)));
    let mut jobs = Vec::new();
    for subject in &subjects {
        for (processor, device) in &devices {
            jobs.push((
                subject,
                *processor,
                device.as_ref().map_err(|error| format!("{error:#}")),
            ));
        }
    }
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    workers::for_each(
        "workloads for AMD GPUs",
        &jobs,
        |(subject, processor, device)| {
            let device = device.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
            check_one(staged, &openmp, subject, processor, device)
        },
        |(subject, processor, _), found| match found {
            Ok(found) => rows.extend(found),
            Err(error) => failures.push(format!("{} for {processor}: {error:#}", subject.program.name)),
        },
    )?;
    rows.sort_by(|one: &Row, other| {
        (&one.workload, &one.kernel, one.processor).cmp(&(&other.workload, &other.kernel, other.processor))
    });
    let text = page(&rows, major);
    print!("{text}");
    ensure!(failures.is_empty(), "LLVM {major}:\n{}", failures.join("\n"));
    ensure!(
        rows.iter().any(|row| row.variant.is_some()),
        "LLVM {major}: no launch ran a variant"
    );
    if only.is_empty() {
        write_whole(&workspace.root.join(PAGE), &text)?;
    }
    Ok(())
}

/// Whether this LLVM's packages hold the device runtime for AMD GPUs, for one processor or for all.
fn has_device_runtime(llvm: &Llvm) -> Result<bool> {
    let folders = [llvm.lib_dir.clone(), llvm.lib_dir.join("amdgcn-amd-amdhsa")];
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))? {
            let name = entry?.file_name();
            if name.to_string_lossy().starts_with("libomptarget-amdgpu") {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// A device of the stand-in.
fn device(processor: &str, libraries: &Path, runtime: &Path) -> Result<Device> {
    let options = [
        "-fopenmp-targets=amdgcn-amd-amdhsa".to_owned(),
        "-Xopenmp-target".to_owned(),
        format!("-march={processor}"),
        // Clang 21 makes those of 6 by default, for which Debian 13 has no device libraries.
        "-mcode-object-version=5".to_owned(),
        "--rocm-path=/usr".to_owned(),
        format!("--rocm-device-lib-path={}", libraries.display()),
    ];
    let environment = [
        ("LD_LIBRARY_PATH", library_path(runtime)?),
        ("OFFLOOM_VIRTUAL_HSA", processor.into()),
        ("OFFLOOM_JIT_AMDGPU", OsString::from("on")),
    ];
    Ok(Device {
        options: options.into(),
        relocatable_options: Vec::new(),
        environment: environment.into(),
    })
}

fn check_one(
    staged: &Staged,
    openmp: &OpenMp,
    subject: &Subject,
    processor: &'static str,
    device: &Device,
) -> Result<Vec<Row>> {
    let builds = Builds::begin_for(staged, openmp, subject, Variant::O3, Some(device))?;
    builds
        .ours
        .link_for_jit(&["-foffload-lto", "-Xoffload-linker", "--jit"])?;
    let folder = builds.ours.folder();
    let place = |name: &str| folder.join(name).display().to_string();
    let (journal, statistics, cache) = (place("journal"), place("statistics"), place("variants"));
    let written = builds.ours.all_written(&[
        ("OFFLOOM_VIRTUAL_HSA_LOG", &journal),
        ("OFFLOOM_JIT", "sync"),
        ("OFFLOOM_JIT_RETIRE", "0"),
        ("OFFLOOM_JIT_TIME_LIMIT", "60000"),
        ("OFFLOOM_JIT_CACHE_DIR", &cache),
        ("OFFLOOM_JIT_STATS", &statistics),
    ])?;
    let journal =
        fs::read_to_string(&journal).with_context(|| format!("the runtime was not used:\n{written}"))?;
    check_journal(&journal).with_context(|| format!("it wrote:\n{written}"))?;
    let kernels = kernels(Path::new(&statistics))?;
    let of_base = code::of_program(staged, &folder.join("program"), folder)?;
    let of_variants = code::of_cache(staged, Path::new(&cache), folder)?;
    let rows = kernels.into_iter().map(|kernel| {
        let ahead_of_time = of_base.get(&kernel).copied();
        Ok(Row {
            workload: subject.program.name.clone(),
            ahead_of_time: ahead_of_time.with_context(|| format!("the program has no code of `{kernel}`"))?,
            variant: of_variants.get(&kernel).copied(),
            kernel,
            processor,
        })
    });
    rows.collect()
}

/// What the stand-in has noted: the run has ended as runs do, and nothing was wrong.
fn check_journal(journal: &str) -> Result<()> {
    let summary = journal.lines().find(|line| line.starts_with("summary:"));
    let summary = summary.with_context(|| format!("the run did not end:\n{journal}"))?;
    ensure!(summary.contains(" faults=0 "), "{journal}");
    let launches = |is_variant: bool| {
        let kernels = journal.lines().filter_map(|line| line.strip_prefix("kernel: "));
        let names = kernels.filter_map(|line| line.split(' ').next());
        names.filter(|name| name.ends_with("$jit") == is_variant).count()
    };
    ensure!(launches(true) + launches(false) > 0, "no kernel was launched");
    Ok(())
}

/// The kernels that were launched, none of whose variants could not be made.
fn kernels(statistics: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(statistics).context("the JIT was not used")?;
    let statistics: Value = serde_json::from_str(&text).context("statistics of the JIT")?;
    let mut names = Vec::new();
    for kernel in statistics["kernels"].as_array().into_iter().flatten() {
        let name = kernel["name"].as_str().unwrap_or_default();
        for variant in kernel["variants"].as_array().into_iter().flatten() {
            let reason = &variant["origin"]["failed"];
            ensure!(reason.is_null(), "`{name}`: {reason}");
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn page(rows: &[Row], major: u32) -> String {
    let mut text = format!(
        "# Code for AMD GPUs, with the JIT and without\n\n\
         Kernels of the workloads, linked with `--jit` for two processors, and their variants for the launches of a small run, by `cargo xtask amd-check`\n\
         with LLVM {major} at `-O3`. **Nothing here was executed.** A stand-in for AMD's runtime checked each code object, packet and signal\n\
         ([how](../dev/virtual-hsa.md)); the numbers are of the code. *Instructions* are those in the kernel's code, not those that run, nor of\n\
         functions that it calls. *Wavefronts* is how\n\
         many a SIMD holds at a time, as far as registers decide. Where a kernel has several variants it is the largest.\n\n\
         | workload | kernel | processor | instructions | fewer by | vector registers | bytes of stack | bytes of LDS | wavefronts |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    for row in rows {
        let simd = Simd::of(row.processor);
        let both = |number: &dyn Fn(&Code) -> u32| match &row.variant {
            Some(variant) => format!("{}, {}", number(&row.ahead_of_time), number(variant)),
            None => format!("{}, none", number(&row.ahead_of_time)),
        };
        let ratio = row
            .ratio()
            .map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {ratio} | {} | {} | {} | {} |",
            row.workload,
            short_kernel(&row.kernel),
            row.processor,
            both(&|code| code.instructions),
            both(&|code| code.registers),
            both(&|code| code.stack),
            both(&|code| code.group_segment),
            both(&|code| simd.wavefronts(code.registers)),
        );
    }
    for processor in PROCESSORS {
        let ratios: Vec<_> = rows
            .iter()
            .filter(|row| row.processor == processor)
            .filter_map(Row::ratio)
            .collect();
        if let Some(mean) = geometric_mean(&ratios) {
            let _ = writeln!(
                text,
                "\n{processor}: {} kernels with variants; {mean:.2} times fewer instructions in the code, geometric mean.",
                ratios.len()
            );
        }
    }
    text
}

/// By the name of a kernel.
type Codes = BTreeMap<String, Code>;

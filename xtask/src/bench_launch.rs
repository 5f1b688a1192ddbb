//! `cargo xtask bench-launch`: what the JIT costs a program when it starts, when it launches, and when a
//! kernel has no variant yet.
//!
//! Programs run in turn within each repetition, so that a machine that does other work slows all of them
//! alike, and differences are taken within a repetition. The figures are written to `docs/results/launch.md`,
//! beside those of the other LLVM that are there.

mod busy;
mod comparison;
mod document;
mod first_launch;
mod gpu_launches;
mod large_cache;
mod launches;
mod look_up;
mod programs;
mod remote_store;
mod slowest;
mod start;

use std::path::{Path, PathBuf};

use anyhow::Result;

use self::document::{
    BUSY, DOCUMENT, FIRST_COMPILE, FIRST_ON_A_GPU, LAUNCHES, LOOK_UP, ON_A_GPU, REMOTE_STORE, SLOWEST, START,
    TITLES,
};
use self::programs::{Gpu, Programs};
use crate::build::{LlvmBuilds, Staged};
use crate::names::is_wanted;
use crate::virtual_gpu_check::Targets;
use crate::workspace::Workspace;

/// Launches of each run, by default.
const LAUNCHES_OF_A_RUN: u32 = 100_000;
/// Repetitions, by default.
const REPETITIONS: u32 = 11;

/// Options of `cargo xtask bench-launch`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    #[command(flatten)]
    extent: Extent,
    /// Folder for the page. Default: `docs/results`
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// What is measured, and how often.
#[derive(clap::Args, Debug)]
pub(crate) struct Extent {
    /// Launches of each run of the program that launches again and again
    #[arg(long, default_value_t = LAUNCHES_OF_A_RUN, value_parser = clap::value_parser!(u32).range(1000..))]
    launches: u32,
    /// Repetitions; of programs that run for milliseconds only, ten times as many
    #[arg(long, default_value_t = REPETITIONS, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Only what has one of these in its title; the document keeps what it has of the rest. Default: all
    titles: Vec<String>,
}

impl Extent {
    /// Everything as by default.
    fn whole() -> Self {
        Self {
            launches: LAUNCHES_OF_A_RUN,
            repetitions: REPETITIONS,
            titles: Vec::new(),
        }
    }

    /// The least that shows that all programs build, run and say what is read from them.
    pub(crate) fn short() -> Self {
        Self {
            launches: 1000,
            repetitions: 1,
            titles: [
                LAUNCHES,
                ON_A_GPU,
                START,
                FIRST_COMPILE,
                FIRST_ON_A_GPU,
                SLOWEST,
                BUSY,
            ]
            .map(str::to_owned)
            .to_vec(),
        }
    }
}

impl Arguments {
    /// Everything as by default; or, if `short`, the least that shows that it works.
    pub(crate) fn beside_workloads(builds: LlvmBuilds, output: Option<PathBuf>, short: bool) -> Self {
        let extent = if short { Extent::short() } else { Extent::whole() };
        Self {
            builds,
            extent,
            output,
        }
    }
}

/// Runs `cargo xtask bench-launch`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let output = arguments.output.as_deref();
    arguments.builds.for_each(&workspace, |staged| {
        measure(&workspace, staged, &arguments.extent, output)
    })
}

/// Measures with one LLVM and writes the page.
pub(crate) fn measure(
    workspace: &Workspace,
    staged: &Staged,
    extent: &Extent,
    output: Option<&Path>,
) -> Result<()> {
    DOCUMENT.fill(workspace, staged, output, |page, folder| {
        let programs = Programs::prepare(workspace, staged, folder, None)?;
        for title in TITLES
            .into_iter()
            .filter(|title| is_wanted(title, &extent.titles))
        {
            println!("LLVM {}: {title}", staged.llvm.major);
            let (short, long) = (10 * extent.repetitions, extent.repetitions);
            let (repetitions, figures) = match title {
                LAUNCHES => (long, launches::measure(&programs, extent.launches, long)?),
                ON_A_GPU | FIRST_ON_A_GPU => {
                    let Some(targets) = Targets::find(workspace, staged)? else {
                        continue;
                    };
                    let folder = folder.join("gpu");
                    let gpu = Gpu {
                        device: &targets.one,
                        cuda: &targets.cuda,
                    };
                    let programs = Programs::prepare(workspace, staged, &folder, Some(gpu))?;
                    if title == ON_A_GPU {
                        (long, gpu_launches::measure(&programs, extent.launches, long)?)
                    } else {
                        (short / 2, first_launch::measure(&programs, short / 2)?)
                    }
                }
                START => (short, start::measure(&programs, short)?),
                FIRST_COMPILE => (short / 2, first_launch::measure(&programs, short / 2)?),
                LOOK_UP => (1, look_up::measure()?),
                REMOTE_STORE => (long, remote_store::measure(&programs, long)?),
                BUSY => (2 * long, busy::measure(&programs, extent.launches, 2 * long)?),
                SLOWEST => (long, slowest::measure(&programs, extent.launches, long)?),
                _ => continue,
            };
            print!("{figures}");
            DOCUMENT.put(page, staged.llvm.major, title, repetitions, &figures)?;
        }
        Ok(())
    })
}

/// Builds, into a folder, the program that compares launches within one process, for GPUs; and the libraries
/// that it loads, of which the last is linked for the JIT.
pub(crate) fn build_pairs(
    workspace: &Workspace,
    staged: &Staged,
    targets: &Targets,
    folder: &Path,
) -> Result<(PathBuf, [PathBuf; 3])> {
    let gpu = Gpu {
        device: &targets.two,
        cuda: &targets.cuda,
    };
    launches::build(&Programs::prepare(workspace, staged, folder, Some(gpu))?)
}

//! `cargo xtask bench-launch`: what the JIT costs a program when it starts, when it launches, and when a kernel has no variant yet.
//!
//! Programs run in turn within each repetition, so that a machine that does other work slows all of them alike, and differences are
//! taken within a repetition. The figures are written to `docs/results/launch.md`, beside those of the other LLVM that are there.

mod comparison;
mod document;
mod first_launch;
mod large_cache;
mod launches;
mod look_up;
mod programs;
mod slowest;
mod start;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use self::document::{DOCUMENT, FIRST_COMPILE, LAUNCHES, LOOK_UP, SLOWEST, START, TITLES};
use self::programs::Programs;
use crate::build::LlvmBuilds;
use crate::names::is_wanted;
use crate::openmp::OpenMp;
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
    /// Launches of each run of the program that launches again and again
    #[arg(long, default_value_t = LAUNCHES_OF_A_RUN, value_parser = clap::value_parser!(u32).range(1000..))]
    launches: u32,
    /// Repetitions; of programs that run for milliseconds only, ten times as many
    #[arg(long, default_value_t = REPETITIONS, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Folder for the page. Default: `docs/results`
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Only what has one of these in its title; the document keeps what it has of the rest. Default: all
    titles: Vec<String>,
}

impl Arguments {
    /// Everything as by default; or, if `short`, the least that shows that it works.
    pub(crate) fn beside_workloads(builds: LlvmBuilds, output: Option<PathBuf>, short: bool) -> Self {
        Self {
            builds,
            launches: if short { 1000 } else { LAUNCHES_OF_A_RUN },
            repetitions: if short { 1 } else { REPETITIONS },
            output,
            titles: short.then(|| LAUNCHES.to_owned()).into_iter().collect(),
        }
    }
}

/// Runs `cargo xtask bench-launch`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let page = DOCUMENT.path(&workspace, arguments.output.as_deref());
    arguments.builds.for_each(&workspace, |staged| {
        let folder = workspace.llvm_target(staged.llvm.major).join("bench-launch");
        remove(&folder)?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        let programs = Programs {
            staged,
            openmp: OpenMp::prepare(&workspace, &staged.llvm)?,
            root: &workspace.root,
            folder: &folder,
        };
        for title in TITLES
            .into_iter()
            .filter(|title| is_wanted(title, &arguments.titles))
        {
            println!("LLVM {}: {title}", staged.llvm.major);
            let (short, long) = (10 * arguments.repetitions, arguments.repetitions);
            let (repetitions, figures) = match title {
                LAUNCHES => (long, launches::measure(&programs, arguments.launches, long)?),
                START => (short, start::measure(&programs, short)?),
                FIRST_COMPILE => (short / 2, first_launch::measure(&programs, short / 2)?),
                LOOK_UP => (1, look_up::measure()?),
                SLOWEST => (long, slowest::measure(&programs, arguments.launches, long)?),
                _ => continue,
            };
            print!("{figures}");
            DOCUMENT.put(&page, staged.llvm.major, title, repetitions, &figures)?;
        }
        remove(&folder)
    })?;
    println!("figures are in {}", page.display());
    Ok(())
}

/// Removes a folder with all that is in it, if it is there.
fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

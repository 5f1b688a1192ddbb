//! The first launch of a kernel, whose variant comes from the cache on disk or is compiled, and later ones
//! with other variants.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::comparison::{Comparison, Goal, HEAD};
use super::large_cache;
use super::programs::{Programs, WITH_JIT, number_behind};
use crate::bench::compiles::{Compiles, table};
use crate::measurement::measure_output;
use crate::workspace::remove_folder;

/// The workloads whose kernels are launched, and the milliseconds that the first compile may take.
const KERNELS: [(&str, f64); 2] = [("zaxpy", 15.0), ("xs-lookup", 60.0)];
/// The same on a GPU, for which `ptxas` works too.
const KERNELS_ON_A_GPU: [(&str, f64); 2] = [("zaxpy", 40.0), ("xs-lookup", 90.0)];

/// Milliseconds that a launch may take longer whose variant is in the cache.
const FROM_THE_CACHE: f64 = 1.0;

/// A program that launches a kernel for the first time with one value after the other.
const LATER: &str = "test/jit/Inputs/later-variants.c";

/// A program that runs one of these, and adopts the process that compiles for it.
const ADOPTING: &str = "test/jit/Inputs/run-adopting.c";

/// Runs that may miss in a full cache, one after the other: objects may lie otherwise aligned than in the run
/// that filled it.
const MISSES: u32 = 8;

/// What is in the cache when the program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cache {
    /// The variant.
    Warm,
    /// Nothing.
    Empty,
    /// Many others.
    OfOthers,
}

/// Milliseconds of one run.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Wall time of the first launch.
    launch: f64,
    /// Processor time of the program.
    program: f64,
    /// Processor time of the process that compiles for it, on a GPU also of `ptxas`.
    worker: f64,
    /// Whether something was compiled.
    has_compiled: bool,
}

/// What says of a run whether something was compiled in it.
enum Statistics {
    /// The process that compiles works for nothing else.
    OfProcesses,
    /// On a GPU `ptxas` is asked for its version, too. So the JIT writes what it did to this file.
    OfJit(PathBuf),
}

impl Statistics {
    fn of(programs: &Programs<'_>) -> Self {
        match programs.gpu {
            None => Self::OfProcesses,
            Some(_) => Self::OfJit(programs.folder.join("statistics.json")),
        }
    }

    /// Has the next run say it, and forgets the one before.
    fn ask<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        match self {
            Self::OfProcesses => command,
            Self::OfJit(file) => {
                // Mostly there is none.
                let _ = fs::remove_file(file);
                command.env("OFFLOOM_JIT_STATS", file)
            }
        }
    }

    /// Whether something was compiled in a run in this mode, for which other processes have worked so long.
    fn has_compiled(&self, mode: &str, worker: f64) -> Result<bool> {
        match self {
            Self::OfProcesses => Ok(worker > 0.0),
            Self::OfJit(_) if mode == "off" => Ok(false),
            Self::OfJit(file) => Ok(Compiles::read("", file)?.variants > 0),
        }
    }
}

/// Measures first launches; the table, and where compiles spend their time.
pub(super) fn measure(programs: &Programs<'_>, repetitions: u32) -> Result<String> {
    let mut text = HEAD.to_owned();
    let mut compiles = Vec::new();
    let adopting = programs.build("run-adopting", &[ADOPTING], &[])?;
    let on_gpu = programs.gpu.is_some();
    for (kernel, most) in if on_gpu { KERNELS_ON_A_GPU } else { KERNELS } {
        let source = format!("test/workloads/{kernel}/{kernel}.cpp");
        let program = programs.build(kernel, &[&source], &WITH_JIT)?;
        let case = Case {
            programs,
            adopting: &adopting,
            program: &program,
            kernel,
        };
        for (cache, name, most) in [
            (Cache::Warm, "variant in the cache", FROM_THE_CACHE),
            (Cache::Empty, "compiled", most),
            (
                Cache::OfOthers,
                "compiled, 10,000 other images in the cache",
                most,
            ),
        ] {
            // How names are looked for among others has nothing to do with the device.
            if on_gpu && cache == Cache::OfOthers {
                continue;
            }
            let (rows, medians) = case.compare(cache, name, most, repetitions)?;
            text += &rows;
            compiles.extend(medians);
        }
    }
    text += &later_variants(programs, &adopting, repetitions)?;
    text += "\nWhat compiling is made of, the medians of as many runs more with an empty cache: wall time of the phases in the process that \
             compiles, without its start.\n\n";
    text += &table(&compiles);
    Ok(text)
}

/// The row of a launch whose variant is in the cache, in a process that has run another one.
fn later_variants(programs: &Programs<'_>, adopting: &Path, repetitions: u32) -> Result<String> {
    let program = programs.build("later-variants", &[LATER], &WITH_JIT)?;
    let cache = programs.folder.join("first-launch-cache");
    let statistics = Statistics::of(programs);
    let run = |mode: &str| -> Result<(f64, bool)> {
        let mut command = programs.command(adopting, mode, &cache);
        let (_, printed) = measure_output(statistics.ask(command.arg(&program)))?;
        let has_compiled = statistics.has_compiled(mode, number_behind(&printed, "orphans")?)?;
        Ok((number_behind(&printed, "later")? * 1e3, has_compiled))
    };
    remove_folder(&cache)?;
    // One that compiles, and the next, for which the worker is started once more.
    run("sync")?;
    run("sync")?;
    let what = "a later variant of a kernel, in the cache: wall, ms".to_owned();
    let mut wall = Comparison::new(what, Some(Goal::More(FROM_THE_CACHE)));
    for _ in 0..repetitions {
        let (off, _) = run("off")?;
        let (on, has_compiled) = run("sync")?;
        ensure!(
            !has_compiled,
            "a variant was compiled that should be in the cache"
        );
        wall.add(off, on);
    }
    Ok(wall.row())
}

struct Case<'a> {
    programs: &'a Programs<'a>,
    /// Runs the program.
    adopting: &'a Path,
    program: &'a Path,
    kernel: &'a str,
}

impl Case<'_> {
    /// The rows of one state of the cache, and of compiles with an empty one the medians of their phases.
    fn compare(
        &self,
        state: Cache,
        name: &str,
        most: f64,
        repetitions: u32,
    ) -> Result<(String, Option<Compiles>)> {
        let row = |what: &str, goal| Comparison::new(format!("{}, {name}: {what}", self.kernel), goal);
        let mut wall = row("wall, ms", Some(Goal::More(most)));
        let mut processor = row("processor, ms", None);
        let mut worker = row("of that the compiling process, ms", None);
        // Each its own: where ten thousand files were removed a moment ago, the file system takes
        // milliseconds to make a folder.
        let cache = self
            .programs
            .folder
            .join(format!("first-launch-cache-{}-{state:?}", self.kernel));
        remove_folder(&cache)?;
        self.run("sync", &cache)?;
        if state == Cache::OfOthers {
            large_cache::fill(&cache)?;
        }
        for _ in 0..repetitions {
            match state {
                Cache::Empty => remove_folder(&cache)?,
                Cache::OfOthers => large_cache::remove_all_but_copies(&cache)?,
                Cache::Warm => {}
            }
            let [off, mut on] = [self.run("off", &cache)?, self.run("sync", &cache)?];
            for _ in 0..MISSES {
                if state == Cache::Warm && on.has_compiled {
                    on = self.run("sync", &cache)?;
                }
            }
            ensure!(
                on.has_compiled == (state != Cache::Warm) && off.worker == 0.0,
                "{}, {name}: the compiling process took {} ms, without the JIT {} ms",
                self.kernel,
                on.worker,
                off.worker
            );
            wall.add(off.launch, on.launch);
            processor.add(off.program, on.program + on.worker);
            worker.add(0.0, on.worker);
        }
        let mut rows = wall.row() + &processor.row();
        if state != Cache::Warm {
            rows += &worker.row();
        }
        let phases = (state == Cache::Empty).then(|| self.phases(&cache, repetitions));
        Ok((rows, phases.transpose()?))
    }

    fn run(&self, mode: &str, cache: &Path) -> Result<Run> {
        let mut command = self.programs.command(self.adopting, mode, cache);
        // As little as there can be to launch: what is measured is what comes before.
        command
            .arg(self.program)
            .args(["--size", "1", "--set", "launches=1"]);
        let statistics = Statistics::of(self.programs);
        let (_, printed) = measure_output(statistics.ask(&mut command))?;
        let worker = number_behind(&printed, "orphans")? * 1e3;
        Ok(Run {
            launch: number_behind(&printed, "first_s")? * 1e3,
            program: number_behind(&printed, "\nprogram")? * 1e3,
            worker,
            has_compiled: statistics.has_compiled(mode, worker)?,
        })
    }

    fn phases(&self, cache: &Path, repetitions: u32) -> Result<Compiles> {
        let file = self.programs.folder.join("statistics.json");
        let mut all = Vec::new();
        for _ in 0..repetitions {
            remove_folder(cache)?;
            let mut command = self.programs.command(self.program, "sync", cache);
            command.args(["--size", "1", "--set", "launches=1"]);
            measure_output(command.env("OFFLOOM_JIT_STATS", &file))?;
            all.push(Compiles::read(self.kernel, &file)?);
        }
        Compiles::median(all).context("nothing was compiled")
    }
}

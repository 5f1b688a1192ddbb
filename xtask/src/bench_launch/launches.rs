//! Launches of a tiny kernel with the JIT and without, compared within one process.
//!
//! Two processes differ in where their memory lies by more than the JIT costs a launch. So one process loads
//! the kernel from three libraries, of which one is linked for the JIT, and launches blocks from them by
//! turns. What the two others differ by says how far a difference can be trusted.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::comparison::{Comparison, Goal, HEAD};
use super::programs::{Programs, WITH_JIT, numbers};
use crate::bench::statistics::median;
use crate::corpus::tools;

/// Launches of a block: some hundred microseconds.
pub(super) const BLOCK: u32 = 250;

/// Nanoseconds that a launch may cost more.
const A_LAUNCH: Goal = Goal::More(60.0);
/// What all launches together may take.
const ALL: Goal = Goal::Times(1.02);

/// The most variants that a kernel has on one device.
pub(super) const MOST_VARIANTS: u32 = 256;

/// Rounds in which nearly all variants are still timed: each of them in 8 launches, with those before the
/// first round.
const ROUNDS_ON_TRIAL: u32 = 6;

/// What a launch from the library with the JIT meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A variant that is kept.
    Hit,
    /// A variant that is still compared with the AOT code.
    Timed,
    /// That there is no variant, since it could not be made.
    Failed,
    /// Neither a variant nor room for one.
    NoRoom,
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    state: State,
    arguments: u32,
    /// Scalars of which launches are made before.
    values: u32,
    /// Which of them then come in turns: the number of the first, from 0, and how many.
    first: u32,
    count: u32,
    pub(super) threads: u32,
}

/// Launches that run variants which are kept.
pub(super) const fn hit(name: &'static str, arguments: u32, values: u32, threads: u32) -> Case {
    Case {
        name,
        state: State::Hit,
        arguments,
        values,
        first: 0,
        count: values,
        threads,
    }
}

/// Launches of one of the variants that a kernel has.
pub(super) const fn one_of_many(name: &'static str, number: u32, threads: u32) -> Case {
    Case {
        first: number,
        count: 1,
        ..hit(name, 10, MOST_VARIANTS, threads)
    }
}

const CASES: [Case; 13] = [
    hit("one argument", 1, 1, 1),
    hit("ten arguments", 10, 1, 1),
    hit("ten arguments, 4 threads", 10, 1, 4),
    hit("ten arguments, 16 threads", 10, 1, 16),
    one_of_many("ten arguments, the last of 256 variants", MOST_VARIANTS - 1, 1),
    one_of_many(
        "ten arguments, the last of 256 variants, 16 threads",
        MOST_VARIANTS - 1,
        16,
    ),
    one_of_many("ten arguments, the middle of 256 variants", MOST_VARIANTS / 2, 1),
    one_of_many(
        "ten arguments, the middle of 256 variants, 16 threads",
        MOST_VARIANTS / 2,
        16,
    ),
    hit("ten arguments, 256 variants in turns", 10, MOST_VARIANTS, 1),
    hit(
        "ten arguments, 256 variants in turns, 16 threads",
        10,
        MOST_VARIANTS,
        16,
    ),
    Case {
        state: State::Timed,
        ..hit("ten arguments, 256 variants, all on trial", 10, MOST_VARIANTS, 1)
    },
    Case {
        state: State::Failed,
        ..hit("ten arguments, the variant could not be made", 10, 1, 1)
    },
    Case {
        state: State::NoRoom,
        ..hit(
            "ten arguments, 256 variants of other values",
            10,
            100 * MOST_VARIANTS,
            1,
        )
    },
];

/// The program that is measured, and what it loads.
pub(super) struct Pairs<'a> {
    programs: &'a Programs<'a>,
    program: PathBuf,
    /// Without the JIT, the same again, with the JIT.
    pub(super) libraries: [PathBuf; 3],
    cache: PathBuf,
}

/// Nanoseconds of a launch from each of the libraries, in one round of one thread.
type Round = [f64; 3];

/// Builds the program that compares launches, and the libraries that it loads: without the JIT, the same
/// again, with the JIT.
pub(super) fn build(programs: &Programs<'_>) -> Result<(PathBuf, [PathBuf; 3])> {
    let library = |name: &str, options: &[&str]| {
        let options = [&["-fPIC", "-shared"], options].concat();
        programs.build(name, &["test/jit/Inputs/launch-pairs-kernels.c"], &options)
    };
    let program = programs.build("launch-pairs", &["test/jit/Inputs/launch-pairs.c"], &[])?;
    let libraries = [
        library("libwithout.so", &[])?,
        library("libcontrol.so", &[])?,
        library("libwith.so", &WITH_JIT)?,
    ];
    Ok((program, libraries))
}

/// Measures all cases with so many launches from each library; the table.
pub(super) fn measure(programs: &Programs<'_>, launches: u32, repetitions: u32) -> Result<String> {
    let pairs = Pairs::build(programs)?;
    let mut text = HEAD.to_owned();
    for case in CASES {
        text += &pairs.compare(case, launches, repetitions)?;
    }
    Ok(text)
}

impl<'a> Pairs<'a> {
    /// Builds them.
    pub(super) fn build(programs: &'a Programs<'a>) -> Result<Self> {
        let (program, libraries) = build(programs)?;
        Ok(Self {
            programs,
            program,
            libraries,
            cache: programs.folder.join("launches-cache"),
        })
    }

    /// The rows of one case.
    fn compare(&self, case: Case, launches: u32, repetitions: u32) -> Result<String> {
        self.check(case, &self.libraries)?;
        let is_hit = case.state == State::Hit;
        let is_simple = is_hit && case.threads == 1 && case.values == 1;
        let comparison = |what: &str, goal| Comparison::new(format!("{}: {what}", case.name), goal);
        let mut control = comparison("control, ns", None);
        let mut one = comparison("a launch, ns", is_hit.then_some(A_LAUNCH));
        let mut all = comparison(&format!("{launches} launches, ms"), is_simple.then_some(ALL));
        let rounds = match case.state {
            State::Timed => ROUNDS_ON_TRIAL,
            _ => (launches / case.threads / BLOCK).max(1),
        };
        for repetition in 0..repetitions {
            let rounds = self.rounds(case, rounds, repetition)?;
            let middle = |of: fn(&Round) -> f64| median(&rounds.iter().map(of).collect::<Vec<_>>());
            let first = middle(|round| round[0]);
            control.add(first, first + middle(|round| round[1] - round[0]));
            let both = middle(without);
            one.add(both, both + middle(|round| round[2] - without(round)));
            let sum = |of: fn(&Round) -> f64| rounds.iter().map(of).sum::<f64>();
            let in_all = f64::from(launches) / rounds.len() as f64 / 1e6;
            all.add(sum(without) * in_all, sum(|round| round[2]) * in_all);
        }
        let rows = control.row() + &one.row();
        Ok(if is_simple { rows + &all.row() } else { rows })
    }

    /// Runs the program once, which fills the cache, and looks whether launches meet what they are to meet;
    /// where there are several threads, also whether theirs do.
    pub(super) fn check(&self, case: Case, libraries: &[PathBuf]) -> Result<()> {
        self.check_run(Case { threads: 1, ..case }, 1, libraries)?;
        if case.threads == 1 {
            return Ok(());
        }
        // One of them makes a variant, and what the others launch before the first round does without. So of
        // the launches that are to be looked at there are many more.
        let before = 2 * case.values;
        self.check_run(case, (40 * before).div_ceil(BLOCK), libraries)
    }

    fn check_run(&self, case: Case, rounds: u32, libraries: &[PathBuf]) -> Result<()> {
        let file = self.programs.folder.join("statistics.json");
        let mut command = self.command(case, rounds, "sync", libraries);
        tools::output(command.env("OFFLOOM_JIT_STATS", &file))?;
        let text = fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let statistics: Value = serde_json::from_slice(&text)?;
        let kernels = statistics["kernels"].as_array().context("no kernels")?;
        let sum = |member: &str| {
            kernels
                .iter()
                .filter_map(|kernel| kernel[member].as_u64())
                .sum::<u64>()
        };
        let (ahead_of_time, of_variants) = (sum("launches_ahead_of_time"), sum("launches_of_variants"));
        let is_met = match case.state {
            State::Hit => ahead_of_time < of_variants / 10,
            State::Timed => of_variants.abs_diff(ahead_of_time) <= u64::from(BLOCK),
            State::Failed => of_variants == 0,
            State::NoRoom => of_variants > 0 && of_variants < ahead_of_time / 20,
        };
        ensure!(
            is_met,
            "{}: {of_variants} launches ran variants and {ahead_of_time} ahead-of-time code",
            case.name
        );
        Ok(())
    }

    fn rounds(&self, case: Case, rounds: u32, repetition: u32) -> Result<Vec<Round>> {
        let mut libraries = self.libraries.clone();
        libraries.rotate_left(first_library(repetition));
        let printed = tools::output(&mut self.command(case, rounds, "sync", &libraries))?;
        let in_order = printed.lines().map(numbers::<3>);
        in_order
            .map(|round| {
                let mut round = round?;
                // As in `libraries`.
                round.rotate_right(first_library(repetition));
                Ok(round)
            })
            .collect()
    }

    /// A run that launches from these libraries by turns. Nothing works beside the launches.
    pub(super) fn command(&self, case: Case, rounds: u32, mode: &str, libraries: &[PathBuf]) -> Command {
        let mut command = self.programs.command(&self.program, mode, &self.cache);
        if self.programs.gpu.is_some() {
            command.env("OFFLOOM_VIRTUAL_GPU_KERNELS", "skip");
        }
        let numbers = [
            rounds,
            BLOCK,
            case.arguments,
            case.values,
            case.first,
            case.count,
            case.threads,
        ];
        command.args(numbers.map(|number| number.to_string()));
        command.args(libraries);
        // However often scalars change, they are specialised.
        command.env("OFFLOOM_JIT_THRESHOLD", "1000000");
        match case.state {
            // A variant that is no faster would be dropped, and this kernel has nothing to gain: kept, it is
            // what is measured.
            State::Hit | State::NoRoom => command.env("OFFLOOM_JIT_RETIRE", "0"),
            // What is found out is not kept for the next run.
            State::Timed => command.env("OFFLOOM_JIT_CACHE_MODE", "ro"),
            State::Failed => command
                .env("OFFLOOM_JIT_CACHE_MODE", "off")
                .env("OFFLOOM_JIT_TIME_LIMIT", "1"),
        };
        command
    }
}

/// Which of the libraries is loaded first: each as often.
const fn first_library(repetition: u32) -> usize {
    repetition as usize % 3
}

/// What a launch took from a library without the JIT.
fn without(round: &Round) -> f64 {
    f64::midpoint(round[0], round[1])
}

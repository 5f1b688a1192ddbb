//! A program whose threads have all processors, and wait for each other again and again, while variants of
//! its kernels are compiled.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::comparison::{Comparison, Goal, HEAD};
use super::programs::{Programs, WITH_JIT};
use crate::measurement::measure_output;
use crate::workspace::remove_folder;

/// What the program is told for so many launches of other programs: rounds, in each of which every kernel is
/// launched once, and rounds with the same scalar. 16 variants of each of eight kernels are asked for.
fn rounds(launches: u32) -> [u32; 2] {
    [launches / 125, (launches / 2000).max(1)]
}

/// The same for a run that is 80 times as long: a minute or so.
fn rounds_of_a_long_run(launches: u32) -> [u32; 2] {
    rounds(launches).map(|rounds| 80 * rounds)
}

/// How long a run may take.
const GOAL: Goal = Goal::Times(1.05);

/// Measures runs that compile, runs that find all in the cache, and the program without the JIT against
/// itself; the table.
pub(super) fn measure(programs: &Programs<'_>, launches: u32, repetitions: u32) -> Result<String> {
    let sources = ["test/jit/Inputs/barriers.c"];
    let without = programs.build("busy-without", &sources, &[])?;
    let with = programs.build("busy-with", &sources, &WITH_JIT)?;
    let threads = thread::available_parallelism().map_or(1, usize::from).to_string();
    let cache = programs.folder.join("busy-cache");
    let command = |program: &Path, rounds: [u32; 2]| {
        let mut command = programs.command(program, "async", &cache);
        command.args(rounds.map(|number| number.to_string()));
        // As by default, in all that concerns threads.
        command
            .env("OMP_NUM_THREADS", &threads)
            .env_remove("KMP_BLOCKTIME");
        command
    };
    let run = |program: &Path, is_cold: bool| {
        if is_cold {
            remove_folder(&cache)?;
        }
        let (measured, printed) = measure_output(&mut command(program, rounds(launches)))?;
        Ok::<_, anyhow::Error>((measured.wall.as_secs_f64() * 1e3, printed))
    };
    let [mut cold, mut warm, mut control] = [
        ("empty cache: wall, ms", Some(GOAL)),
        ("the cache of the run before: wall, ms", Some(GOAL)),
        ("control, both without the JIT: wall, ms", None),
    ]
    .map(|(what, goal)| Comparison::new(what.to_owned(), goal));
    for repetition in 0..=repetitions {
        let runs = [
            run(&without, false)?,
            run(&with, true)?,
            run(&with, false)?,
            run(&without, false)?,
        ];
        ensure!(
            runs.iter().all(|(_, printed)| *printed == runs[0].1),
            "the program computed {} without the JIT, {} and {} with it",
            runs[0].1.trim(),
            runs[1].1.trim(),
            runs[2].1.trim()
        );
        // The first brings the files into memory.
        if repetition > 0 {
            let [before, on_cold, on_warm, after] = runs.map(|(wall, _)| wall);
            let without = f64::midpoint(before, after);
            cold.add(without, on_cold);
            warm.add(without, on_warm);
            control.add(before, after);
        }
    }
    let table = HEAD.to_owned() + &cold.row() + &warm.row() + &control.row();
    remove_folder(&cache)?;
    Ok(table + &long_run(programs, command(&with, rounds_of_a_long_run(launches)))?)
}

/// One long run with an empty cache: how many of the variants come, and what they run.
fn long_run(programs: &Programs<'_>, mut command: Command) -> Result<String> {
    let file = programs.folder.join("busy-statistics");
    let (measured, _) = measure_output(command.env("OFFLOOM_JIT_STATS", &file))?;
    let text = fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let statistics: Value = serde_json::from_slice(&text)?;
    let kernels = statistics["kernels"].as_array().context("no kernels are there")?;
    let sum = |key: &str| -> u64 { kernels.iter().filter_map(|kernel| kernel[key].as_u64()).sum() };
    let variants = kernels.iter().filter_map(|kernel| kernel["variants"].as_array());
    let (of_variants, ahead_of_time) = (sum("launches_of_variants"), sum("launches_ahead_of_time"));
    Ok(format!(
        "\nIn one run of {:.0} s with an empty cache, {} variants were compiled, and {:.0}% of {} launches ran one.\n",
        measured.wall.as_secs_f64(),
        variants.map(Vec::len).sum::<usize>(),
        100.0 * of_variants as f64 / (of_variants + ahead_of_time).max(1) as f64,
        of_variants + ahead_of_time,
    ))
}

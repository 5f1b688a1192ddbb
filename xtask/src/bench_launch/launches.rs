//! Launches of a tiny kernel whose variant is known, is being made, or never comes.

use std::path::Path;

use anyhow::{Result, ensure};

use super::comparison::{Comparison, Goal, HEAD};
use super::programs::{Programs, WITH_JIT, numbers};
use super::remove;
use crate::corpus::tools;

/// What is compared: name, whether the cache is kept, how many scalars come in turns, threads.
const CASES: [(&str, bool, u32, u32); 5] = [
    ("warm cache, 4 values", true, 4, 1),
    ("warm cache, 4 values, 4 threads", true, 4, 4),
    ("warm cache, 4 values, 16 threads", true, 4, 16),
    ("empty cache, 4 values", false, 4, 1),
    ("empty cache, a new value at each launch", false, 1_000_003, 1),
];

/// Nanoseconds that a launch may cost more.
const A_LAUNCH: Goal = Goal::More(60.0);
/// What all launches together may take.
const ALL: Goal = Goal::Times(1.02);
/// Nanoseconds that one launch in a thousand may cost more.
const RARE: Goal = Goal::More(50_000.0);

/// Measures all cases; the table.
pub(super) fn measure(programs: &Programs<'_>, launches: u32, repetitions: u32) -> Result<String> {
    let program = programs.build("launches", &["test/jit/Inputs/launch-times.c"], &WITH_JIT)?;
    let mut text = HEAD.to_owned();
    for (name, is_warm, values, threads) in CASES {
        let cache = programs.folder.join("launches-cache");
        remove(&cache)?;
        let run = |mode: &str, cache: &Path| {
            let mut command = programs.command(&program, mode, cache);
            command.args([launches / threads, values, threads].map(|number| number.to_string()));
            // A variant that is no faster would be dropped, and this kernel has nothing to gain: kept, it is what is measured.
            command.env("OFFLOOM_JIT_RETIRE", "0");
            if !is_warm {
                command.env("OFFLOOM_JIT_CACHE_MODE", "off");
            }
            numbers::<4>(&tools::output(&mut command)?)
        };
        let goal = |goal: Goal, is_wanted: bool| is_wanted.then_some(goal);
        let steady = is_warm || values < launches;
        let comparison = |what: &str, goal| Comparison::new(format!("{name}: {what}"), goal);
        let mut median = comparison("a launch, ns", goal(A_LAUNCH, steady));
        let mut rare = comparison("99.9% of launches, ns", goal(RARE, !is_warm));
        let mut all = comparison(
            &format!("{launches} launches, ms"),
            goal(ALL, is_warm && threads == 1),
        );
        // One more, which fills the cache.
        for repetition in 0..=repetitions {
            let [off, on] = [run("off", &cache)?, run("async", &cache)?];
            ensure!(
                off[3].total_cmp(&on[3]).is_eq(),
                "{name}: the program computed {} without the JIT and {} with it",
                off[3],
                on[3]
            );
            if repetition > 0 {
                median.add(off[0], on[0]);
                rare.add(off[1], on[1]);
                all.add(off[2], on[2]);
            }
        }
        for comparison in [median, rare, all] {
            text += &comparison.row();
        }
    }
    Ok(text)
}

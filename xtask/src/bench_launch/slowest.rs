//! The slowest of the launches of a tiny kernel whose variants are known, are being made, or never come.

use anyhow::{Result, ensure};

use super::comparison::{Comparison, Goal, HEAD};
use super::programs::{Programs, WITH_JIT, numbers};
use crate::corpus::tools;
use crate::workspace::remove_folder;

/// What is compared: name, whether the cache is kept, how many scalars come in turns, threads.
const CASES: [(&str, bool, u32, u32); 5] = [
    ("warm cache, 4 values", true, 4, 1),
    ("warm cache, 4 values, 4 threads", true, 4, 4),
    ("warm cache, 4 values, 16 threads", true, 4, 16),
    ("empty cache, 4 values", false, 4, 1),
    ("empty cache, a new value at each launch", false, 1_000_003, 1),
];

/// Nanoseconds that one launch in a thousand may cost more.
const GOAL: Goal = Goal::More(50_000.0);

/// Measures all cases; the table.
pub(super) fn measure(programs: &Programs<'_>, launches: u32, repetitions: u32) -> Result<String> {
    let program = programs.build("slowest", &["test/jit/Inputs/launch-times.c"], &WITH_JIT)?;
    let cache = programs.folder.join("slowest-cache");
    let mut text = HEAD.to_owned();
    for (name, is_warm, values, threads) in CASES {
        remove_folder(&cache)?;
        let run = |mode: &str| {
            let mut command = programs.command(&program, mode, &cache);
            command.args([launches / threads, values, threads].map(|number| number.to_string()));
            // A variant that is no faster would be dropped, and this kernel has little to gain: kept, it is
            // what is measured.
            command.env("OFFLOOM_JIT_RETIRE", "0");
            if !is_warm {
                command.env("OFFLOOM_JIT_CACHE_MODE", "off");
            }
            numbers::<2>(&tools::output(&mut command)?)
        };
        let mut slowest = Comparison::new(
            format!("{name}: 99.9% of launches, ns"),
            (!is_warm).then_some(GOAL),
        );
        // One more, which fills the cache.
        for repetition in 0..=repetitions {
            let [off, on] = [run("off")?, run("async")?];
            ensure!(
                off[1].total_cmp(&on[1]).is_eq(),
                "{name}: the program computed {} without the JIT and {} with it",
                off[1],
                on[1]
            );
            if repetition > 0 {
                slowest.add(off[0], on[0]);
            }
        }
        text += &slowest.row();
    }
    Ok(text)
}

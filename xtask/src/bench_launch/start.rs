//! Programs that start and end, with a bundle and a large cache and without.

use std::path::Path;

use anyhow::Result;

use super::comparison::{Comparison, Goal, HEAD};
use super::large_cache;
use super::programs::{Programs, WITH_JIT};
use crate::corpus::tools;
use crate::measurement::measure as measure_run;

/// Milliseconds that a start may take longer.
const GOAL: Goal = Goal::More(1.0);

/// Measures starts without and with a launch; the table.
pub(super) fn measure(programs: &Programs<'_>, repetitions: u32) -> Result<String> {
    let sources = ["test/jit/Inputs/start.c"];
    let without = programs.build("start-without", &sources, &[])?;
    let with = programs.build("start-with", &sources, &WITH_JIT)?;
    let cache = programs.folder.join("start-cache");
    tools::output(programs.command(&with, "sync", &cache).arg("launch"))?;
    large_cache::fill(&cache)?;

    let mut text = HEAD.to_owned();
    for (name, argument) in [
        ("no launch", None),
        ("one launch, its variant in the cache", Some("launch")),
    ] {
        let run = |program: &Path| measure_run(programs.command(program, "async", &cache).args(argument));
        let mut wall = Comparison::new(format!("{name}: wall, ms"), argument.is_none().then_some(GOAL));
        let mut processor = Comparison::new(
            format!("{name}: processor, ms"),
            argument.is_none().then_some(GOAL),
        );
        for repetition in 0..=repetitions {
            let [off, on] = [run(&without)?, run(&with)?];
            // The first brings the files into memory.
            if repetition > 0 {
                wall.add(off.wall.as_secs_f64() * 1e3, on.wall.as_secs_f64() * 1e3);
                processor.add(
                    off.processor.as_secs_f64() * 1e3,
                    on.processor.as_secs_f64() * 1e3,
                );
            }
        }
        text += &(wall.row() + &processor.row());
    }
    Ok(text)
}

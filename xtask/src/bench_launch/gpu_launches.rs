//! What the JIT adds to launches on a GPU: on the host, which is all that the virtual GPU can say. It is told
//! to execute nothing, so a launch takes as long as libomptarget and the checks of the driver do.
//!
//! On a GPU the JIT sees all launches of a process, whichever library they come from. So launches with it and
//! without are those of different processes, by turns.

use anyhow::Result;

use super::comparison::{Comparison, Goal, HEAD};
use super::launches::{BLOCK, Case, MOST_VARIANTS, Pairs, hit, one_of_many};
use super::programs::{Programs, numbers};
use crate::bench::statistics::median;
use crate::corpus::tools;

/// Nanoseconds that a launch may cost more.
const A_LAUNCH: Goal = Goal::More(100.0);

/// Who launches what.
const CASES: [Case; 6] = [
    hit("one argument", 1, 1, 1),
    hit("ten arguments", 10, 1, 1),
    hit("ten arguments, 8 threads", 10, 1, 8),
    one_of_many("ten arguments, the last of 256 variants", MOST_VARIANTS - 1, 1),
    hit("ten arguments, 256 variants in turns", 10, MOST_VARIANTS, 1),
    one_of_many(
        "ten arguments, the last of 256 variants, 8 threads",
        MOST_VARIANTS - 1,
        8,
    ),
];

/// Measures all cases with so many launches; the table.
pub(super) fn measure(programs: &Programs<'_>, launches: u32, repetitions: u32) -> Result<String> {
    let pairs = Pairs::build(programs)?;
    let mut text = HEAD.to_owned();
    for case in CASES {
        pairs.check(case, &pairs.libraries[2..])?;
        let rounds = (launches / case.threads / BLOCK).max(1);
        let mut control = Comparison::new(format!("{}: control, ns", case.name), None);
        let mut one = Comparison::new(format!("{}: a launch, ns", case.name), Some(A_LAUNCH));
        for _ in 0..repetitions {
            let run = |mode| a_launch(&pairs, case, rounds, mode);
            let (before, with, after) = (run("off")?, run("sync")?, run("off")?);
            control.add(before, after);
            one.add(f64::midpoint(before, after), with);
        }
        text += &control.row();
        text += &one.row();
    }
    Ok(text)
}

/// Nanoseconds of a launch from the library that is linked for the JIT.
fn a_launch(pairs: &Pairs<'_>, case: Case, rounds: u32, mode: &str) -> Result<f64> {
    let printed = tools::output(&mut pairs.command(case, rounds, mode, &pairs.libraries[2..]))?;
    let rounds: Result<Vec<f64>> = printed
        .lines()
        .map(|line| numbers::<1>(line).map(|[time]| time))
        .collect();
    Ok(median(&rounds?))
}

//! `cargo xtask bench -- PROGRAM ARGUMENTS...`: a program of the user's own, with the JIT off, beside the launches and before them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use super::rounds::empty;
use super::sample::{self, Taken};
use super::statistics;
use super::workload::Printed;

/// A way to run the program: name, `OFFLOOM_JIT`, whether the cache is empty at the start.
const WAYS: [(&str, &str, bool); 4] = [
    ("off", "off", false),
    ("async, empty cache", "async", true),
    ("async, warm cache", "async", false),
    ("sync, empty cache", "sync", true),
];

/// Runs the program in every way in turn, and prints a table.
pub(super) fn run(program: &[String], samples: u32) -> Result<()> {
    let Some((name, arguments)) = program.split_first() else {
        bail!("name a program after `--`");
    };
    let scratch = tempfile::tempdir()?;
    let command = |mode: &str, cache: &Path| {
        let mut command = Command::new(name);
        command.args(arguments).env("OFFLOOM_JIT", mode);
        command.env("OFFLOOM_JIT_CACHE_DIR", cache);
        command
    };
    let warm = scratch.path().join("warm");
    empty(&warm)?;
    sample::run(&mut command("sync", &warm), scratch.path())?;

    let mut results: [Vec<Taken>; WAYS.len()] = Default::default();
    let mut expected: Option<Printed> = None;
    for round in 0..samples {
        println!("round {} of {samples}", round + 1);
        for ((way, mode, is_empty), results) in WAYS.iter().zip(&mut results) {
            let cold = scratch.path().join("cold");
            let cache = if *is_empty { &cold } else { &warm };
            if *is_empty {
                empty(cache)?;
            }
            let (printed, taken) = sample::run(&mut command(mode, cache), scratch.path())?;
            let expected = expected.get_or_insert_with(|| printed.clone());
            ensure!(
                expected.facts == printed.facts,
                "with the JIT {way} the program prints something else than with the JIT off (lines that begin with `time ` are left \
                 out of the comparison):\n{}\ninstead of\n{}",
                printed.facts,
                expected.facts
            );
            results.push(taken);
        }
    }
    print!("{}", table(&results));
    Ok(())
}

fn table(results: &[Vec<Taken>; WAYS.len()]) -> String {
    let mut text = "| JIT | end to end, s | relative to off | kernels, s | relative to off |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let off = &results[0];
    for ((way, ..), taken) in WAYS.iter().zip(results) {
        text += &format!(
            "| {way} | {} | {} |\n",
            cells(taken, off, |taken| Some(taken.total_s)),
            cells(taken, off, |taken| taken.kernel_s)
        );
    }
    text
}

/// The median, and the ratio of pairs with its interval.
fn cells(taken: &[Taken], off: &[Taken], time: fn(&Taken) -> Option<f64>) -> String {
    let seconds: Vec<_> = taken.iter().filter_map(time).collect();
    let pairs = taken.iter().zip(off);
    let ratios: Vec<_> = pairs
        .filter_map(|(taken, off)| Some(time(taken)? / time(off)?))
        .collect();
    match statistics::of_ratios(&ratios) {
        Some(ratio) => format!(
            "{:.3} | {:.2} [{:.2}, {:.2}]",
            statistics::median(&seconds),
            ratio.value,
            ratio.low,
            ratio.high
        ),
        None => "not said by the program | ".to_owned(),
    }
}

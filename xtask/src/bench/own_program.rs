//! `cargo xtask bench -- PROGRAM ARGUMENTS...`: a program of the user's own, with the JIT off, beside the
//! launches and before them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::rounds::{empty, put_in_order};
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
    if warm.read_dir()?.next().is_none() {
        println!(
            "The JIT compiled nothing: was the program linked with `-Xoffload-linker --jit`, and does it launch kernels?"
        );
    }
    let off = || -> Result<Printed> { Ok(sample::run(&mut command("off", &warm), scratch.path())?.0) };
    let expected = Expected::of(&off()?, &off()?);
    let changing = expected.changing();
    if changing > 0 {
        println!(
            "lines that the program prints otherwise in each run, also with the JIT off, and which are not compared: {changing}"
        );
    }

    let mut results: [Vec<Taken>; WAYS.len()] = Default::default();
    for round in 0..samples {
        println!("round {} of {samples}", round + 1);
        let mut order: Vec<usize> = (0..WAYS.len()).collect();
        put_in_order(&mut order, round);
        for index in order {
            let (way, mode, is_empty) = WAYS[index];
            let cold = scratch.path().join("cold");
            let cache = if is_empty { &cold } else { &warm };
            if is_empty {
                empty(cache)?;
            }
            let (printed, taken) = sample::run(&mut command(mode, cache), scratch.path())?;
            if let Some(difference) = expected.difference(&printed) {
                bail!(
                    "with the JIT {way} the program prints something else than with the JIT off (lines that begin with `time ` and those that \
                     are others with each run are left out of the comparison): {difference}"
                );
            }
            results[index].push(taken);
        }
    }
    print!("{}", table(&results));
    Ok(())
}

/// The lines that a program prints with the JIT off; none for one that is another with each run.
#[derive(Debug)]
struct Expected(Vec<Option<String>>);

impl Expected {
    /// What two runs have in common.
    fn of(first: &Printed, second: &Printed) -> Self {
        let (first, second): (Vec<_>, Vec<_>) =
            (first.facts.lines().collect(), second.facts.lines().collect());
        let lines = (0..first.len().max(second.len()))
            .map(|index| {
                let line = first.get(index)?;
                (second.get(index) == Some(line)).then(|| (*line).to_owned())
            })
            .collect();
        Self(lines)
    }

    /// How many lines are others with each run.
    fn changing(&self) -> usize {
        self.0.iter().filter(|line| line.is_none()).count()
    }

    /// The first line that is there in every run but not in this one.
    fn difference(&self, printed: &Printed) -> Option<String> {
        let found: Vec<_> = printed.facts.lines().collect();
        if self.changing() == 0 && found.len() > self.0.len() {
            return Some(format!("`{}` at the end", found[self.0.len()]));
        }
        (0..).zip(&self.0).find_map(|(index, line)| {
            let (line, found): (_, Option<&&str>) = (line.as_ref()?, found.get(index));
            (found != Some(&line.as_str())).then(|| format!("`{}` instead of `{line}`", found.unwrap_or(&"")))
        })
    }
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
    match statistics::of_median(&ratios) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_change_by_themselves_are_not_compared() {
        let printed = |text: &str| Printed::read(text);
        let expected = Expected::of(
            &printed("sum 1\nruntime 0.5\nend\n"),
            &printed("sum 1\nruntime 0.6\nend\n"),
        );
        assert_eq!(expected.changing(), 1);
        assert_eq!(expected.difference(&printed("sum 1\nruntime 0.7\nend\n")), None);
        assert_eq!(
            expected
                .difference(&printed("sum 2\nruntime 0.7\nend\n"))
                .as_deref(),
            Some("`sum 2` instead of `sum 1`")
        );
        assert!(expected.difference(&printed("sum 1\nruntime 0.7\n")).is_some());
        let same = Expected::of(&printed("sum 1\n"), &printed("sum 1\n"));
        assert!(same.difference(&printed("sum 1\nmore\n")).is_some());
    }
}

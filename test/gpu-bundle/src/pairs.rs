//! What the JIT costs a launch, compared within one process: programs differ in where their memory lies, and
//! runs in what the machine does meanwhile, by more than the JIT costs.
//!
//! The program (`test/jit/Inputs/launch-pairs.c`) loads one kernel from three libraries, of which the last is
//! linked for the JIT, and launches blocks from each by turns. What the two others differ by says how far a
//! difference can be trusted.

use std::time::{Duration, Instant};

use crate::archive::Archive;
use crate::plan::Group;
use crate::process;
use crate::results::{Run, Time, Verdict, What};

/// The folder in the archive, the program, and the libraries in the order of what it prints.
pub const FOLDER: &str = "pairs";
/// The program.
pub const PROGRAM: &str = "pairs/launch-pairs";
/// The libraries: without the JIT, the same again, with it.
pub const LIBRARIES: [&str; 3] = ["pairs/libwithout.so", "pairs/libcontrol.so", "pairs/libwith.so"];

/// Rounds of a process, and launches of a block.
const ROUNDS: u32 = 40;
const BLOCK: u32 = 250;
/// Variants, where there are several.
const VARIANTS: u32 = 64;

/// What is measured: kernels with so many variants, of which the last alone is launched, from so many
/// threads.
const CASES: [(&str, u32, u32); 4] = [
    ("1 variant", 1, 1),
    ("1 variant, 8 threads", 1, 8),
    ("64 variants", VARIANTS, 1),
    ("64 variants, 8 threads", VARIANTS, 8),
];

/// How the program names itself in the results.
const NAME: &str = "launch-pairs";

/// Compares launches until `end`, each process for at most `limit`: what became of it, and the times.
#[must_use]
pub fn run(archive: &Archive, limit: Duration, end: Instant) -> (Vec<Run>, Vec<Time>) {
    let (mut runs, mut times) = (Vec::new(), Vec::new());
    for (case, variants, threads) in CASES {
        let time = |configuration: &str| Time {
            program: NAME.to_owned(),
            configuration: configuration.to_owned(),
            what: What::ProcessorTime,
            kernel: case.to_owned(),
            stock_us: Vec::new(),
            other_us: Vec::new(),
        };
        let (mut control, mut jit) = (time("the same again"), time("JIT"));
        let (begin, mut problem) = (Instant::now(), None);
        // Each library is the first to be loaded once.
        for first in 0..LIBRARIES.len() {
            if Instant::now() >= end {
                break;
            }
            match compare(archive, variants, threads, first, limit) {
                Ok(blocks) => {
                    for [without, again, with] in blocks {
                        control.stock_us.push(without);
                        control.other_us.push(again);
                        jit.stock_us.push(f64::midpoint(without, again));
                        jit.other_us.push(with);
                    }
                }
                Err(why) => {
                    problem = Some(why);
                    break;
                }
            }
        }
        if control.stock_us.is_empty() && problem.is_none() {
            continue;
        }
        runs.push(Run {
            program: NAME.to_owned(),
            group: Group::Breaking,
            mode: case.to_owned(),
            verdict: problem.map_or(Verdict::Right, Verdict::Failed),
            seconds: begin.elapsed().as_secs_f64(),
            of_variants: 0,
            ahead_of_time: 0,
        });
        times.extend([control, jit]);
    }
    (runs, times)
}

/// Runs one process, in which the library with this number is loaded first: [`blocks`], or why there are
/// none.
fn compare(
    archive: &Archive,
    variants: u32,
    threads: u32,
    first: usize,
    limit: Duration,
) -> Result<Vec<[f64; 3]>, String> {
    let rounds = match archive.device.is_virtual() {
        true => 1,
        false => ROUNDS.div_ceil(threads),
    };
    let numbers = [rounds, BLOCK, 10, variants, variants - 1, 1, threads];
    let mut libraries = LIBRARIES.map(|library| archive.folder.join(library));
    libraries.rotate_left(first);
    let settings = [
        ("OFFLOOM_JIT", "sync"),
        ("OFFLOOM_JIT_RETIRE", "0"),
        ("OFFLOOM_JIT_THRESHOLD", "1000000"),
        ("OFFLOOM_JIT_STRICT", "1"),
    ];
    let mut command = archive.command(PROGRAM, &settings);
    command.args(numbers.map(|number| number.to_string()));
    command.args(libraries);
    if let Ok(scratch) = archive.scratch(NAME) {
        command.env("OFFLOOM_JIT_CACHE_DIR", scratch.join("cache"));
    }
    let ended = process::run(&mut command, limit);
    match ended.problem {
        Some(problem) => Err(format!("{problem}: {}", ended.err.trim())),
        None => blocks(&ended.out, first).ok_or_else(|| format!("`{}` is no result", ended.out.trim())),
    }
}

/// Microseconds of a launch in each block, in the order of [`LIBRARIES`], where that with this number was
/// loaded first.
fn blocks(printed: &str, first: usize) -> Option<Vec<[f64; 3]>> {
    let of_line = |line: &str| {
        let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        let mut block = <[f64; 3]>::try_from(numbers.ok()?).ok()?;
        block.rotate_right(first);
        Some(block.map(|nanoseconds| nanoseconds / 1e3))
    };
    printed.lines().map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_in_the_order_of_the_libraries() {
        assert_eq!(blocks("1000 2000 3000\n", 0), Some(vec![[1.0, 2.0, 3.0]]));
        // The second library was loaded first.
        assert_eq!(blocks("2000 3000 1000\n", 1), Some(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(blocks("2000 3000\n", 0), None);
        assert_eq!(blocks("no time\n", 0), None);
    }
}

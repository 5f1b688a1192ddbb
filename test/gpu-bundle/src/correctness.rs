//! Programs in every form and mode, compared with what they print as LLVM's own tools link them.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::archive::Archive;
use crate::plan::Program;
use crate::process;
use crate::results::{Run, Verdict};

/// How lines of workloads begin that differ from run to run.
const CHANGING: &str = "time ";

/// Results of sums depend on the number of teams, and GPUs have different numbers of multiprocessors.
const TEAMS: (&str, &str) = ("OMP_NUM_TEAMS", "4");

/// One way to run a program: its name, the file, and the JIT's settings. All share one cache, in this order,
/// so each finds it as the one before has left it.
type Mode = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Those of a program with the JIT.
const MODES: [Mode; 6] = [
    ("off", "jit", &[("OFFLOOM_JIT", "off")]),
    (
        "async",
        "jit",
        &[("OFFLOOM_JIT", "async"), ("OFFLOOM_JIT_CACHE_MODE", "off")],
    ),
    ("sync, cold", "jit", &SYNC),
    ("sync, warm", "jit", &SYNC),
    ("only, cold", "only", &SYNC),
    ("only, warm", "only", &SYNC),
];

const SYNC: [(&str, &str); 3] = [
    ("OFFLOOM_JIT", "sync"),
    ("OFFLOOM_JIT_RETIRE", "0"),
    ("OFFLOOM_JIT_CACHE_MODE", "rw"),
];

/// Runs all programs, several at a time, each for at most `limit`; after `end` none is begun.
#[must_use]
pub fn run(archive: &Archive, limit: Duration, end: Instant) -> Vec<Run> {
    let queue = Mutex::new(archive.plan.programs.iter().enumerate().collect::<VecDeque<_>>());
    let next = || queue.lock().ok()?.pop_front();
    // Programs have threads of their own, and so has the virtual GPU.
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .div_ceil(2)
        .min(6);
    let mut runs: Vec<_> = thread::scope(|scope| {
        let work = || {
            let mut runs = Vec::new();
            while let Some((index, program)) = next() {
                println!("{}", program.name);
                runs.push((
                    index,
                    OneProgram {
                        archive,
                        program,
                        limit,
                        end,
                    }
                    .run(),
                ));
            }
            runs
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_default())
            .collect()
    });
    runs.sort_by_key(|(index, _)| *index);
    runs.into_iter().flat_map(|(_, runs)| runs).collect()
}

struct OneProgram<'a> {
    archive: &'a Archive,
    program: &'a Program,
    limit: Duration,
    end: Instant,
}

impl OneProgram<'_> {
    fn run(&self) -> Vec<Run> {
        let folder = format!("programs/{}", self.program.name);
        let expected = fs::read_to_string(self.archive.folder.join(&folder).join("expected"));
        let (mut stock, printed) = self.one("stock", "stock", &[]);
        let printed = printed.inspect(|printed| {
            let Ok(expected) = &expected else { return };
            stock.verdict = match difference(expected, printed) {
                None => Verdict::Right,
                Some(difference) if self.program.is_exact => Verdict::Wrong(difference),
                Some(difference) => {
                    Verdict::Noted(format!("other digits than on the virtual GPU: {difference}"))
                }
            };
        });
        let mut runs = vec![stock];
        for (mode, form, settings) in MODES {
            let (mut run, with_jit) = self.one(mode, form, settings);
            if let Some(with_jit) = with_jit {
                run.verdict = match printed.as_deref().map(|printed| difference(printed, &with_jit)) {
                    Some(None) => Verdict::Right,
                    Some(Some(difference)) => Verdict::Wrong(difference),
                    None => Verdict::LeftOut("the stock link printed nothing to compare with".to_owned()),
                };
            }
            runs.push(run);
        }
        runs
    }

    /// Runs the program once. What it printed, if it ended well; the verdict is the caller's then.
    fn one(&self, mode: &str, form: &str, settings: &[(&str, &str)]) -> (Run, Option<String>) {
        let mut run = Run {
            program: self.program.name.clone(),
            group: self.program.group,
            mode: mode.to_owned(),
            verdict: Verdict::LeftOut("no time is left".to_owned()),
            seconds: 0.0,
            of_variants: 0,
            ahead_of_time: 0,
        };
        if Instant::now() >= self.end {
            return (run, None);
        }
        let scratch = match self.archive.scratch(&format!("programs/{}", self.program.name)) {
            Ok(scratch) => scratch,
            Err(error) => {
                run.verdict = Verdict::Failed(format!("{error:#}"));
                return (run, None);
            }
        };
        let file = format!("programs/{}/{form}", self.program.name);
        let mut command = self.archive.command(&file, settings);
        let kept = scratch.join(mode.replace(", ", "-"));
        let statistics = kept.with_extension("json");
        command.args(&self.program.arguments);
        command.env(TEAMS.0, TEAMS.1);
        command.env("OFFLOOM_JIT_STRICT", "1");
        command.env("OFFLOOM_JIT_CACHE_DIR", scratch.join("cache"));
        command.env("OFFLOOM_JIT_STATS", &statistics);
        let ended = process::run(&mut command, self.limit);
        ended.keep(&kept);
        run.seconds = ended.took.as_secs_f64();
        (run.of_variants, run.ahead_of_time) = launches(&statistics);
        if let Some(problem) = ended.problem {
            run.verdict = Verdict::Failed(format!("{problem}: {}", last_line(&ended.err)));
            return (run, None);
        }
        let lines = ended.out.lines().filter(|line| !line.starts_with(CHANGING));
        (run, Some(lines.map(|line| format!("{line}\n")).collect()))
    }
}

/// The last line of what a program wrote.
pub(crate) fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or("it wrote nothing")
}

/// The first line in which two texts differ.
fn difference(expected: &str, printed: &str) -> Option<String> {
    if expected == printed {
        return None;
    }
    let (mut expected, mut printed) = (expected.lines(), printed.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (expected.next(), printed.next()) {
            (Some(expected), Some(printed)) if expected == printed => {}
            (None, None) => return Some("other ends of lines".to_owned()),
            (expected, printed) => {
                let shown = |line: Option<&str>| {
                    line.map_or_else(|| "nothing".to_owned(), |line| format!("`{line}`"))
                };
                return Some(format!(
                    "line {number}: {} instead of {}",
                    shown(printed),
                    shown(expected)
                ));
            }
        }
    }
}

/// Launches that ran variants, and those that ran ahead-of-time code, as the statistics say.
fn launches(statistics: &Path) -> (u64, u64) {
    let kernels = kernels(statistics);
    let sum = |name: &str| kernels.iter().filter_map(|kernel| kernel[name].as_u64()).sum();
    (sum("launches_of_variants"), sum("launches_ahead_of_time"))
}

/// The kernels in a file of statistics. A program without any for the JIT leaves no file.
pub(crate) fn kernels(statistics: &Path) -> Vec<Value> {
    let text = fs::read_to_string(statistics).unwrap_or_default();
    let statistics: Value = serde_json::from_str(&text).unwrap_or_default();
    statistics["kernels"].as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_told() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            difference("a\nb\n", "a\nc\n").as_deref(),
            Some("line 2: `c` instead of `b`")
        );
        assert_eq!(
            difference("a\nb\n", "a\n").as_deref(),
            Some("line 2: nothing instead of `b`")
        );
        assert_eq!(
            difference("a\n", "a\nb\n").as_deref(),
            Some("line 2: `b` instead of nothing")
        );
        assert_eq!(difference("a\n", "a").as_deref(), Some("other ends of lines"));
    }
}

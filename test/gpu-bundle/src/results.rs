//! What came out of a run: the table at its end, and the file of which `cargo xtask gpu-bundle --page` makes
//! a page.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use offloom_text_table::{Table, printable_line};
use serde::{Deserialize, Serialize};

use crate::plan::Group;

/// How the virtual GPU's name begins: what it takes is no time of a GPU.
const VIRTUAL: &str = "Offloom virtual GPU";

/// The file's name.
pub const FILE: &str = "gpu-results.json";

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// LLVM's major version.
    pub llvm: u32,
    /// The commit that the archive was made of.
    pub commit: String,
    /// The day on which it ran, in UTC: `2026-11-27`. Empty in files of earlier versions.
    #[serde(default)]
    pub date: String,
    /// Where it ran.
    pub device: Device,
    /// How long the run took, in seconds.
    pub seconds: f64,
    /// Runs of programs.
    pub runs: Vec<Run>,
    /// Times of workloads; none on a virtual GPU.
    pub times: Vec<Time>,
    /// Kernels about threads.
    pub threads: Vec<Threads>,
}

/// The first device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// As the driver names it.
    pub name: String,
    /// Its processor, as in `sm_90`.
    pub processor: String,
    /// The driver's version of CUDA, as in `13.0`.
    pub driver: String,
}

impl Device {
    /// Reads what `bin/probe device` prints: one line each for the name, the compute capability, and the
    /// driver's version as a number.
    ///
    /// # Errors
    /// When it prints something else.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let (name, capability, version) = (lines.next(), lines.next(), lines.next());
        let read = || {
            let (major, minor) = capability?.split_once(' ')?;
            let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
            let version: u32 = version?.parse().ok()?;
            Some(Self {
                name: name?.to_owned(),
                processor: format!("sm_{major}{minor}"),
                driver: format!("{}.{}", version / 1000, version % 1000 / 10),
            })
        };
        read().with_context(|| format!("`bin/probe device` prints `{}`", printable_line(text)))
    }

    /// Whether it is no GPU.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.name.starts_with(VIRTUAL)
    }
}

/// What became of something that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is as it must be.
    Right,
    /// It is not: how it differs.
    Wrong(String),
    /// It did not come to its end: why.
    Failed(String),
    /// It was not run: why.
    LeftOut(String),
    /// It ran, and nothing says what it must be.
    Noted(String),
}

impl Verdict {
    /// The word for it, and the rest.
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Right => ("right", ""),
            Self::Wrong(how) => ("WRONG", how),
            Self::Failed(why) => ("FAILED", why),
            Self::LeftOut(why) => ("left out", why),
            Self::Noted(what) => ("noted", what),
        }
    }

    /// Whether something has to be looked into.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Failed(_))
    }
}

/// One program in one form and mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The program.
    pub program: String,
    /// Where it is from.
    pub group: Group,
    /// How it was linked and run.
    pub mode: String,
    /// What became of it.
    pub verdict: Verdict,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Launches that ran a variant.
    pub of_variants: u64,
    /// Launches that ran the base image's kernel, with the JIT.
    pub ahead_of_time: u64,
}

/// One kernel of a workload, in the stock link and in another way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// The workload.
    pub program: String,
    /// The other way.
    pub configuration: String,
    /// What is timed.
    pub what: What,
    /// The kernel.
    pub kernel: String,
    /// Microseconds in the stock link, in each pair of runs.
    pub stock_us: Vec<f64>,
    /// In the other way.
    pub other_us: Vec<f64>,
}

/// What a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A launch, the median of a run, by the host's clock, from its call to its end.
    Launch,
    /// The fastest launch of a run, by the host's clock.
    FastestLaunch,
    /// A launch that one of a thousand takes longer than, by the host's clock.
    SlowLaunch,
    /// All launches of a run together, by the host's clock.
    AllLaunches,
    /// A kernel, by events of the device, as the JIT has compared it with the base image's.
    Kernel,
    /// A launch, by the processor time of its thread, in each block of launches.
    ProcessorTime,
    /// Making the first variant, in `sync`: compiling and loading. There is none without the JIT.
    FirstVariant,
}

impl What {
    fn shown(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::FastestLaunch => "fastest launch",
            Self::SlowLaunch => "launch, p99.9",
            Self::AllLaunches => "all launches",
            Self::Kernel => "kernel, by events",
            Self::ProcessorTime => "launch, processor time",
            Self::FirstVariant => "first variant",
        }
    }
}

/// One kernel about threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    /// The kernel.
    pub kernel: String,
    /// What became of it.
    pub verdict: Verdict,
    /// The device's 128 words, if it came to its end.
    pub words: Vec<u32>,
}

impl Time {
    /// Medians of the stock link and of the other way, and of the ratios of pairs; the last says how many
    /// times faster.
    fn medians(&self) -> (Option<f64>, Option<f64>, Option<f64>) {
        let ratios: Vec<_> = self
            .stock_us
            .iter()
            .zip(&self.other_us)
            .map(|(stock, other)| stock / other)
            .collect();
        (median(&self.stock_us), median(&self.other_us), median(&ratios))
    }
}

/// The middle of some numbers.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?;
    Some(match middle.checked_sub(1).and_then(|below| sorted.get(below)) {
        Some(lower) if sorted.len().is_multiple_of(2) => f64::midpoint(*lower, *upper),
        _ => *upper,
    })
}

/// The geometric mean of ratios, if there are some.
#[must_use]
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}

/// A number with so many digits, or nothing.
fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.digits$}"))
}

impl Results {
    /// How many verdicts have to be looked into.
    #[must_use]
    pub fn bad(&self) -> usize {
        let runs = self.runs.iter().map(|run| &run.verdict);
        let threads = self.threads.iter().map(|threads| &threads.verdict);
        runs.chain(threads).filter(|verdict| verdict.is_bad()).count()
    }

    /// Names of programs, each once, in the order of their runs.
    fn programs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !names.contains(&run.program.as_str()) {
                names.push(&run.program);
            }
        }
        names
    }

    /// One row for each program: how many of its runs are right, which are not, and what ran.
    fn program_rows(&self) -> Vec<[String; 5]> {
        let row = |name: &str| {
            let runs: Vec<_> = self.runs.iter().filter(|run| run.program == name).collect();
            let right = runs.iter().filter(|run| run.verdict == Verdict::Right).count();
            let mut others = Vec::new();
            for run in runs.iter().filter(|run| run.verdict != Verdict::Right) {
                let (word, detail) = run.verdict.parts();
                others.push(format!("{}: {word}: {detail}", run.mode));
            }
            let variants: u64 = runs.iter().map(|run| run.of_variants).sum();
            let ahead: u64 = runs.iter().map(|run| run.ahead_of_time).sum();
            let right = format!("{right} of {}", runs.len());
            [
                name.to_owned(),
                right,
                variants.to_string(),
                ahead.to_string(),
                others.join("; "),
            ]
        };
        self.programs().into_iter().map(row).collect()
    }

    fn time_rows(&self) -> Vec<[String; 7]> {
        let row = |time: &Time| {
            let (stock, other, ratio) = time.medians();
            [
                time.program.clone(),
                time.configuration.clone(),
                time.what.shown().to_owned(),
                time.kernel.clone(),
                number(stock, 2),
                number(other, 2),
                number(ratio, 3),
            ]
        };
        self.times.iter().map(row).collect()
    }

    /// One row for each way and each thing that is timed: over how many kernels, the geometric mean of how
    /// many times as fast they are, and the least.
    fn summary_rows(&self) -> Vec<[String; 5]> {
        let mut groups: Vec<(&str, What, Vec<f64>)> = Vec::new();
        for time in &self.times {
            let (_, _, Some(ratio)) = time.medians() else {
                continue;
            };
            let is_it = |(how, what, _): &&mut (&str, What, Vec<f64>)| {
                *how == time.configuration && *what == time.what
            };
            match groups.iter_mut().find(is_it) {
                Some((_, _, ratios)) => ratios.push(ratio),
                None => groups.push((&time.configuration, time.what, vec![ratio])),
            }
        }
        let row = |(how, what, ratios): (&str, What, Vec<f64>)| {
            let least = ratios.iter().copied().reduce(f64::min);
            [
                how.to_owned(),
                what.shown().to_owned(),
                ratios.len().to_string(),
                number(geometric_mean(&ratios), 3),
                number(least, 3),
            ]
        };
        groups.into_iter().map(row).collect()
    }

    fn thread_rows(&self) -> Vec<[String; 3]> {
        let row = |threads: &Threads| {
            let (word, detail) = threads.verdict.parts();
            [threads.kernel.clone(), word.to_owned(), detail.to_owned()]
        };
        self.threads.iter().map(row).collect()
    }

    /// The line that says where it ran, and what its times are worth.
    fn heading(&self) -> String {
        let Device {
            name,
            processor,
            driver,
        } = &self.device;
        let times = if self.device.is_virtual() {
            " (virtual GPU: no times)"
        } else {
            ""
        };
        format!("{name}, {processor}, driver for CUDA {driver}{times}")
    }

    /// What the run says at its end.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!("\n{}\n\n", printable_line(&self.heading()));
        let mut add = |headings: &[&str], rows: Vec<Vec<String>>| {
            let mut table = Table::new(headings);
            for row in rows {
                table.row(row);
            }
            if !table.is_empty() {
                text += &table.lines(0);
                text.push('\n');
            }
        };
        add(
            &PROGRAMS,
            self.program_rows().into_iter().map(Vec::from).collect(),
        );
        add(&TIMES, self.time_rows().into_iter().map(Vec::from).collect());
        add(&THREADS, self.thread_rows().into_iter().map(Vec::from).collect());
        let count = |is: fn(&Verdict) -> bool| {
            let runs = self.runs.iter().map(|run| &run.verdict);
            runs.chain(self.threads.iter().map(|threads| &threads.verdict))
                .filter(|verdict| is(verdict))
                .count()
        };
        let _ = writeln!(
            text,
            "{} right, {} wrong, {} failed, {} left out, in {:.0} s",
            count(|verdict| *verdict == Verdict::Right),
            count(|verdict| matches!(verdict, Verdict::Wrong(_))),
            count(|verdict| matches!(verdict, Verdict::Failed(_))),
            count(|verdict| matches!(verdict, Verdict::LeftOut(_))),
            self.seconds
        );
        text
    }

    /// The page of `docs/results`.
    #[must_use]
    pub fn page(&self) -> String {
        let mut text = format!(
            "# On a GPU\n\n\
             What the archive of `cargo xtask gpu-bundle` found ([how](../dev/gpu-bundle.md)); written by\n\
             `cargo xtask gpu-bundle --page`.\n\n\
             {}. LLVM {}, commit {}{}. {} verdicts are bad.\n",
            cell(&self.heading()),
            self.llvm,
            cell(&self.commit),
            if self.date.is_empty() {
                String::new()
            } else {
                format!(", on {}", cell(&self.date))
            },
            self.bad()
        );
        text += if self.device.is_virtual() {
            "\n**This is no GPU.** It shows that the archive works.\n"
        } else {
            "**Versions later than that commit have not been measured on a GPU.**\n"
        };
        if !self.times.is_empty() {
            text += HOW_TO_READ;
        }
        let mut add = |title: &str, headings: &[&str], rows: Vec<Vec<String>>| {
            if rows.is_empty() {
                return;
            }
            let _ = writeln!(text, "\n## {title}\n\n| {} |", headings.join(" | "));
            let _ = writeln!(text, "|{}", " --- |".repeat(headings.len()));
            for row in rows {
                let cells: Vec<_> = row.iter().map(|text| cell(text)).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
            }
        };
        let rows = self.program_rows().into_iter().map(Vec::from).collect();
        add("Programs", &PROGRAMS, rows);
        let rows = self.summary_rows().into_iter().map(Vec::from).collect();
        add("Times as fast, in summary", &SUMMARY, rows);
        let rows = self.time_rows().into_iter().map(Vec::from).collect();
        add("Times, in microseconds", &TIMES, rows);
        let rows = self.thread_rows().into_iter().map(Vec::from).collect();
        add("Threads", &THREADS, rows);
        text
    }
}

/// What the columns of times are.
const HOW_TO_READ: &str = "\n\
    Times: `JIT` is how users run it, with a cache that holds the variants, where those that are no faster are\n\
    retired; launches on trial are in its times. `all`, `arguments` and `launch` keep every variant, however slow,\n\
    of all specialisations or of some; where a variant was not in the cache, \"all launches\" holds its compile. A\n\
    launch is timed by the host's clock, from its call to its end; `kernel, by events` is what the JIT itself has\n\
    measured of a kernel on trial.\n";

const PROGRAMS: [&str; 5] = [
    "program",
    "right",
    "launches of variants",
    "ahead of time",
    "what else",
];
const SUMMARY: [&str; 5] = [
    "how",
    "what",
    "kernels",
    "times as fast (geometric mean)",
    "least",
];
const TIMES: [&str; 7] = [
    "program",
    "how",
    "what",
    "kernel",
    "stock, us",
    "so, us",
    "times as fast",
];
const THREADS: [&str; 3] = ["kernel about threads", "verdict", "what"];

/// Text of others in a cell of a table in Markdown.
fn cell(text: &str) -> String {
    printable_line(text)
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(program: &str, mode: &str, verdict: Verdict) -> Run {
        Run {
            program: program.to_owned(),
            group: Group::Breaking,
            mode: mode.to_owned(),
            verdict,
            seconds: 0.5,
            of_variants: 3,
            ahead_of_time: 1,
        }
    }

    fn results() -> Results {
        Results {
            llvm: 19,
            commit: "abc".to_owned(),
            date: "2026-11-27".to_owned(),
            device: Device::parse("NVIDIA H100\n9 0\n13000\n").unwrap(),
            seconds: 60.0,
            runs: vec![
                run("globals", "stock", Verdict::Right),
                run("globals", "sync", Verdict::Wrong("line 2: `a|b`".to_owned())),
                run("heap", "stock", Verdict::Failed("ended with status 1".to_owned())),
            ],
            times: vec![Time {
                program: "wave".to_owned(),
                configuration: "JIT".to_owned(),
                what: What::Launch,
                kernel: "step".to_owned(),
                stock_us: vec![30.0, 40.0, 20.0],
                other_us: vec![10.0, 20.0, 20.0],
            }],
            threads: vec![Threads {
                kernel: "shfl_up".to_owned(),
                verdict: Verdict::Noted("1 2".to_owned()),
                words: vec![1, 2],
            }],
        }
    }

    #[test]
    fn the_table_names_all_that_is_not_right() {
        let table = results().table();
        for expected in [
            "NVIDIA H100, sm_90, driver for CUDA 13.0\n",
            "sync: WRONG: line 2: `a|b`",
            "stock: FAILED: ended with status 1",
            "1 of 2",
            "1 right, 1 wrong, 1 failed, 0 left out, in 60 s",
        ] {
            assert!(table.contains(expected), "`{expected}` is not in\n{table}");
        }
        assert_eq!(results().bad(), 2);
        let row = table.lines().find(|line| line.starts_with("wave")).unwrap();
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(
            cells,
            ["wave", "JIT", "launch", "step", "30.00", "20.00", "2.000"]
        );
    }

    #[test]
    fn a_virtual_gpu_has_no_times() {
        let mut results = results();
        assert!(!results.table().contains("no times"));
        results.device.name = "Offloom virtual GPU sm_80".to_owned();
        assert!(results.table().contains("(virtual GPU: no times)"));
        assert!(results.page().contains("This is no GPU."));
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let text = serde_json::to_string(&results()).unwrap();
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results());
    }

    #[test]
    fn no_text_of_a_program_breaks_the_page() {
        let page = results().page();
        assert!(
            page.contains("| globals | 1 of 2 | 6 | 2 | sync: WRONG: line 2: `a\\|b` |"),
            "{page}"
        );
    }

    #[test]
    fn what_is_no_device_is_refused() {
        for text in ["", "name\n", "name\n9\n13000\n", "name\n9 0\nnew\n"] {
            assert!(Device::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }
}

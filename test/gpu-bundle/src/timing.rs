//! Workloads by turns without the JIT and in other ways, alone on the machine.
//!
//! A run in which all launches wait for their variants comes first. It fills the cache, and says what making
//! variants takes.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::archive::Archive;
use crate::correctness::kernels;
use crate::plan::Program;
use crate::process;
use crate::results::{Time, What};

/// A way to run a workload, beside the stock link in the same turn.
struct Configuration {
    /// As the table names it.
    name: &'static str,
    /// The file.
    form: &'static str,
    /// The JIT's settings.
    settings: &'static [(&'static str, &'static str)],
    /// Whether the variants that it uses are in the cache after the first run of all, or none are to be.
    has_variants: bool,
}

/// As users run it: variants that are no faster are retired. The cache has all of them.
const JIT: Configuration = Configuration {
    name: "JIT",
    form: "jit",
    settings: &[("OFFLOOM_JIT", "sync"), ("OFFLOOM_JIT_CACHE_MODE", "rw")],
    has_variants: true,
};

/// The link by LLVM's tools.
const STOCK: Configuration = Configuration {
    name: "stock",
    form: "stock",
    settings: &[],
    has_variants: true,
};

/// All that can be specialised is, and kept however slow.
const ALL: Configuration = Configuration {
    has_variants: true,
    ..alone("all", &alone_settings("args,align,launch"))
};

/// Further ways, each run once in a while. Variants of a specialisation alone are kept, to see what it does.
const OTHERS: [Configuration; 5] = [
    Configuration {
        name: "JIT, async, cold",
        form: "jit",
        settings: &[("OFFLOOM_JIT", "async"), ("OFFLOOM_JIT_CACHE_MODE", "off")],
        has_variants: true,
    },
    ALL,
    alone("arguments", &alone_settings("args")),
    alone("launch", &alone_settings("align,launch")),
    Configuration {
        name: "--jit=only",
        form: "only",
        settings: &[("OFFLOOM_JIT", "sync"), ("OFFLOOM_JIT_CACHE_MODE", "rw")],
        has_variants: false,
    },
];

const fn alone_settings(what: &'static str) -> [(&'static str, &'static str); 4] {
    [
        ("OFFLOOM_JIT", "sync"),
        ("OFFLOOM_JIT_CACHE_MODE", "rw"),
        ("OFFLOOM_JIT_RETIRE", "0"),
        ("OFFLOOM_JIT_SPECIALIZE", what),
    ]
}

const fn alone(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Configuration {
    Configuration {
        name,
        form: "jit",
        settings,
        has_variants: false,
    }
}

/// Turns of all workloads. In the second, all configurations are run.
const TURNS: usize = 6;
const TURN_OF_ALL: usize = 1;

/// Runs the workloads that are timed, each run for at most `limit`, until `end`. Workloads come by turns, so
/// that where the time is short all have some pairs.
#[must_use]
pub fn run(archive: &Archive, limit: Duration, end: Instant) -> Vec<Time> {
    let programs: Vec<_> = archive
        .plan
        .programs
        .iter()
        .filter(|program| program.timed.is_some())
        .collect();
    let mut times = Vec::new();
    for program in &programs {
        if Instant::now() < end {
            println!("{}: the first variant", program.name);
            let first = Configuration {
                name: "first variant",
                ..ALL
            };
            let ran = one(archive, program, &first, 0, limit);
            first_variants(&mut times, &program.name, &ran.kernels);
        }
    }
    for turn in 0..TURNS {
        for program in &programs {
            if Instant::now() >= end {
                return times;
            }
            println!("{}: turn {} of {TURNS}", program.name, turn + 1);
            let others = if turn == TURN_OF_ALL { &OTHERS[..] } else { &[] };
            let stock = || one(archive, program, &STOCK, turn, limit);
            let jit = || one(archive, program, &JIT, turn, limit);
            // Each comes first as often.
            let (stock, with_jit) = if turn.is_multiple_of(2) {
                (stock(), jit())
            } else {
                let with_jit = jit();
                (stock(), with_jit)
            };
            add_pairs(
                &mut times,
                &program.name,
                JIT.name,
                &stock.launches,
                &with_jit.launches,
            );
            add_events(&mut times, &program.name, &with_jit.kernels);
            for other in others {
                if !other.has_variants {
                    // Fills the cache.
                    let _ = one(archive, program, other, turn, limit);
                }
                let ran = one(archive, program, other, turn, limit);
                add_pairs(
                    &mut times,
                    &program.name,
                    other.name,
                    &stock.launches,
                    &ran.launches,
                );
            }
        }
    }
    times
}

/// What a run of a workload says.
#[derive(Debug, Default)]
struct Ran {
    /// Its kernels, as it prints their times.
    launches: Vec<Launches>,
    /// Those of the JIT's statistics.
    kernels: Vec<Value>,
}

/// The launches of a kernel, in microseconds.
#[derive(Debug, PartialEq)]
struct Launches {
    kernel: String,
    least_us: f64,
    median_us: f64,
    total_us: f64,
    /// What one launch of a thousand takes longer than; few programs say it.
    p999_us: Option<f64>,
}

/// Runs a workload once.
fn one(
    archive: &Archive,
    program: &Program,
    configuration: &Configuration,
    turn: usize,
    limit: Duration,
) -> Ran {
    let Ok(scratch) = archive.scratch(&format!("times/{}", program.name)) else {
        return Ran::default();
    };
    let file = format!("programs/{}/{}", program.name, configuration.form);
    let kept = scratch.join(format!("{}-{turn}", configuration.name.replace(", ", "-")));
    let statistics = kept.with_extension("json");
    let mut command = archive.command(&file, configuration.settings);
    command.args(program.timed.iter().flatten());
    for (name, value) in &program.settings {
        command.env(name, value);
    }
    command.env("OFFLOOM_JIT_CACHE_DIR", scratch.join("cache"));
    command.env("OFFLOOM_JIT_STATS", &statistics);
    let ended = process::run(&mut command, limit);
    ended.keep(&kept);
    if let Some(problem) = ended.problem {
        println!("{} {}: no times: {problem}", program.name, configuration.name);
        return Ran::default();
    }
    Ran {
        launches: ended.out.lines().filter_map(launches).collect(),
        kernels: kernels(Path::new(&statistics)),
    }
}

/// What a line that a workload prints says of a kernel's launches.
fn launches(line: &str) -> Option<Launches> {
    let (kernel, rest) = line.strip_prefix("time ")?.split_once(' ')?;
    let us = |name: &str| {
        let seconds: f64 = rest
            .split_whitespace()
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))?
            .parse()
            .ok()?;
        Some(seconds * 1e6)
    };
    Some(Launches {
        kernel: kernel.to_owned(),
        least_us: us("min_s")?,
        median_us: us("median_s")?,
        total_us: us("total_s")?,
        p999_us: us("p999_s"),
    })
}

/// The row for something that is timed.
fn row<'a>(
    times: &'a mut Vec<Time>,
    program: &str,
    configuration: &str,
    what: What,
    kernel: &str,
) -> &'a mut Time {
    let is = |time: &Time| {
        time.program == program
            && time.configuration == configuration
            && time.what == what
            && time.kernel == kernel
    };
    let index = times.iter().position(is).unwrap_or(times.len());
    if index == times.len() {
        times.push(Time {
            program: program.to_owned(),
            configuration: configuration.to_owned(),
            what,
            kernel: kernel.to_owned(),
            stock_us: Vec::new(),
            other_us: Vec::new(),
        });
    }
    &mut times[index]
}

fn add_pairs(
    times: &mut Vec<Time>,
    program: &str,
    configuration: &str,
    stock: &[Launches],
    other: &[Launches],
) {
    for of_stock in stock {
        if let Some(of_other) = other.iter().find(|other| other.kernel == of_stock.kernel) {
            let mut values = vec![
                (What::FastestLaunch, of_stock.least_us, of_other.least_us),
                (What::Launch, of_stock.median_us, of_other.median_us),
                (What::AllLaunches, of_stock.total_us, of_other.total_us),
            ];
            if let (Some(of_stock), Some(of_other)) = (of_stock.p999_us, of_other.p999_us) {
                values.push((What::SlowLaunch, of_stock, of_other));
            }
            for (what, stock_us, other_us) in values {
                let row = row(times, program, configuration, what, &of_stock.kernel);
                row.stock_us.push(stock_us);
                row.other_us.push(other_us);
            }
        }
    }
}

/// What a variant of a kernel says of itself on the first image copy.
fn copy(variant: &Value) -> &Value {
    &variant["copies"][0]
}

fn add_events(times: &mut Vec<Time>, program: &str, kernels: &[Value]) {
    for kernel in kernels {
        for variant in kernel["variants"].as_array().into_iter().flatten() {
            let of = |name: &str| copy(variant)[name].as_f64().map(|ns| ns / 1e3);
            if let (Some(stock_us), Some(jit_us)) = (of("ahead_of_time_ns"), of("variant_ns")) {
                let name = kernel["name"].as_str().unwrap_or_default();
                let row = row(times, program, JIT.name, What::Kernel, name);
                row.stock_us.push(stock_us);
                row.other_us.push(jit_us);
            }
        }
    }
}

fn first_variants(times: &mut Vec<Time>, program: &str, kernels: &[Value]) {
    for kernel in kernels {
        let Some(variant) = kernel["variants"].get(0) else {
            continue;
        };
        let phases = variant["phases"].as_object().into_iter().flatten();
        let compiled: f64 = phases.filter_map(|(_, us)| us.as_f64()).sum();
        if let (true, Some(loaded)) = (compiled > 0.0, copy(variant)["link_us"].as_f64()) {
            let name = kernel["name"].as_str().unwrap_or_default();
            row(times, program, JIT.name, What::FirstVariant, name)
                .other_us
                .push(compiled + loaded);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_launch_is_its_median() {
        let line = "time step launches=6 total_s=0.5 first_s=0.3 min_s=0.01 median_s=0.000020";
        let found = launches(line).unwrap();
        assert_eq!(found.kernel, "step");
        assert!((found.median_us - 20.0).abs() < 1e-9, "{found:?}");
        assert!((found.total_us - 5e5).abs() < 1e-6, "{found:?}");
        assert_eq!(launches("checksum a 0x1"), None);
        assert_eq!(launches("time step launches=6"), None);
    }

    #[test]
    fn statistics_become_rows() {
        let kernels = [json!({"name": "k", "variants": [{
            "phases": {"parse_us": 1000, "assemble_us": 20000},
            "copies": [{"link_us": 500, "variant_ns": 2000, "ahead_of_time_ns": 3000}],
        }]})];
        let mut times = Vec::new();
        first_variants(&mut times, "p", &kernels);
        add_events(&mut times, "p", &kernels);
        add_events(&mut times, "p", &kernels);
        assert_eq!(times.len(), 2);
        assert_eq!(
            (times[0].what, &times[0].other_us),
            (What::FirstVariant, &vec![21500.0])
        );
        assert_eq!(
            (times[1].what, &times[1].stock_us),
            (What::Kernel, &vec![3.0, 3.0])
        );
        assert_eq!(times[1].other_us, [2.0, 2.0]);
    }

    #[test]
    fn a_kernel_without_its_pair_is_no_row() {
        let of = |kernel: &str| Launches {
            kernel: kernel.to_owned(),
            median_us: 1.0,
            least_us: 0.5,
            total_us: 2.0,
            p999_us: None,
        };
        let mut times = Vec::new();
        add_pairs(&mut times, "p", "JIT", &[of("a")], &[of("b")]);
        assert_eq!(times, []);
        add_pairs(&mut times, "p", "JIT", &[of("a")], &[of("a")]);
        assert_eq!(times.len(), 3);
    }
}

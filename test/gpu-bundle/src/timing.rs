//! Workloads by turns without the JIT and with it, alone on the machine.
//!
//! The cache has all variants but in the first run, which says what making them takes. A run with the JIT
//! launches whatever it would in earnest: variants that are no faster are retired.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::archive::Archive;
use crate::correctness::kernels;
use crate::plan::Program;
use crate::process;
use crate::results::{Time, What};

/// Pairs of runs.
const PAIRS: usize = 5;

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
            let settings = [("OFFLOOM_JIT", "sync"), ("OFFLOOM_JIT_RETIRE", "0")];
            let (_, kernels) = one(archive, program, "jit", &settings, limit);
            first_variants(&mut times, &program.name, &kernels);
        }
    }
    for pair in 0..PAIRS {
        for program in &programs {
            if Instant::now() >= end {
                return times;
            }
            println!("{}: pair {} of {PAIRS}", program.name, pair + 1);
            let stock = || one(archive, program, "stock", &[], limit).0;
            let jit = || one(archive, program, "jit", &[("OFFLOOM_JIT", "sync")], limit);
            // Each comes first as often.
            let (stock, (with_jit, kernels)) = if pair.is_multiple_of(2) {
                (stock(), jit())
            } else {
                let with_jit = jit();
                (stock(), with_jit)
            };
            add_pairs(&mut times, &program.name, &stock, &with_jit);
            add_events(&mut times, &program.name, &kernels);
        }
    }
    times
}

/// Runs a workload: median times of launches by kernel, and the kernels of the JIT's statistics.
fn one(
    archive: &Archive,
    program: &Program,
    form: &str,
    settings: &[(&str, &str)],
    limit: Duration,
) -> (Vec<(String, f64)>, Vec<Value>) {
    let Ok(scratch) = archive.scratch(&format!("times/{}", program.name)) else {
        return (Vec::new(), Vec::new());
    };
    let file = format!("programs/{}/{form}", program.name);
    let statistics = scratch.join("statistics.json");
    let _ = std::fs::remove_file(&statistics);
    let mut command = archive.command(&file, settings);
    command.args(program.timed.iter().flatten());
    command.env("OFFLOOM_JIT_CACHE_MODE", "rw");
    command.env("OFFLOOM_JIT_CACHE_DIR", scratch.join("cache"));
    command.env("OFFLOOM_JIT_STATS", &statistics);
    let ended = process::run(&mut command, limit);
    if let Some(problem) = ended.problem {
        println!("{} {form}: no times: {problem}", program.name);
        return (Vec::new(), Vec::new());
    }
    let kernels = kernels(Path::new(&statistics));
    (ended.out.lines().filter_map(launch_time).collect(), kernels)
}

/// The kernel and the median of its launches, in microseconds, of a line that a workload prints.
fn launch_time(line: &str) -> Option<(String, f64)> {
    let (kernel, rest) = line.strip_prefix("time ")?.split_once(' ')?;
    let mut fields = rest.split_whitespace();
    let seconds: f64 = fields
        .find_map(|field| field.strip_prefix("median_s="))?
        .parse()
        .ok()?;
    Some((kernel.to_owned(), seconds * 1e6))
}

/// The row for something that is timed.
fn row<'a>(times: &'a mut Vec<Time>, program: &str, what: What, kernel: &str) -> &'a mut Time {
    let is = |time: &Time| time.program == program && time.what == what && time.kernel == kernel;
    let index = times.iter().position(is).unwrap_or(times.len());
    if index == times.len() {
        times.push(Time {
            program: program.to_owned(),
            what,
            kernel: kernel.to_owned(),
            stock_us: Vec::new(),
            jit_us: Vec::new(),
        });
    }
    &mut times[index]
}

fn add_pairs(times: &mut Vec<Time>, program: &str, stock: &[(String, f64)], with_jit: &[(String, f64)]) {
    for (kernel, stock_us) in stock {
        if let Some((_, jit_us)) = with_jit.iter().find(|(other, _)| other == kernel) {
            let row = row(times, program, What::Launch, kernel);
            row.stock_us.push(*stock_us);
            row.jit_us.push(*jit_us);
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
                let row = row(times, program, What::Kernel, name);
                row.stock_us.push(stock_us);
                row.jit_us.push(jit_us);
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
            row(times, program, What::FirstVariant, name)
                .jit_us
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
        let (kernel, us) = launch_time(line).unwrap();
        assert_eq!(kernel, "step");
        assert!((us - 20.0).abs() < 1e-9, "{us}");
        assert_eq!(launch_time("checksum a 0x1"), None);
        assert_eq!(launch_time("time step launches=6"), None);
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
            (times[0].what, &times[0].jit_us),
            (What::FirstVariant, &vec![21500.0])
        );
        assert_eq!(
            (times[1].what, &times[1].stock_us),
            (What::Kernel, &vec![3.0, 3.0])
        );
        assert_eq!(times[1].jit_us, [2.0, 2.0]);
    }

    #[test]
    fn a_kernel_without_its_pair_is_no_row() {
        let mut times = Vec::new();
        add_pairs(
            &mut times,
            "p",
            &[("a".to_owned(), 1.0)],
            &[("b".to_owned(), 1.0)],
        );
        assert_eq!(times, []);
    }
}

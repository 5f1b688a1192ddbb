//! One run of everything in the archive: its order, and how the time is divided.

use std::env;
use std::fs;
use std::path::{self, Path};
use std::process;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use jiff::Timestamp;

use crate::archive::Archive;
use crate::results::Results;
use crate::{correctness, pairs, threads, timing};

/// The most seconds of one program.
const LIMIT: Duration = Duration::from_secs(30);

/// Parts of the time after which no comparison is begun, no pair of launches, and nothing else that is timed.
const COMPARED: f64 = 0.5;
const PAIRED: f64 = 0.58;
const TIMED: f64 = 0.85;

/// Runs all that lies beside this program in about so many seconds, prints the table, and writes the results
/// to `output`. What programs write stays in `keep`. Returns how much is bad.
///
/// # Errors
/// When there is no device, no plan, or no place for what is written.
pub fn run(seconds: u32, output: &Path, keep: Option<&Path>) -> Result<usize> {
    let program = env::current_exe().context("cannot find out where this program is")?;
    let folder = program.parent().context("this program is in no folder")?;
    let scratch = match keep {
        Some(folder) => path::absolute(folder)?,
        None => env::temp_dir().join(format!("offloom-gpu-bundle-{}", process::id())),
    };
    fs::create_dir(&scratch).with_context(|| format!("cannot make folder `{}`", scratch.display()))?;
    let results = all(folder, &scratch, f64::from(seconds));
    if keep.is_none() {
        let _ = fs::remove_dir_all(&scratch);
    }
    let results = results?;
    print!("{}", results.table());
    let text = serde_json::to_string_pretty(&results)?;
    fs::write(output, text).with_context(|| format!("cannot write `{}`", output.display()))?;
    println!("results are in {}", output.display());
    Ok(results.bad())
}

/// Runs everything; programs write into `scratch`.
fn all(folder: &Path, scratch: &Path, seconds: f64) -> Result<Results> {
    let begin = Instant::now();
    let after = |part: f64| begin + Duration::from_secs_f64(seconds * part);
    let archive = Archive::open(folder, scratch)?;
    println!("{} ({})", archive.device.name, archive.device.processor);
    let mut results = Results {
        llvm: archive.plan.llvm,
        commit: archive.plan.commit.clone(),
        date: Timestamp::now().strftime("%F").to_string(),
        device: archive.device.clone(),
        ..Results::default()
    };
    results.runs = correctness::run(&archive, LIMIT, after(COMPARED));
    let (runs, pairs) = pairs::run(&archive, LIMIT, after(PAIRED));
    results.runs.extend(runs);
    if !archive.device.is_virtual() {
        results.times = timing::run(&archive, LIMIT, after(TIMED));
        results.times.extend(pairs);
    }
    // Last: a kernel that hangs may leave a device that nothing runs on.
    results.threads = threads::run(&archive, after(1.0));
    results.seconds = begin.elapsed().as_secs_f64();
    Ok(results)
}

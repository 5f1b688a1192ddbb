//! One run of a program: what it printed and what it took.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use wait4::Wait4 as _;

use super::workload::Printed;
use crate::command::shown;

/// The most seconds one run may take before it counts as hanging.
pub(super) const SECONDS_PER_RUN: &str = "600";

/// How lines begin in which the JIT says that it goes on without something.
const JIT_COMPLAINT: &str = "offloom-jit: ";

/// What a run took.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Taken {
    /// In kernels, as the program says itself; none where it says nothing.
    pub(super) kernel_s: Option<f64>,
    /// From start to end.
    pub(super) total_s: f64,
    /// Processor time, the JIT's compiles included as far as they ended before the program.
    pub(super) processor_s: f64,
    /// Largest resident memory of one process.
    pub(super) resident_bytes: u64,
}

/// Runs a program to its end, on the device.
///
/// `scratch` is a folder for its output.
pub(super) fn run(command: &mut Command, scratch: &Path) -> Result<(Printed, Taken)> {
    let output = scratch.join("output");
    let errors = scratch.join("errors");
    let create =
        |path: &Path| File::create(path).with_context(|| format!("cannot write `{}`", path.display()));
    command.stdin(Stdio::null());
    command.stdout(create(&output)?).stderr(create(&errors)?);
    command.env("OMP_TARGET_OFFLOAD", "mandatory");
    let start = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("cannot run `{}`", shown(command)))?;
    let ended = child.wait4().context("cannot wait for a measured program")?;
    let total_s = start.elapsed().as_secs_f64();
    let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let printed = text(&output)?;
    ensure!(
        ended.status.success(),
        "`{}` ended with {}:\n{}{}",
        shown(command),
        ended.status,
        last_lines(&printed),
        last_lines(&text(&errors)?)
    );
    let said = text(&errors)?;
    ensure!(
        !said.lines().any(|line| line.starts_with(JIT_COMPLAINT)),
        "the JIT could not work as it should in `{}`:\n{}",
        shown(command),
        last_lines(&said)
    );
    let printed = Printed::read(&printed);
    let taken = Taken {
        kernel_s: printed.kernel_seconds,
        total_s,
        processor_s: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
        resident_bytes: ended.rusage.maxrss,
    };
    Ok((printed, taken))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let last = lines.len().saturating_sub(10);
    lines[last..].iter().map(|line| format!("  {line}\n")).collect()
}

//! Runs a command once and says what it took: wall time, processor time, memory.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use wait4::Wait4 as _;

use crate::command::shown;

/// What one run took. Time is that of the process and of all it waited for; memory that of the largest of
/// them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) wall: Duration,
    pub(crate) processor: Duration,
    /// Largest resident memory, in bytes, with mapped files.
    pub(crate) resident: u64,
}

/// Runs `command` to its end.
pub(crate) fn measure(command: &mut Command) -> Result<Measured> {
    let start = Instant::now();
    let child = start_quietly(command)?;
    wait(command, child, start)
}

/// As [`measure`]; returns what it printed, too.
pub(crate) fn measure_output(command: &mut Command) -> Result<(Measured, String)> {
    let start = Instant::now();
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = spawn(command)?;
    let mut printed = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut printed)?;
    }
    Ok((wait(command, child, start)?, printed))
}

fn wait(command: &Command, child: Child, start: Instant) -> Result<Measured> {
    let ended = child.wait4().context("cannot wait for a measured program")?;
    let wall = start.elapsed();
    ensure!(ended.status.success(), "`{}` failed", shown(command));
    Ok(Measured {
        wall,
        processor: ended.rusage.utime + ended.rusage.stime,
        resident: ended.rusage.maxrss,
    })
}

/// Runs `command` and returns the most memory, in bytes, that its own process has had for itself: neither
/// files that it mapped nor memory of programs that it started. Looked at every half millisecond, so not to
/// be timed.
pub(crate) fn private_memory(command: &mut Command) -> Result<u64> {
    let mut child = start_quietly(command)?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let anonymous = fs::read_to_string(&status_file).ok().and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        most = most.max(anonymous.unwrap_or_default() * 1024);
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "`{}` failed", shown(command));
            return Ok(most);
        }
        sleep(Duration::from_micros(500));
    }
}

fn start_quietly(command: &mut Command) -> Result<Child> {
    spawn(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

fn spawn(command: &mut Command) -> Result<Child> {
    command
        .spawn()
        .with_context(|| format!("cannot run `{}`", shown(command)))
}

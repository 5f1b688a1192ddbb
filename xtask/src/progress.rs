//! What long work shows while it lasts: on a terminal one line that says how far it is and how long it has
//! taken, and that goes when the work ends, or stays with the time that it took; elsewhere nothing, so that
//! logs hold plain lines.

use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use crate::command::shown;

/// The line of one piece of work.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Work of so many parts.
    pub(crate) fn parts(what: &str, parts: usize) -> Self {
        let bar = ProgressBar::new(parts as u64).with_prefix(what.to_owned());
        Self::ticking(
            bar,
            "{spinner} {prefix} {wide_bar} {pos} of {len}, {elapsed} {msg}",
        )
    }

    /// Work of which nobody knows how long it takes.
    fn unknown(what: &str) -> Self {
        let bar = ProgressBar::new_spinner().with_prefix(what.to_owned());
        Self::ticking(bar, "{spinner} {prefix}, {elapsed} {wide_msg}")
    }

    fn ticking(bar: ProgressBar, template: &str) -> Self {
        let style = ProgressStyle::with_template(template);
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// One more part is done.
    pub(crate) fn advance(&self) {
        self.0.inc(1);
    }

    /// Does what may print lines, which stay.
    pub(crate) fn around<T>(&self, printing: impl FnOnce() -> T) -> T {
        self.0.suspend(printing)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // How many parts were done, in which time, stays; nothing stays of what has no parts.
        if self.0.length().is_some() {
            self.0.abandon();
        } else {
            self.0.finish_and_clear();
        }
    }
}

/// Runs a command after having shown it. What it prints is shown only if it fails; meanwhile its last line is
/// there on a terminal, and how far it is where the line tells.
///
/// Returns what it printed.
pub(crate) fn run_folded(command: &mut Command, what: &str) -> Result<String> {
    println!("$ {}", shown(command));
    let program = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let progress = Progress::unknown(what);
    let (mut output, input) = std::io::pipe().context("cannot make a pipe")?;
    let error = input.try_clone().context("cannot make a pipe")?;
    command.stdout(input).stderr(error);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot run `{program}`"))?;
    // The command's ends of the pipe: the read below ends when no one has them.
    command.stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null());
    let mut log = String::new();
    let mut line = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        let count = output
            .read(&mut bytes)
            .with_context(|| format!("cannot read what `{program}` prints"))?;
        if count == 0 {
            break;
        }
        for &byte in &bytes[..count] {
            if byte != b'\n' && byte != b'\r' {
                line.push(byte);
                continue;
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            progress.0.set_message(text.trim().to_owned());
            // Lines that write over each other are for terminals.
            if byte == b'\n' {
                log += &text;
                log.push('\n');
            }
            line.clear();
        }
    }
    log += &String::from_utf8_lossy(&line);
    let status = child
        .wait()
        .with_context(|| format!("cannot wait for `{program}`"))?;
    drop(progress);
    ensure!(status.success(), "{log}\n`{program}` failed: {status}");
    println!("  {what}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_command_prints_comes_back_without_what_is_written_over() {
        let printed = run_folded(
            &mut shell(r"printf 'one\n10%%\r20%%\r'; echo two >&2; printf three"),
            "counting",
        );
        assert_eq!(printed.unwrap(), "one\ntwo\nthree");
    }

    #[test]
    fn what_a_failing_command_printed_is_in_the_error() {
        let error = run_folded(&mut shell("echo no package; exit 3"), "installing").unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.contains("no package") && error.contains("exit status: 3"),
            "{error}"
        );
    }
}

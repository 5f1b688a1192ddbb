//! Runs a program with a limit of time, and reads what it writes.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often it is asked whether a program has ended.
const TURN: Duration = Duration::from_millis(2);

/// How long output is waited for once a program has ended: a process that it left behind may hold it open.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// The most bytes that are kept of an output.
const MOST_BYTES: u64 = 1 << 20;

/// What became of a program.
#[derive(Debug, Clone)]
pub struct Ended {
    /// What it wrote on the standard output.
    pub out: String,
    /// What it wrote on the error stream.
    pub err: String,
    /// Why it is no success; none: it ended with 0.
    pub problem: Option<String>,
    /// How long it ran.
    pub took: Duration,
}

impl Ended {
    /// Leaves what it wrote in files of this name, for whoever looks into what went wrong.
    pub fn keep(&self, name: &Path) {
        for (text, extension) in [(&self.out, "out"), (&self.err, "err")] {
            if !text.is_empty() {
                let _ = fs::write(name.with_extension(extension), text);
            }
        }
    }
}

/// Runs `command`. After `limit`, its process group is killed.
#[must_use]
pub fn run(command: &mut Command, limit: Duration) -> Ended {
    let begin = Instant::now();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // What it starts goes with it.
    command.process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            return Ended {
                out: String::new(),
                err: String::new(),
                problem: Some(format!("cannot be started: {error}")),
                took: begin.elapsed(),
            };
        }
    };
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let mut problem = None;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                problem = problem.or_else(|| failure(status));
                break;
            }
            Ok(None) if begin.elapsed() >= limit && problem.is_none() => {
                problem = Some(format!("has not ended after {} s", limit.as_secs()));
                kill_group(&child);
            }
            // A process that waits for the driver may not even be killed.
            Ok(None) if begin.elapsed() >= limit + OUTPUT_GRACE => {
                problem = Some(format!(
                    "has not ended after {} s, and cannot be killed",
                    limit.as_secs()
                ));
                break;
            }
            Ok(None) => thread::sleep(TURN),
            Err(error) => {
                problem = Some(format!("cannot be waited for: {error}"));
                break;
            }
        }
    }
    let took = begin.elapsed();
    Ended {
        out: text(out),
        err: text(err),
        problem,
        took,
    }
}

/// Why an end is no success.
fn failure(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("ended with status {code}")),
        (None, signal) => Some(format!("was ended by signal {}", signal.unwrap_or_default())),
    }
}

/// Kills the processes of a group.
fn kill_group(leader: &Child) {
    let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
}

/// Reads all of a stream, and keeps its beginning.
fn reader(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.by_ref().take(MOST_BYTES).read_to_end(&mut bytes);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        bytes
    })
}

/// What was read, if the stream has come to its end.
fn text(reader: JoinHandle<Vec<u8>>) -> String {
    let begin = Instant::now();
    while !reader.is_finished() {
        if begin.elapsed() > OUTPUT_GRACE {
            return String::new();
        }
        thread::sleep(TURN);
    }
    let bytes = reader.join().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ended {
        run(Command::new("/bin/sh").args(["-c", script]), limit)
    }

    #[test]
    fn an_end_is_told_as_it_is() {
        let long = Duration::from_secs(60);
        let ended = shell("echo out; echo err >&2", long);
        assert_eq!((ended.out.as_str(), ended.err.as_str()), ("out\n", "err\n"));
        assert_eq!(ended.problem, None);
        assert_eq!(
            shell("exit 3", long).problem.as_deref(),
            Some("ended with status 3")
        );
        assert_eq!(
            shell("kill -SEGV $$", long).problem.as_deref(),
            Some("was ended by signal 11")
        );
        let missing = run(&mut Command::new("/none/such"), long)
            .problem
            .unwrap_or_default();
        assert!(missing.starts_with("cannot be started: "), "{missing}");
    }

    #[test]
    fn what_hangs_is_ended_with_what_it_started() {
        let ended = shell("echo first; sleep 600 & sleep 600", Duration::from_millis(300));
        assert_eq!(ended.problem.as_deref(), Some("has not ended after 0 s"));
        assert_eq!(ended.out, "first\n");
    }
}

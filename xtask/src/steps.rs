//! A task's steps: each is announced with its number, timed and remembered for the summary at the end.

use std::time::{Duration, Instant};
use std::{fmt, fs};

use anyhow::{Result, ensure};
use rustix::fs::statvfs;

/// The steps done so far.
#[derive(Debug)]
pub(crate) struct Steps {
    start: Instant,
    /// How many there will be.
    planned: usize,
    begun: usize,
    done: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    time: Time,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Ok,
    /// With the reason.
    Failed(String),
    LeftOut,
}

impl Steps {
    /// For a task of so many steps, if none that others depend on fails.
    pub(crate) fn of(planned: usize) -> Self {
        Self {
            start: Instant::now(),
            planned,
            begun: 0,
            done: Vec::new(),
        }
    }

    /// Says that the next step begins.
    pub(crate) fn begin(&mut self, name: &str) {
        self.begun += 1;
        println!(
            "\n==> step {} of {}, after {}{}: {name}",
            self.begun,
            self.planned,
            minutes(self.start.elapsed()),
            free_space()
        );
    }

    /// Runs one step. A failure is shown and remembered; steps that do not depend on this one can still run.
    ///
    /// Returns what the step returned, or `None` when it failed.
    pub(crate) fn run<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Option<T> {
        self.begin(name);
        let start = Time::so_far(self.start);
        let result = step();
        let time = Time::so_far(self.start).since(start);
        let outcome = match &result {
            Ok(_) => {
                println!("==> {name}: ok, {time}");
                Outcome::Ok
            }
            Err(error) => {
                let why = format!("{error:#}");
                println!("==> {name}: FAILED after {time}: {why}");
                Outcome::Failed(why)
            }
        };
        self.done.push(Step {
            name: name.to_owned(),
            time,
            outcome,
        });
        result.ok()
    }

    /// Says that a step is not done here, and why.
    pub(crate) fn leave_out(&mut self, name: &str, why: &str) {
        self.begin(name);
        println!("==> {name}: left out: {why}");
        self.done.push(Step {
            name: name.to_owned(),
            time: Time::default(),
            outcome: Outcome::LeftOut,
        });
    }

    /// Prints every step with its time and result, and why steps failed.
    ///
    /// # Errors
    /// When a step failed; the error names those steps.
    pub(crate) fn finish(self) -> Result<()> {
        let width = self.done.iter().map(|step| step.name.len()).max().unwrap_or(0);
        println!("\nSummary");
        for step in &self.done {
            let result = match &step.outcome {
                Outcome::Ok => "ok",
                Outcome::Failed(_) => "FAILED",
                Outcome::LeftOut => "left out",
            };
            println!("  {:width$}  {}  {result}", step.name, step.time);
        }
        println!("  {:width$}  {}", "all", Time::so_far(self.start));
        let mut failed = Vec::new();
        for step in &self.done {
            if let Outcome::Failed(why) = &step.outcome {
                // Said once more: the line at the step itself may be thousands of lines back.
                println!("\n{}: {why}", step.name);
                failed.push(step.name.as_str());
            }
        }
        ensure!(failed.is_empty(), "failed: {}", failed.join("; "));
        ensure!(
            self.begun == self.planned,
            "{} of {} steps were done: the plan is wrong",
            self.begun,
            self.planned
        );
        Ok(())
    }
}

/// What a step took.
#[derive(Debug, Clone, Copy, Default)]
struct Time {
    /// By the clock.
    elapsed: Duration,
    /// Of the processors, by the programs that have ended meanwhile, those that ran beside earlier steps too.
    /// Other work on the machine does not change it much.
    processor: Duration,
}

impl Time {
    fn so_far(start: Instant) -> Self {
        Self {
            elapsed: start.elapsed(),
            processor: processor_time_of_children().unwrap_or_default(),
        }
    }

    fn since(self, start: Self) -> Self {
        Self {
            elapsed: self.elapsed.saturating_sub(start.elapsed),
            processor: self.processor.saturating_sub(start.processor),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [elapsed, processor] = [self.elapsed, self.processor].map(|time| time.as_secs_f64());
        write!(formatter, "{elapsed:>7.1} s, processors {processor:>7.1} s")
    }
}

/// The time, of users and the system, that Linux has counted for this process's children (`cutime` and
/// `cstime` in `proc_pid_stat(5)`).
fn processor_time_of_children() -> Option<Duration> {
    const FIRST: usize = 13;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, which may hold anything, is in parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields
        .split_ascii_whitespace()
        .skip(FIRST)
        .take(2)
        .map(|field| field.parse::<u64>().ok())
        .sum::<Option<u64>>()?;
    let per_second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_millis(
        ticks.saturating_mul(1000).checked_div(per_second)?,
    ))
}

/// What is free on the disk that this runs on, for whoever looks for why a later step has failed.
fn free_space() -> String {
    statvfs(".").map_or_else(
        |_| String::new(),
        |disk| {
            format!(
                ", {} GB free",
                disk.f_bavail.saturating_mul(disk.f_frsize) / 1_000_000_000
            )
        },
    )
}

/// Minutes and seconds, for a person.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_programs_that_ended_is_counted() {
        let before = processor_time_of_children().unwrap();
        let count = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let ended = std::process::Command::new("sh")
            .args(["-c", count])
            .status()
            .unwrap();
        assert!(ended.success());
        assert!(processor_time_of_children().unwrap() > before);
    }

    #[test]
    fn a_failed_step_is_named_and_a_forgotten_one_told_but_not_one_left_out() {
        let mut steps = Steps::of(2);
        assert_eq!(steps.run("first", || Ok(1)), Some(1));
        assert_eq!(steps.run("second", || anyhow::bail!("no")), None::<()>);
        let error = steps.finish().unwrap_err();
        assert!(error.to_string().contains("failed: second"), "{error}");

        let mut steps = Steps::of(2);
        steps.run("first", || Ok(()));
        steps.leave_out("second", "nothing is there for it");
        steps.finish().unwrap();

        let mut steps = Steps::of(2);
        steps.run("first", || Ok(()));
        let error = steps.finish().unwrap_err();
        assert!(error.to_string().contains("1 of 2"), "{error}");
    }
}

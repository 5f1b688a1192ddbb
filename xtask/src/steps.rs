//! A chore's steps: each is announced, timed and remembered for the summary at the end.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// The steps done so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    time: Duration,
    failure: Option<String>,
}

impl Steps {
    /// Runs one step. A failure is shown and remembered; steps that do not depend on this one can still run.
    ///
    /// Returns what the step returned, or `None` when it failed.
    pub(crate) fn run<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Option<T> {
        println!("\n==> {name}");
        let start = Instant::now();
        let result = step();
        let time = start.elapsed();
        let failure = result.as_ref().err().map(|error| format!("{error:#}"));
        match &failure {
            None => println!("==> {name}: ok, {:.1} s", time.as_secs_f64()),
            Some(failure) => println!("==> {name}: FAILED after {:.1} s: {failure}", time.as_secs_f64()),
        }
        self.done.push(Step {
            name: name.to_owned(),
            time,
            failure,
        });
        result.ok()
    }

    /// Prints every step with its time and result.
    ///
    /// # Errors
    /// When a step failed; the error names those steps.
    pub(crate) fn finish(self) -> Result<()> {
        let width = self.done.iter().map(|step| step.name.len()).max().unwrap_or(0);
        println!("\nSummary");
        for step in &self.done {
            let result = if step.failure.is_none() { "ok" } else { "FAILED" };
            println!(
                "  {:width$}  {:>7.1} s  {result}",
                step.name,
                step.time.as_secs_f64()
            );
        }
        let total: Duration = self.done.iter().map(|step| step.time).sum();
        println!("  {:width$}  {:>7.1} s", "all", total.as_secs_f64());
        let failed: Vec<_> = self
            .done
            .iter()
            .filter(|step| step.failure.is_some())
            .map(|step| step.name.as_str())
            .collect();
        ensure!(failed.is_empty(), "failed: {}", failed.join("; "));
        Ok(())
    }
}

//! A task's steps: each is announced with its number, timed and remembered for the summary at the end.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

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
    time: Duration,
    failure: Option<String>,
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
            "\n==> step {} of {}, after {}: {name}",
            self.begun,
            self.planned,
            minutes(self.start.elapsed())
        );
    }

    /// Runs one step. A failure is shown and remembered; steps that do not depend on this one can still run.
    ///
    /// Returns what the step returned, or `None` when it failed.
    pub(crate) fn run<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Option<T> {
        self.begin(name);
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
        ensure!(
            self.begun == self.planned,
            "{} of {} steps were done: the plan is wrong",
            self.begun,
            self.planned
        );
        Ok(())
    }
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
    fn a_failed_step_is_named_and_a_forgotten_one_told() {
        let mut steps = Steps::of(2);
        assert_eq!(steps.run("first", || Ok(1)), Some(1));
        assert_eq!(steps.run("second", || anyhow::bail!("no")), None::<()>);
        let error = steps.finish().unwrap_err();
        assert!(error.to_string().contains("failed: second"), "{error}");

        let mut steps = Steps::of(2);
        steps.run("first", || Ok(()));
        let error = steps.finish().unwrap_err();
        assert!(error.to_string().contains("1 of 2"), "{error}");
    }
}

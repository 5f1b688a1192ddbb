//! The table at the end of the demo.

use std::fmt;
use std::time::Duration;

/// One row for each step: what was done, by which tool, in which time, with which result.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<[String; 4]>,
}

impl Table {
    /// Adds a row.
    pub(crate) fn add(&mut self, step: &str, tool: &str, time: Duration, result: String) {
        let time = format!("{:.3} s", time.as_secs_f64());
        self.rows.push([step.to_owned(), tool.to_owned(), time, result]);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["step", "tool", "time", "result"].map(str::to_owned);
        let rows = || std::iter::once(&head).chain(&self.rows);
        let width = |column: usize| rows().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let [steps, tools, times] = [width(0), width(1), width(2)];
        for [step, tool, time, result] in rows() {
            writeln!(f, "  {step:steps$} | {tool:tools$} | {time:>times$} | {result}")?;
        }
        Ok(())
    }
}

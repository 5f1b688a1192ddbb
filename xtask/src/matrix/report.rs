//! What was found, and the report at the end.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::builds::{Form, Variant};

/// How the two builds of a program compare.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Outcome {
    /// Both print the same.
    Same,
    /// Ours runs, the stock build does not, for this reason.
    OursOnly(String),
    /// Neither runs; what the stock build says.
    Neither(String),
    /// Ours does not do what the stock build does.
    Different(String),
}

impl Outcome {
    /// Compares what the stock build and ours printed. Where the stock build does not run, ours must print
    /// what the stock build `of_objects` does.
    pub(super) fn of(stock: &Result<String>, ours: Result<String>, of_objects: &Result<String>) -> Self {
        match (stock, ours) {
            (Ok(stock), Ok(ours)) if stock.is_empty() && ours.is_empty() => {
                Self::Different("both print nothing: nothing was shown".to_owned())
            }
            (Ok(stock), Ok(ours)) if *stock == ours => Self::Same,
            (Ok(stock), Ok(ours)) => Self::Different(format!("it prints\n{ours}instead of\n{stock}")),
            (Ok(_), Err(error)) => Self::Different(format!("{error:#}")),
            (Err(error), Ok(ours)) => match of_objects {
                Ok(expected) if *expected != ours => {
                    Self::Different(format!("it prints\n{ours}instead of\n{expected}"))
                }
                _ => Self::OursOnly(format!("{error:#}")),
            },
            (Err(error), Err(_)) => Self::Neither(format!("{error:#}")),
        }
    }
}

/// Counts for one form.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    same: usize,
    ours_only: usize,
    neither: usize,
    different: usize,
}

/// Everything found for one LLVM.
#[derive(Debug, Default)]
pub(super) struct Report {
    forms: BTreeMap<Form, Counts>,
}

impl Report {
    /// Counts one comparison; whatever is not the same is shown.
    pub(super) fn add(&mut self, program: &str, variant: Variant, form: Form, outcome: &Outcome) {
        let counts = self.forms.entry(form).or_default();
        let name = format!("{program}, {variant}, {form}");
        match outcome {
            Outcome::Same => counts.same += 1,
            Outcome::OursOnly(reason) => {
                counts.ours_only += 1;
                println!("runs through ours only: {name}: {}", first_line(reason));
            }
            Outcome::Neither(reason) => {
                counts.neither += 1;
                println!("runs through neither: {name}: {}", first_line(reason));
            }
            Outcome::Different(difference) => {
                counts.different += 1;
                println!("different: {name}: {difference}");
            }
        }
    }

    /// Prints the counts. An error when a program differs, or when nothing was compared.
    pub(super) fn finish(self, major: u32) -> Result<()> {
        let (mut same, mut different) = (0, 0);
        for (form, counts) in &self.forms {
            println!(
                "LLVM {major}: {form}: {} the same, {} run through ours only, {} through neither, {} different",
                counts.same, counts.ours_only, counts.neither, counts.different
            );
            same += counts.same;
            different += counts.different;
        }
        println!("LLVM {major}: in all, {same} the same, {different} different");
        ensure!(
            same > 0,
            "LLVM {major}: nothing could be compared: no program of that name, or none runs"
        );
        ensure!(
            different == 0,
            "LLVM {major}: {different} links through wrapgen are not what LLVM's wrapper makes"
        );
        Ok(())
    }
}

/// The line that names the command and how it ended, without all that it printed.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.next().unwrap_or_default()
}

//! What has been found so far, and the report at the end.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::{Result, ensure};

use crate::corpus::comparison::{Module, Outcome};
use crate::corpus::target::Target;

/// How many of some things were as they should be.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    good: usize,
    all: usize,
}

impl Tally {
    /// Counts one thing; a failure is shown.
    pub(crate) fn add(&mut self, name: impl Display, outcome: Result<()>) {
        self.all += 1;
        match outcome {
            Ok(()) => self.good += 1,
            Err(error) => println!("failed: {name}: {error:#}"),
        }
    }

    /// Prints how many there were. An error when one was not as it should be.
    pub(crate) fn finish(self, major: u32, what: &str) -> Result<()> {
        let Self { good, all } = self;
        println!("LLVM {major}: {good} of {all} {what}");
        ensure!(good == all, "only {good} of {all} {what}");
        Ok(())
    }
}

/// Comparisons with Clang's modules.
#[derive(Debug, Default)]
pub(crate) struct Comparisons {
    targets: BTreeMap<Target, Tally>,
    /// Entries taken away.
    entries: usize,
    /// Operands of `omp_offload.info` taken away.
    operands: usize,
    /// Operands left out of the comparison.
    dropped: usize,
    /// Runs of a pass.
    pass_runs: usize,
}

impl Comparisons {
    /// Counts one module; every difference is shown.
    pub(crate) fn add(&mut self, module: &Module<'_>, outcome: Result<Outcome>) {
        let tally = self.targets.entry(module.target).or_default();
        tally.all += 1;
        match outcome {
            Ok(outcome) => {
                self.entries += outcome.entries;
                self.operands += outcome.operands;
                self.dropped += outcome.dropped;
                self.pass_runs += outcome.pass_runs;
                if outcome.differences.is_empty() {
                    tally.good += 1;
                    return;
                }
                println!("different: {module}");
                for line in outcome.differences {
                    println!("  {line}");
                }
            }
            Err(error) => println!("failed: {module}: {error:#}"),
        }
    }

    /// Prints the numbers. An error when a module differs, or when nothing was compared.
    pub(crate) fn finish(self, major: u32) -> Result<()> {
        let [all, equal] = [|tally: &Tally| tally.all, |tally: &Tally| tally.good]
            .map(|count| self.targets.values().map(count).sum::<usize>());
        let different = all - equal;
        println!("LLVM {major}: {all} modules compared, {equal} equal, {different} different");
        for (target, tally) in &self.targets {
            println!("LLVM {major}:   {target}: {} of {} equal", tally.good, tally.all);
        }
        println!(
            "LLVM {major}: {} entries and {} operands of omp_offload.info were taken away and made again",
            self.entries, self.operands
        );
        if self.dropped > 0 {
            println!(
                "LLVM {major}: {} operands for variables that the optimiser had dropped were left out",
                self.dropped
            );
        }
        println!(
            "LLVM {major}: {} times a pass ran on a module, was verified, and changed nothing when it ran again",
            self.pass_runs
        );
        ensure!(self.entries > 0, "the corpus has no entries: nothing was shown");
        ensure!(different == 0, "{different} modules are not as Clang makes them");
        Ok(())
    }
}

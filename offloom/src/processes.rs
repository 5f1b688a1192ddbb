//! The statistics of one process or of several, as those of a job, and what they come to together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use offloom_jit_cache::stats::{Kernel, Linked, Origin, Statistics, Verdict};
use offloom_text_table::counted;

use crate::error::{Error, Result};
use crate::units::milliseconds;

/// Processes and the files that they wrote.
#[derive(Debug)]
pub(crate) struct Processes(Vec<Process>);

/// One process.
#[derive(Debug)]
pub(crate) struct Process {
    /// The file.
    pub(crate) path: PathBuf,
    /// What is in it.
    pub(crate) statistics: Statistics,
}

/// What several kernels, or one kernel in several processes, came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sum {
    /// Processes that launched any of it.
    pub(crate) processes: usize,
    /// Launches that ran the ahead-of-time code.
    pub(crate) ahead_of_time: u64,
    /// Launches that ran a variant.
    pub(crate) of_variants: u64,
    /// Variants that were compiled.
    pub(crate) compiled: usize,
    /// Variants that were found in the cache, or in a folder of a site.
    pub(crate) cached: usize,
    /// Variants that a remote store gave.
    pub(crate) fetched: usize,
    /// Variants that could not be made.
    pub(crate) failed: usize,
    /// Linked variants that were no faster.
    pub(crate) retired: usize,
    /// Time of all compiles, in nanoseconds.
    pub(crate) compile_ns: f64,
    /// What variants saved, in nanoseconds, as far as launches were timed.
    pub(crate) saved_ns: f64,
    /// Whether launches of any variant were timed.
    pub(crate) timed: bool,
}

impl Processes {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read, or is something else.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Self> {
        let processes = paths.iter().map(|path| {
            let statistics = Statistics::read(path).map_err(Error::from_statistics)?;
            Ok(Process {
                path: path.clone(),
                statistics,
            })
        });
        processes.collect::<Result<_>>().map(Self)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Process] {
        &self.0
    }

    /// Those that are not forked from others of these: what a parent has counted up to the fork is in its
    /// child's file too.
    pub(crate) fn counted_once(&self) -> Vec<&Process> {
        let is_there = |(host, number): (&str, u32)| {
            let statistics = self.0.iter().map(|process| &process.statistics);
            statistics
                .into_iter()
                .any(|other| (&*other.host, other.process) == (host, number))
        };
        let is_forked = |process: &&Process| process.parent().is_some_and(is_there);
        self.0.iter().filter(|process| !is_forked(process)).collect()
    }

    /// What is to be said of processes that were forked: those that are in no sum, and what is in one several
    /// times.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let once = self.counted_once();
        let mut remarks = Vec::new();
        let twice = self.0.len() - once.len();
        if twice > 0 {
            remarks.push(format!(
                "Not in the sums: {twice} forked from others of these, with what those have counted before the fork"
            ));
        }
        let mut children: BTreeMap<_, usize> = BTreeMap::new();
        for parent in once.iter().filter_map(|process| process.parent()) {
            *children.entry(parent).or_default() += 1;
        }
        children.retain(|_, count| *count > 1);
        for ((_, parent), count) in children {
            remarks.push(format!(
                "{count} were forked from process {parent}, of which there is no file: what it had counted before is in the sums {count} times"
            ));
        }
        remarks
    }

    /// Each kernel with what it came to in the processes that are counted, and those that were launched most
    /// first.
    pub(crate) fn kernels(&self) -> Vec<(&Kernel, Sum)> {
        let mut places = BTreeMap::new();
        let mut kernels: Vec<(&Kernel, Sum)> = Vec::new();
        for process in self.counted_once() {
            for kernel in &process.statistics.kernels {
                let place = *places.entry((&kernel.bundle, &kernel.name)).or_insert_with(|| {
                    kernels.push((kernel, Sum::default()));
                    kernels.len() - 1
                });
                kernels[place].1.add(kernel);
                kernels[place].1.processes += usize::from(launches(kernel) > 0);
            }
        }
        kernels.retain(|(_, sum)| sum.launches() > 0);
        kernels.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.launches()));
        kernels
    }

    /// What all that are counted came to.
    pub(crate) fn sum(&self) -> Sum {
        let mut sum = Sum::default();
        for process in self.counted_once() {
            sum.add_all(&process.statistics);
        }
        sum
    }

    /// A sentence about it.
    pub(crate) fn verdict(&self) -> String {
        let sum = self.sum();
        let kernels = || self.0.iter().flat_map(|process| &process.statistics.kernels);
        if kernels().next().is_none() {
            return "There is no kernel: nothing was linked with --jit, or what was has been refused, which a line on the error stream says."
                .to_owned();
        }
        if kernels().all(|kernel| kernel.left_ahead_of_time.is_some()) {
            return "Nothing is specialised: all kernels were compiled with fast-math flags, and OFFLOOM_JIT_FP is not source."
                .to_owned();
        }
        let launched = counted(sum.launches(), "launch", "launches");
        let in_kernels = counted(self.kernels().len() as u64, "kernel", "kernels");
        if sum.launches() == 0 {
            return "No kernel was launched on a device.".to_owned();
        }
        let compiling = format!("compiling took {} ms", milliseconds(sum.compile_ns));
        if sum.of_variants == 0 {
            let why = match sum.compiled + sum.cached + sum.fetched {
                0 if sum.failed > 0 => "no variant could be made",
                0 => "the process ended before a variant was there",
                _ => "no variant was faster, or it was there too late",
            };
            return format!("All {launched} of {in_kernels} ran ahead-of-time code: {why}; {compiling}.");
        }
        let ran = format!("{} of {launched} of {in_kernels} ran variants", sum.of_variants);
        match (sum.timed, sum.saved_ns > 0.0) {
            (false, _) => format!("{ran}; what that saved was not timed; {compiling}."),
            (true, true) => format!(
                "Variants saved about {} ms: {ran}; {compiling}.",
                milliseconds(sum.saved_ns)
            ),
            (true, false) => format!("Variants saved nothing: {ran}; {compiling}."),
        }
    }
}

impl Process {
    /// The machine and number of the process that this one was forked from.
    fn parent(&self) -> Option<(&str, u32)> {
        Some((&self.statistics.host, self.statistics.forked_from?))
    }

    /// Its file, and whose child it is.
    pub(crate) fn name(&self) -> String {
        let forked = self.statistics.forked_from;
        let forked = forked.map(|parent| format!(" (forked from {parent})"));
        self.path.display().to_string() + forked.as_deref().unwrap_or_default()
    }
}

impl Sum {
    /// What one process came to.
    pub(crate) fn of(statistics: &Statistics) -> Self {
        let mut sum = Self::default();
        sum.add_all(statistics);
        sum
    }

    /// What one kernel came to.
    pub(crate) fn of_kernel(kernel: &Kernel) -> Self {
        let mut sum = Self::default();
        sum.add(kernel);
        sum
    }

    /// All launches.
    pub(crate) fn launches(&self) -> u64 {
        self.ahead_of_time.saturating_add(self.of_variants)
    }

    fn add_all(&mut self, statistics: &Statistics) {
        for kernel in &statistics.kernels {
            self.add(kernel);
        }
        self.processes += 1;
    }

    fn add(&mut self, kernel: &Kernel) {
        self.ahead_of_time = self.ahead_of_time.saturating_add(kernel.launches_ahead_of_time);
        self.of_variants = self.of_variants.saturating_add(kernel.launches_of_variants);
        for variant in &kernel.variants {
            match variant.origin {
                Origin::Compiled => self.compiled += 1,
                Origin::Cache | Origin::SharedCache => self.cached += 1,
                Origin::Remote => self.fetched += 1,
                Origin::Failed(_) => self.failed += 1,
            }
        }
        let copies = || kernel.variants.iter().flat_map(|variant| &variant.copies);
        self.retired += copies()
            .filter(|copy| matches!(copy.verdict, Verdict::Retired | Verdict::Refused(_)))
            .count();
        self.compile_ns += 1e3 * compile_us(kernel) as f64;
        self.saved_ns += saved_ns(kernel);
        self.timed |= copies().any(|copy| copy_saved_ns(copy).is_some());
    }
}

/// How often a kernel was launched.
pub(crate) fn launches(kernel: &Kernel) -> u64 {
    kernel
        .launches_ahead_of_time
        .saturating_add(kernel.launches_of_variants)
}

/// All compiles of a kernel together.
pub(crate) fn compile_us(kernel: &Kernel) -> u64 {
    let phases = kernel.variants.iter().filter_map(|variant| variant.phases);
    let times = phases.map(|phases| u64::from(phases.total_us()));
    times.fold(0, u64::saturating_add)
}

/// What the launches of a variant saved, by the fastest timed launches of both kinds; nothing where they were
/// not timed.
pub(crate) fn copy_saved_ns(copy: &Linked) -> Option<f64> {
    let difference = copy.ahead_of_time_ns? as f64 - copy.variant_ns? as f64;
    Some(difference * copy.launches as f64)
}

/// What all variants of a kernel saved, as far as it is known.
pub(crate) fn saved_ns(kernel: &Kernel) -> f64 {
    let copies = kernel.variants.iter().flat_map(|variant| &variant.copies);
    copies
        .filter_map(copy_saved_ns)
        .fold(0.0, |sum, saved| sum + saved)
}

//! Runs configurations in turn, round by round, and compares what they print.

use std::fs::{self, DirBuilder};
use std::iter;
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::builds::Builds;
use super::compiles::Compiles;
use super::configuration::{BASE, Cache, Configuration, Length, WARM, WITH_GOALS, base};
use super::sample::{self, SECONDS_PER_RUN};
use super::samples::{Sample, Samples};
use super::workload::{Group, Printed, Workload};
use crate::command::leave_out_settings;
use crate::progress::Progress;

/// What came of all rounds.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) samples: Samples,
    /// Those with all processors busy.
    pub(super) busy: Samples,
    /// Every result that was wrong.
    pub(super) wrong: Vec<String>,
    /// Rounds of all configurations that were done.
    pub(super) rounds: u32,
    /// Further rounds that were done, of those that a goal is about.
    pub(super) goal_rounds: u32,
    pub(super) compiles: Vec<Compiles>,
}

/// What is run, how often.
#[derive(Debug)]
pub(super) struct Rounds<'a> {
    pub(super) builds: &'a Builds<'a>,
    pub(super) workloads: &'a [Workload],
    pub(super) configurations: &'a [Configuration],
    pub(super) rounds: u32,
    /// How often after that those are run that a goal is about.
    pub(super) goal_rounds: u32,
    /// Threads of the device.
    pub(super) threads: u32,
    /// Threads with which what a goal is about is measured again, so that all processors are busy; nothing:
    /// it is not.
    pub(super) busy_threads: Option<u32>,
    /// `large`, or a number.
    pub(super) size: &'a str,
    /// Only the short runs, of all configurations.
    pub(super) only_short: bool,
    /// A round that would end later is not begun; the first one always is.
    pub(super) most: Duration,
}

/// What is run in one turn, and how.
#[derive(Clone, Copy)]
struct Place<'a> {
    workload: &'a Workload,
    length: Length,
    turn: u32,
    load: Load,
}

/// How much of the machine programs take while they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// As many threads as was asked for.
    Usual,
    /// So many that no processor is left for anything else.
    Busy(u32),
}

impl Rounds<'_> {
    /// Runs everything.
    pub(super) fn run(&self) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let with_goals: Vec<_> = self
            .configurations
            .iter()
            .filter(|configuration| WITH_GOALS.contains(&configuration.name))
            .copied()
            .collect();
        let busy = self.busy_threads.map(Load::Busy);
        for workload in self.workloads {
            for configuration in self.with_warm_cache(self.configurations) {
                let compiles = self.fill_cache(workload, configuration, Load::Usual)?;
                if configuration.name == WARM {
                    outcome.compiles.push(compiles);
                }
            }
            if let Some(load) = busy {
                for configuration in self.with_warm_cache(&with_goals) {
                    self.fill_cache(workload, configuration, load)?;
                }
            }
        }
        let all = iter::repeat_n(self.configurations, self.rounds as usize);
        let rounds = all.chain(iter::repeat_n(with_goals.as_slice(), self.goal_rounds as usize));
        let runs = self.workloads.len() * Length::ALL.len() * (self.rounds + self.goal_rounds) as usize;
        let progress = Progress::parts("measuring", runs);
        let start = Instant::now();
        let mut before = Duration::ZERO;
        for (round, configurations) in (0..).zip(rounds) {
            let begin = start.elapsed();
            // As long as the one before it, for each configuration.
            let count = configurations.len() + busy.map_or(0, |_| with_goals.len());
            if round > 0 && begin + before * count as u32 > self.most {
                progress.around(|| println!("no time for round {}", round + 1));
                break;
            }
            progress.around(|| println!("round {} of {}", round + 1, self.rounds + self.goal_rounds));
            for workload in self.workloads {
                for length in Length::ALL {
                    for turn in self.turns(workload, length, round) {
                        let loads = [(Load::Usual, configurations)].into_iter();
                        for (load, configurations) in loads.chain(busy.map(|busy| (busy, &*with_goals))) {
                            let place = Place {
                                workload,
                                length,
                                turn,
                                load,
                            };
                            self.turn(place, configurations, &mut outcome, &progress)?;
                        }
                    }
                    progress.advance();
                }
            }
            before = (start.elapsed() - begin) / count.max(1) as u32;
            // A run that fails later loses no others.
            let samples = serde_json::to_string(&[&outcome.samples.0, &outcome.busy.0])?;
            fs::write(self.builds.folder.join("samples.json"), samples)
                .context("cannot write the samples so far")?;
            if round < self.rounds {
                outcome.rounds += 1;
            } else {
                outcome.goal_rounds += 1;
            }
        }
        Ok(outcome)
    }

    /// The turns of a workload that a round has. What has no goal has none in further rounds; where the
    /// question is whether a few percent are lost, or runs are short, each such round has two.
    fn turns(&self, workload: &Workload, length: Length, round: u32) -> Range<u32> {
        let Some(further) = round.checked_sub(self.rounds) else {
            return round..round + 1;
        };
        let turns = match (workload.group, length) {
            (Group::Apart, _) => 0,
            (Group::Measured, Length::Full) => 1,
            (Group::Null | Group::Guard, _) | (Group::Measured, Length::Short) => 2,
        };
        let first = self.rounds + further * turns;
        first..first + turns
    }

    fn with_warm_cache<'a>(
        &self,
        configurations: &'a [Configuration],
    ) -> impl Iterator<Item = &'a Configuration> {
        let is_warm = |configuration: &&Configuration| configuration.cache == Some(Cache::Warm);
        configurations.iter().filter(is_warm)
    }

    /// Each configuration of that length once, in an order that changes from turn to turn.
    fn turn(
        &self,
        place: Place<'_>,
        configurations: &[Configuration],
        outcome: &mut Outcome,
        progress: &Progress,
    ) -> Result<()> {
        let Place {
            workload,
            length,
            turn,
            load,
        } = place;
        let configurations = configurations.iter().copied().filter(|configuration| {
            configuration.length == length && workload.can_be_built(configuration.build)
        });
        let mut order: Vec<_> = configurations.collect();
        if order.is_empty() {
            return Ok(());
        }
        order.push(base(length));
        put_in_order(&mut order, turn);
        let mut printed = Vec::new();
        for configuration in order {
            if configuration.cache == Some(Cache::Cold) {
                empty(&self.cache(workload, &configuration, load))?;
            }
            let mut command = self.command(workload, &configuration, load);
            let (said, taken) = sample::run(&mut command, self.builds.folder)
                .with_context(|| format!("{}, {}", workload.name, configuration.name))?;
            progress.around(|| {
                println!(
                    "{:16} {:5} {:16} kernels {:.3} s, all {:.3} s{}",
                    workload.name,
                    length.name(),
                    configuration.name,
                    taken.kernel_s.unwrap_or_default(),
                    taken.total_s,
                    if load == Load::Usual {
                        ""
                    } else {
                        ", all processors busy"
                    }
                );
            });
            let samples = match load {
                Load::Usual => &mut outcome.samples,
                Load::Busy(_) => &mut outcome.busy,
            };
            samples.0.push(Sample {
                workload: workload.name.clone(),
                configuration: configuration.name,
                length: length.name(),
                turn,
                taken,
            });
            printed.push((configuration, said));
        }
        let expected = printed
            .iter()
            .find(|(configuration, _)| configuration.name == BASE);
        if let Some((_, expected)) = expected {
            for (configuration, said) in &printed {
                if let Some(difference) = difference(expected, said, configuration.is_exact) {
                    let difference = format!("{}, {}: {difference}", workload.name, configuration.name);
                    progress.around(|| println!("WRONG: {difference}"));
                    outcome.wrong.push(difference);
                }
            }
        }
        Ok(())
    }

    /// Makes the cache as a run leaves it in which no variant was too late, and says what that took.
    fn fill_cache(&self, workload: &Workload, configuration: &Configuration, load: Load) -> Result<Compiles> {
        empty(&self.cache(workload, configuration, load))?;
        let mut command = self.command(workload, configuration, load);
        let statistics = self.statistics();
        if statistics.exists() {
            fs::remove_file(&statistics)
                .with_context(|| format!("cannot remove `{}`", statistics.display()))?;
        }
        command.env("OFFLOOM_JIT", "sync");
        sample::run(&mut command, self.builds.folder)
            .with_context(|| format!("{}, {}, filling the cache", workload.name, configuration.name))?;
        Compiles::read(&workload.name, &statistics)
    }

    /// Programs with more threads have a cache of their own: variants may be for a number of threads.
    fn cache(&self, workload: &Workload, configuration: &Configuration, load: Load) -> PathBuf {
        let folder = self.builds.folder.join("cache");
        let suffix = if load == Load::Usual { "" } else { "-busy" };
        folder.join(format!("{}-{}{suffix}", workload.name, configuration.name))
    }

    fn statistics(&self) -> PathBuf {
        self.builds.folder.join("statistics")
    }

    fn command(&self, workload: &Workload, configuration: &Configuration, load: Load) -> Command {
        let mut command = Command::new("timeout");
        command.arg(SECONDS_PER_RUN);
        command.arg(self.builds.executable(workload, configuration.build));
        command.args(["--size", self.size]).args(&workload.arguments);
        if configuration.length == Length::Short || self.only_short {
            command.args(&workload.short);
        }
        leave_out_settings(&mut command);
        let threads = match load {
            Load::Usual => self.threads,
            Load::Busy(threads) => threads,
        };
        command.env("OMP_NUM_THREADS", threads.to_string());
        command.env("OFFLOOM_JIT_CACHE_DIR", self.cache(workload, configuration, load));
        // In every run: where allocations lie depends on what the process has done before, and variants on
        // how pointers are aligned.
        command.env("OFFLOOM_JIT_STATS", self.statistics());
        command.envs(configuration.settings.iter().copied());
        command
    }
}

/// Puts what is run in one turn in the order of that turn. In as many turns as two times there are places,
/// each has each place twice, and runs before each other one as often as behind it.
pub(super) fn put_in_order<T>(runs: &mut [T], turn: u32) {
    let places = runs.len();
    runs.rotate_left((turn / 2) as usize % places);
    if turn % 2 == 1 {
        runs.reverse();
    }
}

/// How two results differ, if they do.
fn difference(expected: &Printed, said: &Printed, is_exact: bool) -> Option<String> {
    let (expected, said) = if is_exact {
        (expected.facts.clone(), said.facts.clone())
    } else {
        (expected.without_checksums(), said.without_checksums())
    };
    if expected == said {
        return None;
    }
    let mut lines = expected.lines().zip(said.lines());
    let first = lines.find(|(expected, said)| expected != said);
    Some(first.map_or_else(
        || "it prints more or less than the stock build".to_owned(),
        |(expected, said)| format!("it prints `{said}` instead of `{expected}`"),
    ))
}

/// Leaves an empty folder that belongs to this user alone.
pub(super) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    // The JIT refuses a cache that others may look into.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot make folder `{}`", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_each_place_as_often_and_none_is_always_first() {
        for places in 2..=9_usize {
            let turns = 2 * places as u32;
            let mut at = vec![vec![0; places]; places];
            let mut before = vec![vec![0; places]; places];
            for turn in 0..turns {
                let mut order: Vec<_> = (0..places).collect();
                put_in_order(&mut order, turn);
                for (place, &run) in order.iter().enumerate() {
                    at[run][place] += 1;
                    for &later in &order[place + 1..] {
                        before[run][later] += 1;
                    }
                }
            }
            for run in 0..places {
                assert!(at[run].iter().all(|count| *count == 2), "{places}: {at:?}");
                for other in (0..places).filter(|&other| other != run) {
                    assert_eq!(before[run][other], places, "{places}: {before:?}");
                }
            }
        }
    }

    #[test]
    fn another_checksum_is_wrong_unless_rounding_may_differ() {
        let stock = Printed::read("checksum a 0x1\ncheck a ok\nresult ok\n");
        let other = Printed::read("checksum a 0x2\ncheck a ok\nresult ok\n");
        assert_eq!(
            difference(&stock, &other, true).as_deref(),
            Some("it prints `checksum a 0x2` instead of `checksum a 0x1`")
        );
        assert_eq!(difference(&stock, &other, false), None);
        let wrong = Printed::read("checksum a 0x1\ncheck a WRONG\nresult WRONG\n");
        assert!(difference(&stock, &wrong, false).is_some());
        let short = Printed::read("checksum a 0x1\n");
        assert!(difference(&stock, &short, true).is_some());
    }
}

//! What was to be reached, and whether the samples show it.

use std::fmt::Write as _;

use super::contender::{COLD, LINKED, Length, WARM};
use super::samples::{Samples, Time};
use super::statistics::{self, Estimate};
use super::workload::{Group, Workload};

/// Whether a goal was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The whole interval is on the good side.
    Met,
    /// The limit is inside the interval, or there is none: one pair says nothing of the spread.
    Open,
    /// The whole interval is on the bad side.
    Missed,
    /// There are no samples.
    NotMeasured,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Open => "open",
            Self::Missed => "**missed**",
            Self::NotMeasured => "not measured",
        }
    }

    /// Of a relative time, which is to be at least `limit` times as fast.
    fn of(time: Estimate, limit: f64) -> Self {
        match time.is_at_most(1.0 / limit) {
            Some(true) => Self::Met,
            Some(false) => Self::Missed,
            None => Self::Open,
        }
    }
}

/// What is found for one goal.
#[derive(Debug)]
struct Finding {
    goal: String,
    found: String,
    /// The same without the figures of what is open.
    in_short: String,
    verdict: Verdict,
}

/// The table of goals.
pub(super) fn table(workloads: &[Workload], samples: &Samples) -> String {
    rows(workloads, samples, |finding| &finding.found)
}

/// The table of goals without the figures of each workload that is open.
pub(super) fn short_table(workloads: &[Workload], samples: &Samples) -> String {
    rows(workloads, samples, |finding| &finding.in_short)
}

fn rows(workloads: &[Workload], samples: &Samples, found: fn(&Finding) -> &String) -> String {
    let mut text = "| goal | found | |\n| --- | --- | --- |\n".to_owned();
    for finding in findings(&View { workloads, samples }) {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            finding.goal,
            found(&finding),
            finding.verdict.name()
        );
    }
    text
}

fn findings(view: &View<'_>) -> [Finding; 7] {
    [
        view.mean("kernel time, warm cache", WARM, Time::Kernel, 2.2),
        view.none_below(
            "kernel time, warm cache",
            WARM,
            Length::Full,
            Time::Kernel,
            0.98,
            |_| true,
        ),
        view.mean("end to end, warm cache", WARM, Time::EndToEnd, 1.8),
        view.none_below(
            "end to end, warm cache",
            WARM,
            Length::Full,
            Time::EndToEnd,
            0.99,
            |_| true,
        ),
        view.none_below(
            "end to end, empty cache, compiling beside the program",
            COLD,
            Length::Full,
            Time::EndToEnd,
            0.97,
            |_| true,
        ),
        view.none_below(
            "kernel time, link-time optimisation alone",
            LINKED,
            Length::Short,
            Time::Kernel,
            0.98,
            |_| true,
        ),
        view.none_below(
            "kernel time, link-time optimisation alone, workloads of several files",
            LINKED,
            Length::Short,
            Time::Kernel,
            1.0,
            |workload| workload.has_many_files,
        ),
    ]
}

struct View<'a> {
    workloads: &'a [Workload],
    samples: &'a Samples,
}

impl View<'_> {
    /// The geometric mean over the measured workloads is at least `limit` times as fast.
    fn mean(&self, what: &str, contender: &str, time: Time, limit: f64) -> Finding {
        let measured = self
            .workloads
            .iter()
            .filter(|workload| workload.group == Group::Measured);
        let ratios: Vec<_> = measured
            .map(|workload| self.samples.ratios(&workload.name, contender, Length::Full, time))
            .collect();
        let mean = statistics::of_geometric_mean(&ratios);
        let found = mean.map_or(String::new(), speed);
        Finding {
            goal: format!("{what}: at least {limit:.1} times as fast in the geometric mean"),
            in_short: found.clone(),
            found,
            verdict: mean.map_or(Verdict::NotMeasured, |mean| Verdict::of(mean, limit)),
        }
    }

    /// No workload of those wanted is below `limit` times as fast; what is shown apart does not count.
    fn none_below(
        &self,
        what: &str,
        contender: &str,
        length: Length,
        time: Time,
        limit: f64,
        is_wanted: fn(&Workload) -> bool,
    ) -> Finding {
        let (mut shown, mut open) = (Vec::new(), Vec::new());
        let mut count = 0;
        let mut verdict = Verdict::NotMeasured;
        let wanted = self.workloads.iter().filter(|workload| is_wanted(workload));
        for workload in wanted.filter(|workload| workload.group != Group::Apart) {
            let Some(ratio) = self.samples.ratio(&workload.name, contender, length, time) else {
                continue;
            };
            count += 1;
            let this = Verdict::of(ratio, limit);
            let found = format!("{} {}", workload.name, speed(ratio));
            match this {
                Verdict::Missed => shown.push(found),
                Verdict::Open => open.push(found),
                Verdict::Met | Verdict::NotMeasured => (),
            }
            verdict = match (verdict, this) {
                (Verdict::Missed, _) | (_, Verdict::Missed) => Verdict::Missed,
                (Verdict::Open, _) | (_, Verdict::Open) => Verdict::Open,
                _ => Verdict::Met,
            };
        }
        let (found, in_short) = match verdict {
            Verdict::NotMeasured => (String::new(), String::new()),
            Verdict::Met => ("none is".to_owned(), "none is".to_owned()),
            Verdict::Open | Verdict::Missed => {
                let below = if shown.is_empty() {
                    "none is shown to be".to_owned()
                } else {
                    format!("{} shown to be", shown.join(", "))
                };
                let undecided = if open.is_empty() {
                    String::new()
                } else {
                    format!(": {}", open.join(", "))
                };
                (
                    format!("{below}; {} of {count} undecided{undecided}", open.len()),
                    format!("{below}; {} of {count} undecided", open.len()),
                )
            }
        };
        Finding {
            goal: format!("{what}: none below {limit:.2} times as fast"),
            found,
            in_short,
            verdict,
        }
    }
}

/// How many times as fast, with the interval.
fn speed(time: Estimate) -> String {
    format!(
        "{:.2} [{:.2}, {:.2}]",
        1.0 / time.value,
        1.0 / time.high,
        1.0 / time.low
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::bench::contender::BASE;
    use crate::bench::samples::tests::sample;
    use crate::bench::workload::Sources;

    #[test]
    fn a_goal_is_met_only_if_the_whole_interval_is_on_the_good_side() {
        let of = |low: f64, high: f64, values| {
            let time = Estimate {
                value: 1.0 / low,
                low: 1.0 / high,
                high: 1.0 / low,
                values,
            };
            Verdict::of(time, 0.98)
        };
        assert_eq!(of(0.99, 1.2, 3), Verdict::Met);
        assert_eq!(of(0.97, 1.2, 3), Verdict::Open);
        assert_eq!(of(0.9, 0.97, 3), Verdict::Missed);
        assert_eq!(of(1.1, 1.1, 1), Verdict::Open);
    }

    #[test]
    fn without_samples_nothing_is_claimed() {
        let table = table(&[], &Samples::default());
        assert_eq!(table.matches("not measured").count(), 7, "{table}");
        assert!(!table.contains("| met"), "{table}");
    }

    #[test]
    fn the_short_table_counts_what_is_open_and_names_what_is_below() {
        let workload = |name: &str| Workload {
            name: name.to_owned(),
            group: Group::Null,
            has_many_files: false,
            folder: String::new(),
            sources: Sources::Rust(PathBuf::new()),
            arguments: Vec::new(),
            short: Vec::new(),
        };
        let pairs = [
            ("slow", [1.2, 1.2]),
            ("unclear", [0.9, 1.2]),
            ("fast", [0.5, 0.5]),
        ];
        let mut samples = Samples::default();
        for (name, seconds) in pairs {
            for (turn, seconds) in (0..).zip(seconds) {
                samples.0.push(sample(name, BASE, turn, 1.0));
                samples.0.push(sample(name, WARM, turn, seconds));
            }
        }
        let workloads = pairs.map(|(name, _)| workload(name));
        let found = "slow 0.83 [0.83, 0.83] shown to be; 1 of 3 undecided";
        let short = short_table(&workloads, &samples);
        assert!(short.contains(&format!("| {found} | **missed** |")), "{short}");
        let full = table(&workloads, &samples);
        assert!(full.contains(&format!("| {found}: unclear ")), "{full}");
    }
}

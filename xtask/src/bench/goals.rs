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
    /// The limit is inside the interval, or there is none: one round says nothing of the spread.
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
            Self::Open => "open: the limit is inside the interval, or there was one round",
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
    verdict: Verdict,
}

/// The table of goals.
pub(super) fn table(workloads: &[Workload], samples: &Samples) -> String {
    let view = View { workloads, samples };
    let findings = [
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
        view.gains(LINKED, Length::Short),
    ];
    let mut text = "| goal | found | |\n| --- | --- | --- |\n".to_owned();
    for finding in findings {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            finding.goal,
            finding.found,
            finding.verdict.name()
        );
    }
    text
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
        Finding {
            goal: format!("{what}: at least {limit:.1} times as fast in the geometric mean"),
            found: mean.map_or(String::new(), |mean| {
                format!(
                    "{:.2} [{:.2}, {:.2}]",
                    1.0 / mean.value,
                    1.0 / mean.high,
                    1.0 / mean.low
                )
            }),
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
        let mut below = Vec::new();
        let mut verdict = Verdict::NotMeasured;
        let wanted = self.workloads.iter().filter(|workload| is_wanted(workload));
        for workload in wanted.filter(|workload| workload.group != Group::Apart) {
            let Some(ratio) = self.samples.ratio(&workload.name, contender, length, time) else {
                continue;
            };
            let (low, high) = (1.0 / ratio.high, 1.0 / ratio.low);
            let this = Verdict::of(ratio, limit);
            if this != Verdict::Met {
                below.push(format!(
                    "{} {:.2} [{low:.2}, {high:.2}]",
                    workload.name,
                    1.0 / ratio.value
                ));
            }
            verdict = match (verdict, this) {
                (Verdict::Missed, _) | (_, Verdict::Missed) => Verdict::Missed,
                (Verdict::Open, _) | (_, Verdict::Open) => Verdict::Open,
                _ => Verdict::Met,
            };
        }
        let none = if verdict == Verdict::Met { "none is" } else { "" };
        Finding {
            goal: format!("{what}: none below {limit:.2} times as fast"),
            found: if below.is_empty() {
                none.to_owned()
            } else {
                below.join(", ")
            },
            verdict,
        }
    }

    /// The workloads of several files gain.
    fn gains(&self, contender: &str, length: Length) -> Finding {
        let finding = self.none_below("", contender, length, Time::Kernel, 1.0, |workload| {
            workload.has_many_files
        });
        Finding {
            goal: "kernel time, link-time optimisation alone: every workload of several files is faster"
                .to_owned(),
            found: match finding.verdict {
                Verdict::Met => "all are".to_owned(),
                _ => finding.found,
            },
            verdict: finding.verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

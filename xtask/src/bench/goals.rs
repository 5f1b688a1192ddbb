//! What was to be reached, and whether the samples show it.

use std::fmt::Write as _;

use super::configuration::{COLD, LINKED, Length, WARM};
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
    found: String,
    /// The same without the figures of what is open.
    in_short: String,
    verdict: Verdict,
}

/// The table of goals, with a second column of the samples with all processors busy, if there are any.
pub(super) fn table(workloads: &[Workload], samples: &Samples, busy: &Samples) -> String {
    rows(workloads, samples, busy, |finding| &finding.found)
}

/// The table of goals without the figures of each workload that is open.
pub(super) fn short_table(workloads: &[Workload], samples: &Samples, busy: &Samples) -> String {
    rows(workloads, samples, busy, |finding| &finding.in_short)
}

fn rows(workloads: &[Workload], samples: &Samples, busy: &Samples, found: fn(&Finding) -> &String) -> String {
    let has_busy = !busy.0.is_empty();
    let mut text = "| goal | found | |".to_owned();
    text += if has_busy { " all processors busy | |" } else { "" };
    text += "\n| --- | --- | --- |";
    text += if has_busy { " --- | --- |\n" } else { "\n" };
    for goal in &GOALS {
        let _ = write!(text, "| {} |", goal.name());
        let columns = [samples].into_iter().chain(has_busy.then_some(busy));
        for samples in columns {
            let finding = goal.find(workloads, samples);
            let _ = write!(text, " {} | {} |", found(&finding), finding.verdict.name());
        }
        text.push('\n');
    }
    text
}

/// What is to be at least so many times as fast as the stock build.
#[derive(Debug)]
struct Goal {
    what: &'static str,
    configuration: &'static str,
    length: Length,
    time: Time,
    limit: f64,
    of: Of,
}

/// Of which workloads a goal is. What is shown apart does not count.
#[derive(Debug)]
enum Of {
    /// Of those measured together, in the geometric mean.
    Mean,
    Each,
    EachOfManyFiles,
}

const GOALS: [Goal; 7] = [
    Goal {
        what: "kernel time, warm cache",
        configuration: WARM,
        length: Length::Full,
        time: Time::Kernel,
        limit: 2.2,
        of: Of::Mean,
    },
    Goal {
        what: "kernel time, warm cache",
        configuration: WARM,
        length: Length::Full,
        time: Time::Kernel,
        limit: 0.98,
        of: Of::Each,
    },
    Goal {
        what: "end to end, warm cache",
        configuration: WARM,
        length: Length::Full,
        time: Time::EndToEnd,
        limit: 1.8,
        of: Of::Mean,
    },
    Goal {
        what: "end to end, warm cache",
        configuration: WARM,
        length: Length::Full,
        time: Time::EndToEnd,
        limit: 0.99,
        of: Of::Each,
    },
    Goal {
        what: "end to end, empty cache, compiling beside the program",
        configuration: COLD,
        length: Length::Full,
        time: Time::EndToEnd,
        limit: 0.97,
        of: Of::Each,
    },
    Goal {
        what: "kernel time, link-time optimisation alone",
        configuration: LINKED,
        length: Length::Short,
        time: Time::Kernel,
        limit: 0.98,
        of: Of::Each,
    },
    Goal {
        what: "kernel time, link-time optimisation alone, workloads of several files",
        configuration: LINKED,
        length: Length::Short,
        time: Time::Kernel,
        limit: 1.0,
        of: Of::EachOfManyFiles,
    },
];

impl Goal {
    fn name(&self) -> String {
        let Self { what, limit, of, .. } = self;
        match of {
            Of::Mean => format!("{what}: at least {limit:.1} times as fast in the geometric mean"),
            Of::Each | Of::EachOfManyFiles => format!("{what}: none below {limit:.2} times as fast"),
        }
    }

    fn find(&self, workloads: &[Workload], samples: &Samples) -> Finding {
        let of =
            |is_wanted: fn(&Workload) -> bool| workloads.iter().filter(move |workload| is_wanted(workload));
        match self.of {
            Of::Mean => self.find_mean(of(|workload| workload.group == Group::Measured), samples),
            Of::Each => self.find_each(of(|workload| workload.group != Group::Apart), samples),
            Of::EachOfManyFiles => self.find_each(
                of(|workload| workload.group != Group::Apart && workload.has_many_files),
                samples,
            ),
        }
    }

    fn find_mean<'a>(&self, workloads: impl Iterator<Item = &'a Workload>, samples: &Samples) -> Finding {
        let ratios: Vec<_> = workloads
            .map(|workload| samples.ratios(&workload.name, self.configuration, self.length, self.time))
            .collect();
        let mean = statistics::of_geometric_mean(&ratios);
        let found = mean.map_or(String::new(), speed);
        Finding {
            in_short: found.clone(),
            found,
            verdict: mean.map_or(Verdict::NotMeasured, |mean| Verdict::of(mean, self.limit)),
        }
    }

    fn find_each<'a>(&self, workloads: impl Iterator<Item = &'a Workload>, samples: &Samples) -> Finding {
        let (mut below, mut open) = (Vec::new(), Vec::new());
        let mut count = 0;
        for workload in workloads {
            let Some(ratio) = samples.ratio(&workload.name, self.configuration, self.length, self.time)
            else {
                continue;
            };
            count += 1;
            let found = || format!("{} {}", workload.name, speed(ratio));
            match Verdict::of(ratio, self.limit) {
                Verdict::Missed => below.push(found()),
                Verdict::Open => open.push(found()),
                Verdict::Met | Verdict::NotMeasured => (),
            }
        }
        let (verdict, shown) = match (count, below.is_empty(), open.is_empty()) {
            (0, ..) => (Verdict::NotMeasured, String::new()),
            (_, true, true) => (Verdict::Met, "none is".to_owned()),
            (_, true, false) => (Verdict::Open, "none is shown to be".to_owned()),
            (_, false, _) => (Verdict::Missed, format!("{} shown to be", below.join(", "))),
        };
        let mut in_short = shown;
        if matches!(verdict, Verdict::Open | Verdict::Missed) {
            let _ = write!(in_short, "; {} of {count} undecided", open.len());
        }
        let mut found = in_short.clone();
        if !open.is_empty() {
            let _ = write!(found, ": {}", open.join(", "));
        }
        Finding {
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
    use crate::bench::configuration::BASE;
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
        assert_eq!(of(0.99, 1.2, 6), Verdict::Met);
        assert_eq!(of(0.97, 1.2, 6), Verdict::Open);
        assert_eq!(of(0.9, 0.97, 6), Verdict::Missed);
        assert_eq!(of(1.1, 1.1, 1), Verdict::Open);
    }

    #[test]
    fn without_samples_nothing_is_claimed() {
        let table = table(&[], &Samples::default(), &Samples::default());
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
            gpu: None,
            short: Vec::new(),
        };
        let pairs = [
            ("slow", [1.2; 6]),
            ("unclear", [0.9, 0.9, 0.9, 1.2, 1.2, 1.2]),
            ("fast", [0.5; 6]),
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
        let none = Samples::default();
        let short = short_table(&workloads, &samples, &none);
        assert!(short.contains(&format!("| {found} | **missed** |")), "{short}");
        let full = table(&workloads, &samples, &none);
        assert!(full.contains(&format!("| {found}: unclear ")), "{full}");
        assert!(!full.contains("busy"), "{full}");

        let mut busy = Samples::default();
        for turn in 0..6 {
            busy.0.push(sample("fast", BASE, turn, 1.0));
            busy.0.push(sample("fast", WARM, turn, 1.5));
        }
        let both = short_table(&workloads, &samples, &busy);
        assert!(
            both.starts_with("| goal | found | | all processors busy | |\n| --- | --- | --- | --- | --- |\n"),
            "{both}"
        );
        let row = format!(
            "| {found} | **missed** | fast 0.67 [0.67, 0.67] shown to be; 0 of 1 undecided | **missed** |"
        );
        assert!(both.contains(&row), "{both}");
    }
}

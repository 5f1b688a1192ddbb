//! All samples of one LLVM, and the pairs among them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::configuration::{BASE, Length};
use super::sample::Taken;
use super::statistics::{self, Estimate};

/// One run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Sample {
    pub(super) workload: String,
    pub(super) configuration: &'static str,
    /// `full` or `short`.
    pub(super) length: &'static str,
    /// Samples of one turn, workload and length were taken one after the other.
    pub(super) turn: u32,
    #[serde(flatten)]
    pub(super) taken: Taken,
}

/// Which time is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// In kernels.
    Kernel,
    /// From the program's start to its end.
    EndToEnd,
}

impl Time {
    fn of(self, taken: &Taken) -> Option<f64> {
        match self {
            Self::Kernel => taken.kernel_s,
            Self::EndToEnd => Some(taken.total_s),
        }
    }
}

/// Every sample.
#[derive(Debug, Default)]
pub(super) struct Samples(pub(super) Vec<Sample>);

impl Samples {
    fn of<'a>(
        &'a self,
        workload: &'a str,
        configuration: &'a str,
        length: Length,
    ) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| {
            sample.workload == workload
                && sample.configuration == configuration
                && sample.length == length.name()
        })
    }

    /// The seconds that a configuration took.
    pub(super) fn seconds(
        &self,
        workload: &str,
        configuration: &str,
        length: Length,
        time: Time,
    ) -> Vec<f64> {
        let samples = self.of(workload, configuration, length);
        samples.filter_map(|sample| time.of(&sample.taken)).collect()
    }

    /// The time of a configuration relative to the stock build's in the same turn, for each turn.
    pub(super) fn ratios(&self, workload: &str, configuration: &str, length: Length, time: Time) -> Vec<f64> {
        let bases: BTreeMap<_, _> = self
            .of(workload, BASE, length)
            .filter_map(|sample| Some((sample.turn, time.of(&sample.taken)?)))
            .collect();
        self.of(workload, configuration, length)
            .filter_map(|sample| Some(time.of(&sample.taken)? / bases.get(&sample.turn)?))
            .collect()
    }

    /// The median of [`Samples::ratios`].
    pub(super) fn ratio(
        &self,
        workload: &str,
        configuration: &str,
        length: Length,
        time: Time,
    ) -> Option<Estimate> {
        statistics::of_median(&self.ratios(workload, configuration, length, time))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::bench) fn sample(
        workload: &str,
        configuration: &'static str,
        turn: u32,
        seconds: f64,
    ) -> Sample {
        Sample {
            workload: workload.to_owned(),
            configuration,
            length: Length::Full.name(),
            turn,
            taken: Taken {
                kernel_s: Some(seconds),
                total_s: seconds + 1.0,
                processor_s: seconds,
                resident_bytes: 1,
            },
        }
    }

    #[test]
    fn ratios_are_of_runs_of_one_turn() {
        let samples = Samples(vec![
            sample("w", BASE, 0, 4.0),
            sample("w", "jit-warm", 0, 2.0),
            sample("w", BASE, 1, 8.0),
            sample("w", "jit-warm", 1, 2.0),
            sample("w", "jit-warm", 2, 9.0),
            sample("v", "jit-warm", 0, 9.0),
        ]);
        let ratios = samples.ratios("w", "jit-warm", Length::Full, Time::Kernel);
        assert_eq!(ratios, [0.5, 0.25]);
        let ratios = samples.ratios("w", "jit-warm", Length::Full, Time::EndToEnd);
        assert_eq!(ratios, [3.0 / 5.0, 3.0 / 9.0]);
        assert_eq!(samples.ratio("v", "jit-warm", Length::Full, Time::Kernel), None);
    }
}

//! Ratios of paired runs, with their median and its bootstrap confidence interval.
//!
//! A pair is two runs that followed each other in one turn, so what else the machine did weighs on both. Pairs are drawn again with
//! replacement (Efron's percentile method), with a fixed seed: the same samples give the same interval.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::Serialize;
use statrs::statistics::{Data, OrderStatistics as _};

/// How often pairs are drawn again.
const RESAMPLES: usize = 4000;

/// What the interval covers.
pub(super) const CONFIDENCE: f64 = 0.95;

/// An estimate and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// How many values it is made of, in the group with the fewest. Of one, the interval is the value itself and says nothing of the spread.
    pub(crate) values: usize,
}

impl Estimate {
    /// Whether this is at most `limit`; `None` where that is not shown: the limit is inside the interval, or there is only one value.
    pub(crate) fn is_at_most(&self, limit: f64) -> Option<bool> {
        if self.values < 2 {
            None
        } else if self.high <= limit {
            Some(true)
        } else if self.low > limit {
            Some(false)
        } else {
            None
        }
    }
}

/// The median; 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    Data::new(values.to_vec()).median()
}

/// The median of ratios; none of nothing.
pub(crate) fn of_ratios(ratios: &[f64]) -> Option<Estimate> {
    of_geometric_mean(&[ratios.to_vec()])
}

/// The median of differences, which may have any sign; none of nothing.
pub(crate) fn of_differences(differences: &[f64]) -> Option<Estimate> {
    of_medians(&[differences.to_vec()], |medians, _| medians.sum())
}

/// The geometric mean over workloads of the median of each one's ratios; workloads without any do not count.
pub(super) fn of_geometric_mean(ratios: &[Vec<f64>]) -> Option<Estimate> {
    of_medians(ratios, |medians, count| {
        let logarithms: f64 = medians.map(f64::ln).sum();
        (logarithms / count as f64).exp()
    })
}

/// What `mean` makes of the medians of the groups that are not empty, which it gets with their number.
fn of_medians(
    groups: &[Vec<f64>],
    mean: impl Fn(&mut dyn Iterator<Item = f64>, usize) -> f64,
) -> Option<Estimate> {
    let groups: Vec<_> = groups.iter().filter(|group| !group.is_empty()).collect();
    if groups.is_empty() {
        return None;
    }
    let mean = |medians: &mut dyn Iterator<Item = f64>| mean(medians, groups.len());
    let mut random = StdRng::seed_from_u64(0);
    let mut drawn = Vec::new();
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            mean(&mut groups.iter().map(|group| {
                drawn.clear();
                drawn.extend(group.iter().map(|_| group[random.random_range(0..group.len())]));
                median(&drawn)
            }))
        })
        .collect();
    let mut means = Data::new(means.as_mut_slice());
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some(Estimate {
        value: mean(&mut groups.iter().map(|group| median(group))),
        low: means.quantile(tail),
        high: means.quantile(1.0 - tail),
        values: groups.iter().map(|group| group.len()).min()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_median_and_narrows_with_more_pairs() {
        let few = of_ratios(&[0.9, 1.0, 1.1]).unwrap();
        assert_eq!(few.value, 1.0);
        assert!(few.low < 1.0 && few.high > 1.0, "{few:?}");
        let many: Vec<_> = (0..99).map(|index| [0.9, 1.0, 1.1][index % 3]).collect();
        let many = of_ratios(&many).unwrap();
        assert!(many.high - many.low < few.high - few.low);
        assert_eq!(of_ratios(&[]), None);
    }

    #[test]
    fn differences_may_have_any_sign() {
        let differences = of_differences(&[-1.0, 0.0, 1.0, -2.0, 2.0]).unwrap();
        assert_eq!(differences.value, 0.0);
        assert!(differences.low < 0.0 && differences.high > 0.0, "{differences:?}");
        assert_eq!(of_differences(&[]), None);
    }

    #[test]
    fn the_geometric_mean_is_over_workloads() {
        let mean = of_geometric_mean(&[vec![0.5], vec![2.0, 2.0], vec![]]).unwrap();
        assert!((mean.value - 1.0).abs() < 1e-12);
        assert!((mean.low - 1.0).abs() < 1e-12);
    }
}

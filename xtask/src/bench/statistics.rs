//! Ratios of paired runs, with their median and its confidence interval.
//!
//! A pair is two runs of one turn, so what else the machine did weighs on both. The interval of one median
//! lies between two of the pairs, the same number of places from either end (order statistics, which assume
//! nothing of how ratios are spread). For a mean of several medians pairs are drawn again with replacement
//! (Efron's percentile method), with a fixed seed: the same samples give the same interval.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF as _};
use statrs::statistics::{Data, OrderStatistics as _};

/// How often pairs are drawn again.
const RESAMPLES: usize = 4000;

/// What the interval covers.
pub(super) const CONFIDENCE: f64 = 0.95;

/// The fewest values of which the least and the most have the median between them in so many of all cases.
pub(crate) const FEWEST_THAT_DECIDE: usize = 6;

/// An estimate and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// How many values it is made of, in the group with the fewest. The interval of fewer than
    /// [`FEWEST_THAT_DECIDE`] goes from the least to the most, and covers less than [`CONFIDENCE`].
    pub(crate) values: usize,
}

impl Estimate {
    /// Whether this is at most `limit`; `None` where that is not shown: the limit is inside the interval, or
    /// there are too few values.
    pub(crate) fn is_at_most(&self, limit: f64) -> Option<bool> {
        if self.values < FEWEST_THAT_DECIDE {
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

/// The median of ratios or differences, which may have any sign; none of nothing.
pub(crate) fn of_median(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let places = places_left_out(sorted.len());
    Some(Estimate {
        value: median(values),
        low: *sorted.get(places)?,
        high: *sorted.get(sorted.len() - 1 - places)?,
        values: sorted.len(),
    })
}

/// How many of so many sorted values may be left out at either end while the median still lies between the
/// others in [`CONFIDENCE`] of all cases.
fn places_left_out(values: usize) -> usize {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let Ok(below) = Binomial::new(0.5, values as u64) else {
        return 0;
    };
    // With so many below the median, or fewer, it lies outside.
    (1..values.div_ceil(2))
        .take_while(|&places| below.cdf(places as u64) <= tail)
        .count()
}

/// The geometric mean over workloads of the median of each one's ratios; workloads without any do not count.
pub(super) fn of_geometric_mean(ratios: &[Vec<f64>]) -> Option<Estimate> {
    let groups: Vec<_> = ratios.iter().filter(|group| !group.is_empty()).collect();
    if groups.is_empty() {
        return None;
    }
    let mean = |medians: &mut dyn Iterator<Item = f64>| {
        let logarithms: f64 = medians.map(f64::ln).sum();
        (logarithms / groups.len() as f64).exp()
    };
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
        let few = of_median(&[0.9, 1.0, 1.1]).unwrap();
        assert_eq!((few.value, few.low, few.high), (1.0, 0.9, 1.1));
        assert!(few.is_at_most(2.0).is_none());
        let many: Vec<_> = (0..99).map(|index| [0.9, 1.0, 1.1][index % 3]).collect();
        let many = of_median(&many).unwrap();
        assert!(many.high - many.low < few.high - few.low);
        assert_eq!(of_median(&[]), None);
    }

    /// Values in tables of the sign test.
    #[test]
    fn the_interval_of_a_median_has_the_places_of_the_sign_test() {
        let places = [
            (1, 0),
            (5, 0),
            (6, 0),
            (8, 0),
            (9, 1),
            (11, 1),
            (12, 2),
            (15, 3),
            (20, 5),
        ];
        for (values, left_out) in places {
            assert_eq!(places_left_out(values), left_out, "{values}");
        }
        let six = of_median(&[1.0, 0.9, 1.2, 1.1, 0.8, 1.3]).unwrap();
        assert!(six.is_at_most(1.3) == Some(true) && six.is_at_most(0.7) == Some(false));
    }

    #[test]
    fn differences_may_have_any_sign() {
        let differences = of_median(&[-1.0, 0.0, 1.0, -2.0, 2.0]).unwrap();
        assert_eq!(differences.value, 0.0);
        assert!(differences.low < 0.0 && differences.high > 0.0, "{differences:?}");
        assert_eq!(of_median(&[]), None);
    }

    #[test]
    fn the_geometric_mean_is_over_workloads() {
        let mean = of_geometric_mean(&[vec![0.5], vec![2.0, 2.0], vec![]]).unwrap();
        assert!((mean.value - 1.0).abs() < 1e-12);
        assert!((mean.low - 1.0).abs() < 1e-12);
    }
}

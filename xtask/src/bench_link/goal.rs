//! What a link is to take at most, and whether it does.

use std::fmt;

use super::Configuration;
use crate::measurement::Measured;

/// The most that ours, which is the last of the programs compared, may take. Of each repetition the ratio is
/// taken, then the median: the programs of one repetition ran under the same load.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    /// So many times what the first program, the host link alone, takes.
    TimesOfHost(f64),
    /// So many times what the second program, LLVM's wrapper, takes.
    TimesOfStock(f64),
    /// Of what LLVM's wrapper takes beyond the host link, so much beyond the host link.
    Overhead(f64),
}

impl Goal {
    /// A paragraph that says what was to be reached and what was.
    pub(super) fn verdict(&self, configurations: &[Configuration]) -> String {
        let wall = self.median(configurations, |run| run.wall.as_secs_f64());
        let processor = self.median(configurations, |run| run.processor.as_secs_f64());
        let verdict = match (wall <= self.most(), processor <= self.most()) {
            (true, true) => "met",
            (false, true) => "met in processor time only",
            (true, false) => "met in wall time only",
            (false, false) => "missed",
        };
        format!(
            "\nGoal: {self}. Reached, median of the repetitions: wall {wall:.3}, processor {processor:.3}. **{verdict}**\n"
        )
    }

    fn most(self) -> f64 {
        match self {
            Self::TimesOfHost(most) | Self::TimesOfStock(most) | Self::Overhead(most) => most,
        }
    }

    fn median(self, configurations: &[Configuration], time: fn(&Measured) -> f64) -> f64 {
        let (Some(first), Some(last)) = (configurations.first(), configurations.last()) else {
            return f64::NAN;
        };
        let stock = configurations.get(1).unwrap_or(first);
        let mut ratios: Vec<f64> = (0..last.runs.len())
            .filter_map(|repetition| {
                let of = |configuration: &Configuration| configuration.runs.get(repetition).map(time);
                let (host, stock, ours) = (of(first)?, of(stock)?, of(last)?);
                Some(match self {
                    Self::TimesOfHost(_) => ours / host,
                    Self::TimesOfStock(_) => ours / stock,
                    Self::Overhead(_) => (ours - host) / (stock - host),
                })
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.most();
        match self {
            Self::TimesOfHost(_) => write!(f, "at most {most} times the first row"),
            Self::TimesOfStock(_) => write!(f, "at most {most} of what LLVM's wrapper takes"),
            Self::Overhead(_) => write!(
                f,
                "beyond the host link at most {most} of what LLVM's wrapper takes beyond it"
            ),
        }
    }
}

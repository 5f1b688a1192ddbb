//! Minimum, median and maximum of repeated measurements.

use std::fmt::{Display, Formatter, Result};

/// Three of the measurements, in the order of their size. Printed with the precision that the format gives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) minimum: f64,
    pub(crate) median: f64,
    pub(crate) maximum: f64,
}

impl Figures {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or_default();
        Self {
            minimum: at(0),
            median: at(values.len() / 2),
            maximum: at(values.len().saturating_sub(1)),
        }
    }
}

impl Display for Figures {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let precision = formatter.precision().unwrap_or(3);
        write!(
            formatter,
            "{:.precision$}  {:.precision$}  {:.precision$}",
            self.minimum, self.median, self.maximum
        )
    }
}

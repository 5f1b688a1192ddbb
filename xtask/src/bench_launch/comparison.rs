//! Pairs of measurements, one without the JIT and one with it, and what they say of a goal.

use crate::bench::statistics::{Estimate, median, of_median};

/// The most that something may cost.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    /// So much more, in the unit of the measurements.
    More(f64),
    /// So many times as much.
    Times(f64),
}

/// What was measured in each repetition.
#[derive(Debug)]
pub(super) struct Comparison {
    /// What it is, with the unit.
    what: String,
    goal: Option<Goal>,
    without: Vec<f64>,
    with: Vec<f64>,
}

/// The head of a table of comparisons.
pub(super) const HEAD: &str =
    "\n| | without | with | difference | ratio | goal | |\n| --- | --- | --- | --- | --- | --- | --- |\n";

impl Comparison {
    /// Nothing measured yet.
    pub(super) const fn new(what: String, goal: Option<Goal>) -> Self {
        Self {
            what,
            goal,
            without: Vec::new(),
            with: Vec::new(),
        }
    }

    /// Adds what one repetition showed.
    pub(super) fn add(&mut self, without: f64, with: f64) {
        self.without.push(without);
        self.with.push(with);
    }

    fn pairs(&self, join: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let pairs = self.without.iter().zip(&self.with);
        pairs.map(|(without, with)| join(*without, *with)).collect()
    }

    /// A row of the table under [`HEAD`].
    pub(super) fn row(&self) -> String {
        let difference = of_median(&self.pairs(|without, with| with - without));
        let mut ratios = self.pairs(|without, with| with / without);
        // There is none to what is not there.
        ratios.retain(|ratio| ratio.is_finite());
        let ratio = of_median(&ratios);
        let (goal, verdict) = match self.goal {
            None => (String::new(), ""),
            Some(Goal::More(most)) => (format!("at most +{most}"), verdict(difference, most)),
            Some(Goal::Times(most)) => (format!("at most {most} times"), verdict(ratio, most)),
        };
        let shown = |estimate: Option<Estimate>, places: usize, sign: bool| {
            estimate.map_or(String::new(), |estimate| {
                let plus = if sign && estimate.value >= 0.0 { "+" } else { "" };
                let Estimate { value, low, high, .. } = estimate;
                format!("{plus}{value:.places$} [{low:.places$}, {high:.places$}]")
            })
        };
        format!(
            "| {} | {:.2} | {:.2} | {} | {} | {goal} | {verdict} |\n",
            self.what,
            median(&self.without),
            median(&self.with),
            shown(difference, 2, true),
            shown(ratio, 3, false),
        )
    }
}

/// Whether an estimate shows that something is at most `most`.
pub(super) fn verdict(estimate: Option<Estimate>, most: f64) -> &'static str {
    match estimate.map(|estimate| estimate.is_at_most(most)) {
        None => "not measured",
        Some(Some(true)) => "**met**",
        Some(Some(false)) => "**missed**",
        Some(None) => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(goal: Goal, pairs: &[(f64, f64)]) -> String {
        let mut comparison = Comparison::new("what".to_owned(), Some(goal));
        for &(without, with) in pairs {
            comparison.add(without, with);
        }
        comparison.row()
    }

    #[test]
    fn differences_are_taken_within_a_repetition() {
        // The machine was slow in the second one.
        let pairs = [(10.0, 11.0), (100.0, 101.0), (20.0, 21.0)].repeat(2);
        let met = row(Goal::More(1.0), &pairs);
        assert!(
            met.contains("| what | 20.00 | 21.00 | +1.00 [1.00, 1.00] |"),
            "{met}"
        );
        assert!(met.ends_with("| at most +1 | **met** |\n"), "{met}");
        assert!(row(Goal::More(0.9), &pairs).ends_with("| **missed** |\n"));
    }

    #[test]
    fn a_goal_inside_the_interval_is_open_and_without_figures_nothing_is_claimed() {
        let pairs = [(10.0, 10.0), (10.0, 10.2), (10.0, 10.4)].repeat(2);
        assert!(row(Goal::Times(1.02), &pairs).ends_with("| at most 1.02 times | open |\n"));
        assert!(row(Goal::Times(1.02), &[]).ends_with("| not measured |\n"));
        let of_nothing = row(Goal::More(1.0), &[(0.0, 1.0)]);
        assert!(
            of_nothing.contains("| +1.00 [1.00, 1.00] |  | at most +1 |"),
            "{of_nothing}"
        );
        assert!(row(Goal::Times(1.05), &pairs).ends_with("| **met** |\n"));
        // Few repetitions say little of the spread.
        assert!(row(Goal::Times(1.05), &pairs[..5]).ends_with("| open |\n"));
    }
}

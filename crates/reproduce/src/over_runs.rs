//! A check's figure over several runs.

use paceline_sim::metrics::Distribution;
use serde::Serialize;

use crate::expectation::{Expectation, number};

/// Shares of the runs between which a check that holds is fragile.
const FRAGILE: std::ops::RangeInclusive<f64> = 0.2..=0.8;

/// The figure of a check over several runs. The figure of an order is its smallest step between two
/// neighbours, as a share of the larger one, taken within each run.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct OverRuns {
    /// Number of runs.
    pub runs: usize,
    /// Median over the runs.
    pub median: f64,
    /// 5th percentile over the runs.
    pub p5: f64,
    /// 95th percentile over the runs.
    pub p95: f64,
    /// Number of runs in which the check holds.
    pub held_in: usize,
    /// Whether the median meets the bound, and at least half of the runs have the figure.
    pub holds: bool,
}

impl OverRuns {
    /// Judges an expectation by its measured values in each run, the first one first. `None` if no
    /// further run has all values: then the tasks behind them ran once.
    pub(crate) fn of(
        expectation: &Expectation,
        runs: impl Iterator<Item = Vec<f64>>,
    ) -> Option<OverRuns> {
        let runs: Vec<Vec<f64>> = runs.collect();
        if !runs.iter().skip(1).any(|values| values.iter().all(|value| value.is_finite())) {
            return None;
        }
        // The median of a minority of the runs says nothing about all of them.
        let measured = |values: &&Vec<f64>| values.iter().all(|value| value.is_finite());
        let is_measured = 2 * runs.iter().filter(measured).count() >= runs.len();
        let held_in = runs.iter().filter(|values| expectation.holds(values)).count();
        let figures = runs.iter().map(|values| expectation.figure(values));
        let Distribution { median, p5, p95, .. } = Distribution::of(figures)?;
        let holds = is_measured && expectation.meets(median);
        Some(OverRuns { runs: runs.len(), median, p5, p95, held_in, holds })
    }

    /// True if it holds in one to four of five runs.
    pub fn is_fragile(self) -> bool {
        FRAGILE.contains(&(self.held_in as f64 / self.runs as f64))
    }

    /// Returns the median, and in brackets the 5th and 95th percentiles.
    pub fn range(self) -> String {
        let [median, p5, p95] = [self.median, self.p5, self.p95].map(number);
        format!("{median} [{p5}, {p95}]")
    }

    /// Returns in how many of the runs it holds.
    pub fn share(self) -> String {
        format!("{} of {}", self.held_in, self.runs)
    }

    /// Returns the judgement in words: by the median, and whether it is fragile.
    pub fn words(self) -> &'static str {
        match (self.is_fragile(), self.holds) {
            (true, true) => "fragile, holds by the median",
            (true, false) => "fragile, does not hold by the median",
            (false, true) => "holds",
            (false, false) => "does not hold",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(expectation: &Expectation, runs: &[&[f64]]) -> OverRuns {
        OverRuns::of(expectation, runs.iter().map(|run| run.to_vec())).expect("measured")
    }

    #[test]
    fn the_median_decides_and_the_share_of_runs_says_how_surely() {
        let least = Expectation::Least { measure: "m".into(), least: 1.0 };
        let firm = over(&least, &[&[1.1], &[1.2], &[1.3], &[1.4], &[1.5], &[0.9], &[1.2], &[1.3]]);
        assert_eq!((firm.runs, firm.held_in, firm.holds, firm.is_fragile()), (8, 7, true, false));
        let most = over(&least, &[&[1.1], &[0.8], &[1.3], &[0.9], &[1.5]]);
        assert_eq!((most.held_in, most.holds, most.is_fragile()), (3, true, true));
        assert_eq!(most.words(), "fragile, holds by the median");
        let few = over(&least, &[&[0.1], &[0.2], &[0.3], &[0.4], &[1.5], &[0.9]]);
        assert_eq!((few.held_in, few.words()), (1, "does not hold"));
    }

    #[test]
    fn orders_are_paired_within_each_run() {
        let falling = Expectation::Falling { falling: vec!["a".into(), "b".into()], step: 0.1 };
        // The runs differ by a factor of ten, and each by itself is in order.
        let paired = over(&falling, &[&[1.0, 0.8], &[10.0, 8.0], &[100.0, 85.0]]);
        assert_eq!((paired.held_in, paired.holds), (3, true));
        assert!((paired.median - 0.2).abs() < 1e-9, "{paired:?}");
        let equal = over(&falling, &[&[0.0, 0.0], &[1.0, 1.0]]);
        assert_eq!((equal.median, equal.held_in, equal.holds), (0.0, 0, false));
    }

    #[test]
    fn runs_without_the_figure_do_not_hold() {
        let most = Expectation::Most { measure: "m".into(), most: 1.0 };
        let some = over(&most, &[&[0.5], &[f64::NAN], &[0.7]]);
        assert_eq!((some.runs, some.held_in), (3, 2));
        let least = Expectation::Least { measure: "m".into(), least: 1.0 };
        let nan: &[f64] = &[f64::NAN];
        let minority = over(&least, &[nan, &[1.5], nan, nan, nan, nan, nan, nan]);
        assert_eq!((minority.runs, minority.held_in, minority.holds), (8, 1, false));
        assert!(over(&least, &[nan, &[1.5]]).holds);
        let once = [vec![0.5], vec![f64::NAN], vec![f64::NAN]];
        assert!(OverRuns::of(&most, once.into_iter()).is_none());
    }
}

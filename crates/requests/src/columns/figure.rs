//! Kinds of figures: numbers, counts and quantiles, and what becomes of them over several runs.

use paceline_sim::metrics::{Distribution, P95, Quantiles};
use serde::Serialize;

use super::cell::Part;

/// A figure of one run.
pub trait Figure: Copy {
    /// The same figure over several runs.
    type OverRuns: FigureOverRuns;

    /// Returns the part of the figure that a cell shows; `None` if it was not measured, or has no such part.
    fn part(self, part: Part) -> Option<f64>;

    /// Returns the distribution of the figure over runs.
    fn over_runs(runs: &[Self]) -> Self::OverRuns;

    /// Returns true if JSON has no field for the figure.
    fn is_left_out(&self) -> bool {
        false
    }
}

/// A figure over several runs.
pub trait FigureOverRuns {
    /// Returns the distribution of the part that a cell shows; `None` if it was measured in no run, or there is no such
    /// part.
    fn part(&self, part: Part) -> Option<&Distribution>;

    /// Returns true if JSON has no field for the figure.
    fn is_left_out(&self) -> bool {
        false
    }
}

/// Quantiles of a delay, each over the runs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayDistributions {
    /// Mean of each run.
    pub mean: Distribution,
    /// Median of each run.
    pub p50: Distribution,
    /// 95th percentile of each run.
    pub p95: Distribution,
    /// 99th percentile of each run.
    pub p99: Distribution,
}

/// A 95th percentile over the runs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct P95Distribution {
    /// In milliseconds.
    pub p95: Distribution,
}

/// A figure of a video or of audio; `None` for flows without it, for which JSON leaves it out.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct OfMedia<T>(pub Option<T>);

impl Figure for f64 {
    type OverRuns = Distribution;

    fn part(self, part: Part) -> Option<f64> {
        (part == Part::Whole).then_some(self)
    }

    fn over_runs(runs: &[f64]) -> Distribution {
        over(runs, |figure| *figure)
    }
}

impl Figure for u64 {
    type OverRuns = Distribution;

    fn part(self, part: Part) -> Option<f64> {
        (part == Part::Whole).then_some(self as f64)
    }

    fn over_runs(runs: &[u64]) -> Distribution {
        over(runs, |count| *count as f64)
    }
}

impl Figure for Option<u64> {
    type OverRuns = Option<Distribution>;

    fn part(self, part: Part) -> Option<f64> {
        self?.part(part)
    }

    fn over_runs(runs: &[Option<u64>]) -> Option<Distribution> {
        Distribution::of(runs.iter().flatten().map(|count| *count as f64))
    }
}

impl Figure for Option<f64> {
    type OverRuns = Option<Distribution>;

    fn part(self, part: Part) -> Option<f64> {
        self?.part(part)
    }

    fn over_runs(runs: &[Option<f64>]) -> Option<Distribution> {
        Distribution::of(runs.iter().flatten().copied())
    }
}

impl Figure for P95 {
    type OverRuns = P95Distribution;

    fn part(self, part: Part) -> Option<f64> {
        (part == Part::P95 && self.p95.is_finite()).then_some(self.p95)
    }

    fn over_runs(runs: &[P95]) -> P95Distribution {
        P95Distribution { p95: over(runs, |figure| figure.p95) }
    }
}

impl Figure for Quantiles {
    type OverRuns = DelayDistributions;

    fn part(self, part: Part) -> Option<f64> {
        match part {
            Part::Whole => None,
            Part::Mean => Some(self.mean),
            Part::P50 => Some(self.p50),
            Part::P95 => Some(self.p95),
            Part::P99 => Some(self.p99),
        }
    }

    fn over_runs(runs: &[Quantiles]) -> DelayDistributions {
        DelayDistributions {
            mean: over(runs, |delay| delay.mean),
            p50: over(runs, |delay| delay.p50),
            p95: over(runs, |delay| delay.p95),
            p99: over(runs, |delay| delay.p99),
        }
    }
}

impl<F: Figure> Figure for OfMedia<F> {
    type OverRuns = OfMedia<F::OverRuns>;

    fn part(self, part: Part) -> Option<f64> {
        self.0?.part(part)
    }

    fn over_runs(runs: &[OfMedia<F>]) -> OfMedia<F::OverRuns> {
        let runs: Vec<F> = runs.iter().filter_map(|figure| figure.0).collect();
        OfMedia((!runs.is_empty()).then(|| F::over_runs(&runs)))
    }

    fn is_left_out(&self) -> bool {
        self.0.is_none()
    }
}

/// Returns the distribution of a figure over runs; NaN if it is finite in none of them.
pub(crate) fn over<T>(runs: &[T], figure: impl Fn(&T) -> f64) -> Distribution {
    Distribution::of(runs.iter().map(figure)).unwrap_or_default()
}

impl FigureOverRuns for Distribution {
    fn part(&self, part: Part) -> Option<&Distribution> {
        (part == Part::Whole).then_some(self)
    }
}

impl FigureOverRuns for Option<Distribution> {
    fn part(&self, part: Part) -> Option<&Distribution> {
        self.as_ref()?.part(part)
    }
}

impl FigureOverRuns for DelayDistributions {
    fn part(&self, part: Part) -> Option<&Distribution> {
        match part {
            Part::Whole => None,
            Part::Mean => Some(&self.mean),
            Part::P50 => Some(&self.p50),
            Part::P95 => Some(&self.p95),
            Part::P99 => Some(&self.p99),
        }
    }
}

impl FigureOverRuns for P95Distribution {
    fn part(&self, part: Part) -> Option<&Distribution> {
        (part == Part::P95 && self.p95.median.is_finite()).then_some(&self.p95)
    }
}

impl<F: FigureOverRuns> FigureOverRuns for OfMedia<F> {
    fn part(&self, part: Part) -> Option<&Distribution> {
        self.0.as_ref()?.part(part)
    }

    fn is_left_out(&self) -> bool {
        self.0.is_none()
    }
}

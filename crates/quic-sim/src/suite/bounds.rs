//! Measures of a case, and their bounds.

use std::fmt;

use paceline_cc::Span;
use paceline_sim::metrics::median;
use paceline_sim::{FlowSeries, Outcome};

/// Purpose of a congestion control.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Treats only loss as a sign of congestion, and so fills buffers: Cubic, NewReno.
    FillsBuffers,
    /// Keeps queues short in any buffer: BBR, Copa, Vegas.
    LimitsDelay,
}

/// A figure of a run's flow under test. All figures leave out the warm-up, except
/// [`LossPercent`](Measure::LossPercent).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes that the first link delivered divided by bytes that it could deliver, for all flows
    /// together.
    Utilisation,
    /// Goodput: bytes of the application that arrived, in Mbit/s.
    GoodputMbps,
    /// The flow's share of all flows' goodput.
    Share,
    /// 95th percentile of its packets' one-way delay, in ms.
    DelayP95Ms,
    /// Packets that its sender declared lost, in per cent of all packets sent since the start.
    LossPercent,
    /// Packets that the first link marked CE.
    Marks,
    /// Bytes of the application that arrive within this number of milliseconds, counted from the
    /// first arrival after the warm-up, in kB. The resolution is [`Measure::BIN`].
    FirstKb(u32),
}

impl Measure {
    /// Length of the bins in which arrivals are counted.
    pub const BIN: Span = Span::from_millis(10);

    /// True if it needs a record of arrivals in bins of [`Measure::BIN`].
    pub fn needs_series(self) -> bool {
        matches!(self, Measure::FirstKb(_))
    }

    /// Returns its value in a run whose first flow is the one under test.
    pub fn of(self, outcome: &Outcome) -> f64 {
        let (Some(link), Some(flow)) = (outcome.links.first(), outcome.flows.first()) else {
            return f64::NAN;
        };
        match self {
            Measure::Utilisation => link.utilization,
            Measure::GoodputMbps => flow.goodput_mbps,
            Measure::Share => flow.goodput_mbps / outcome.goodput_mbps(),
            Measure::DelayP95Ms => flow.one_way_delay_ms.p95,
            Measure::LossPercent => {
                let counted = flow.since_start;
                100.0 * counted.lost as f64 / counted.sent.max(1) as f64
            }
            Measure::Marks => link.marks as f64,
            Measure::FirstKb(millis) => {
                flow.series.as_ref().map_or(f64::NAN, |series| first_kb(series, outcome, millis))
            }
        }
    }
}

/// Returns the kB that arrive in the first `millis`: see [`Measure::FirstKb`].
fn first_kb(series: &FlowSeries, outcome: &Outcome, millis: u32) -> f64 {
    let rates = &series.goodput_mbps;
    let measured = (outcome.duration_s / series.bin_s).round() as usize;
    let bins = (f64::from(millis) / 1e3 / series.bin_s).round() as usize;
    let after_warmup = rates.iter().skip(rates.len().saturating_sub(measured));
    let first: f64 = after_warmup.skip_while(|rate| **rate == 0.0).take(bins).sum();
    first * series.bin_s * 1e3 / 8.0
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Measure::Utilisation => "utilisation",
            Measure::GoodputMbps => "goodput Mbit/s",
            Measure::Share => "share",
            Measure::DelayP95Ms => "p95 delay ms",
            Measure::LossPercent => "lost %",
            Measure::Marks => "marks",
            Measure::FirstKb(millis) => return f.pad(&format!("kB in {millis} ms")),
        })
    }
}

/// Bound of a figure, with its reason.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Figure that it bounds.
    pub measure: Measure,
    /// Smallest allowed value.
    pub least: f64,
    /// Largest allowed value.
    pub most: f64,
    /// Reason for the bound.
    pub why: &'static str,
    /// Purpose to which it applies; `None` for all congestion control.
    pub aim: Option<Aim>,
}

impl Bound {
    /// Returns a bound of at least `least`.
    pub fn at_least(measure: Measure, least: f64, why: &'static str) -> Bound {
        Bound { measure, least, most: f64::INFINITY, why, aim: None }
    }

    /// Returns a bound of at most `most`.
    pub fn at_most(measure: Measure, most: f64, why: &'static str) -> Bound {
        Bound { measure, least: f64::NEG_INFINITY, most, why, aim: None }
    }

    /// Returns a bound from `least` to `most`.
    pub fn between(measure: Measure, (least, most): (f64, f64), why: &'static str) -> Bound {
        Bound { measure, least, most, why, aim: None }
    }

    /// Restricts the bound to congestion control with this purpose.
    #[must_use]
    pub fn only(self, aim: Aim) -> Bound {
        Bound { aim: Some(aim), ..self }
    }

    /// Returns the allowed values in words: `at most 2`.
    pub(super) fn limits(&self) -> String {
        match (self.least.is_finite(), self.most.is_finite()) {
            (true, true) => format!("{} to {}", self.least, self.most),
            (true, false) => format!("at least {}", self.least),
            _ => format!("at most {}", self.most),
        }
    }

    /// True if it applies to congestion control with this purpose.
    pub fn applies_to(&self, aim: Aim) -> bool {
        self.aim.is_none_or(|only| only == aim)
    }
}

/// A bound, and its figure in each run.
#[derive(Clone, Debug)]
pub struct BoundCheck {
    /// The bound.
    pub bound: Bound,
    /// The figure in each run; NaN if it was not measured, or the run failed.
    pub values: Vec<f64>,
}

impl BoundCheck {
    /// Checks a bound in runs; `None` is a run that failed.
    pub fn new(bound: &Bound, outcomes: &[Option<Outcome>]) -> BoundCheck {
        let value =
            |run: &Option<Outcome>| run.as_ref().map_or(f64::NAN, |run| bound.measure.of(run));
        let values = outcomes.iter().map(value).collect();
        BoundCheck { bound: bound.clone(), values }
    }

    /// Number of runs in which the figure lies within the bound. NaN does not.
    pub fn held(&self) -> usize {
        let within = |value: &&f64| self.bound.least <= **value && **value <= self.bound.most;
        self.values.iter().filter(within).count()
    }

    /// True if the figure lies within the bound in more than half of the runs.
    pub fn holds(&self) -> bool {
        2 * self.held() > self.values.len()
    }

    /// Returns the median of the measured values; NaN without any.
    pub fn median(&self) -> f64 {
        median(self.measured()).unwrap_or(f64::NAN)
    }

    /// Returns the smallest measured value; NaN without any.
    pub fn smallest(&self) -> f64 {
        self.measured().into_iter().reduce(f64::min).unwrap_or(f64::NAN)
    }

    /// Returns the largest measured value; NaN without any.
    pub fn largest(&self) -> f64 {
        self.measured().into_iter().reduce(f64::max).unwrap_or(f64::NAN)
    }

    fn measured(&self) -> Vec<f64> {
        self.values.iter().copied().filter(|value| !value.is_nan()).collect()
    }
}

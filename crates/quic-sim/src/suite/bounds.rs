//! What is measured in a case, and what must hold of it.

use std::fmt;

use paceline_sim::Outcome;

use super::report::Check;

/// What a congestion control is meant for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// It takes loss for the only sign of congestion, and so fills buffers: Cubic, NewReno.
    FillsBuffers,
    /// It is to keep queues short, whatever the buffer: BBR, Copa, Vegas.
    LimitsDelay,
}

/// A figure of a run, of the flow under test. All of them leave the warm-up out, but
/// [`LossPercent`](Measure::LossPercent).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes that the first link delivered over bytes that it offered, all flows together.
    Utilisation,
    /// The application's bytes that arrived, in Mbit/s.
    GoodputMbps,
    /// The flow's share of all flows' goodput.
    Share,
    /// The 95th percentile of its packets' one-way delay in ms.
    DelayP95Ms,
    /// Packets that its sender declared lost, in per cent of those that it sent, from the start.
    LossPercent,
    /// Packets that the first link marked CE.
    Marks,
}

impl Measure {
    /// Its value in a run, whose first flow is the one under test.
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
                100.0 * flow.sender.lost as f64 / flow.sender.sent.max(1) as f64
            }
            Measure::Marks => link.marks as f64,
        }
    }
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
        })
    }
}

/// What must hold of a figure, and why.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The figure.
    pub measure: Measure,
    /// Its least value.
    pub least: f64,
    /// Its largest value.
    pub most: f64,
    /// Why it must lie there.
    pub why: &'static str,
    /// Holds for congestion control of this aim only; `None` for all.
    pub aim: Option<Aim>,
}

impl Bound {
    /// At least `least`.
    pub fn at_least(measure: Measure, least: f64, why: &'static str) -> Bound {
        Bound { measure, least, most: f64::INFINITY, why, aim: None }
    }

    /// At most `most`.
    pub fn at_most(measure: Measure, most: f64, why: &'static str) -> Bound {
        Bound { measure, least: f64::NEG_INFINITY, most, why, aim: None }
    }

    /// From `least` to `most`.
    pub fn between(measure: Measure, (least, most): (f64, f64), why: &'static str) -> Bound {
        Bound { measure, least, most, why, aim: None }
    }

    /// The same for congestion control of this aim only.
    #[must_use]
    pub fn only(self, aim: Aim) -> Bound {
        Bound { aim: Some(aim), ..self }
    }

    /// True if it holds for congestion control of this aim.
    pub fn applies_to(&self, aim: Aim) -> bool {
        self.aim.is_none_or(|only| only == aim)
    }

    /// Holds it against a run.
    pub fn check(&self, outcome: &Outcome) -> Check {
        Check { bound: self.clone(), value: self.measure.of(outcome) }
    }
}

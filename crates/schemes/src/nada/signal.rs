//! The congestion signal (RFC 8698 §4.2, equations 1 and 2), in milliseconds.

use super::NadaParams;
use super::log::Summary;
use super::loss_intervals::LossIntervals;

/// Smooths shares of lost and marked packets, and makes the congestion signal of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Signal {
    /// Smoothed shares of packets lost and marked.
    loss: f64,
    marks: f64,
    /// The signal now and one report ago, in milliseconds.
    current: f64,
    previous: f64,
}

/// Returns queueing delay `d_queue` in milliseconds as losses warp it (equation 1).
pub(super) fn warped(params: &NadaParams, d_queue: f64) -> f64 {
    let qth = params.qth.as_millis_f64();
    if d_queue < qth { d_queue } else { qth * libm::exp(-params.lambda * (d_queue - qth) / qth) }
}

/// Returns the share of warped delay, 0 to 1. After `multiloss` average intervals without a loss it falls
/// linearly to 0 within one more average interval.
pub(super) fn warping(params: &NadaParams, losses: &LossIntervals) -> f64 {
    let Some(average) = losses.average(params.open_interval) else { return 0.0 };
    let expired = losses.current() / average.max(1.0) - params.multiloss;
    1.0 - expired.clamp(0.0, 1.0)
}

impl Signal {
    /// Takes a report in.
    pub(super) fn update(
        &mut self,
        params: &NadaParams,
        summary: &Summary,
        losses: &LossIntervals,
    ) {
        self.loss += params.alpha * (summary.loss - self.loss);
        self.marks += params.alpha * (summary.marks - self.marks);
        self.previous = self.current;
        let Some(d_queue) = summary.d_queue else { return };
        let share = warping(params, losses);
        let delay = share * warped(params, d_queue) + (1.0 - share) * d_queue;
        let (marked, lost) = (self.marks / params.pmrref, self.loss / params.plrref);
        // Equation 2.
        let signal = delay
            + params.dmark.as_millis_f64() * marked * marked
            + params.dloss.as_millis_f64() * lost * lost;
        self.current = signal.min(params.xmax.as_millis_f64());
    }

    /// Returns the signal (`x_curr`) in milliseconds.
    pub(super) fn current(&self) -> f64 {
        self.current
    }

    /// Returns the signal of the report before (`x_prev`) in milliseconds.
    pub(super) fn previous(&self) -> f64 {
        self.previous
    }

    /// Returns the smoothed share of lost packets.
    pub(super) fn loss(&self) -> f64 {
        self.loss
    }

    /// Returns the smoothed share of marked packets.
    pub(super) fn marks(&self) -> f64 {
        self.marks
    }
}

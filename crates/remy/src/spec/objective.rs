//! What counts.

use serde::Deserialize;

use crate::score::{STARVED, SenderFigures};

/// What senders are judged by.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The utility of throughput, less `delta` times that of delay (the thesis, sections 3.4.3 and
    /// 4.3.2).
    #[default]
    ThroughputDelay,
    /// How long flows of a given size take: the mean over a sender's flows of -log2(slowdown). The
    /// slowdown of a flow is its completion time over that which it would have alone: see
    /// [`SenderFigures::log2_slowdown`].
    CompletionTime,
}

/// What a network's senders are worth: throughput by `alpha`-fairness, less `delta` times delay; or
/// the time that their flows take.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Objective {
    /// What senders are judged by.
    pub metric: Metric,
    /// The exponent of throughput: 0 counts its sum, 1 the logarithms, more is fairer.
    pub alpha: f64,
    /// The exponent of delay; 1 for its logarithm.
    pub beta: f64,
    /// What delay counts against throughput.
    pub delta: f64,
    /// The same for senders of another kind; they count for nothing without it.
    pub others_delta: Option<f64>,
}

impl Default for Objective {
    fn default() -> Objective {
        let metric = Metric::ThroughputDelay;
        Objective { metric, alpha: 1.0, beta: 1.0, delta: 1.0, others_delta: None }
    }
}

impl Objective {
    /// The utility of a throughput in packets per ms with a delay in units of 100 ms. With exponents
    /// of 1 these are logarithms to base 2, as in the published program.
    pub fn utility(&self, throughput: f64, delay: f64) -> f64 {
        let power = |value: f64, exponent: f64| match exponent {
            1.0 => value.log2(),
            _ => value.powf(1.0 - exponent) / (1.0 - exponent),
        };
        power(throughput, self.alpha) - self.delta * power(delay, self.beta)
    }

    /// What a sender is worth; 0 for one that was never on. `None` if it does not count.
    pub fn score(&self, sender: &SenderFigures) -> Option<f64> {
        let delta = if sender.other { self.others_delta? } else { self.delta };
        let score = match self.metric {
            Metric::CompletionTime if sender.flows == 0.0 => 0.0,
            Metric::CompletionTime => -sender.log2_slowdown,
            Metric::ThroughputDelay if sender.share_s == 0.0 => 0.0,
            Metric::ThroughputDelay if sender.packets == 0.0 => STARVED,
            Metric::ThroughputDelay => {
                let own = Objective { delta, ..*self };
                own.utility(sender.throughput(), sender.delay_ms / 100.0)
            }
        };
        Some(score)
    }

    /// The same aims seen from senders of the other kind.
    pub(crate) fn of_others(&self) -> Objective {
        let delta = self.others_delta.unwrap_or(self.delta);
        Objective { delta, others_delta: self.others_delta.map(|_| self.delta), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_sender_has_its_own_delta() {
        let objective = Objective { delta: 0.1, others_delta: Some(10.0), ..Objective::default() };
        let mut sender = SenderFigures::default();
        (sender.packets, sender.share_s, sender.delay_ms) = (1000.0, 1.0, 200.0);
        assert_eq!(objective.score(&sender), Some(-0.1));
        sender.other = true;
        assert_eq!(objective.score(&sender), Some(-10.0));
        assert_eq!(objective.of_others().score(&sender), Some(-0.1));
        assert_eq!(objective.of_others().of_others(), objective);
        assert_eq!(Objective::default().score(&sender), None);
    }

    #[test]
    fn flows_count_by_their_slowdown() {
        let metric = Metric::CompletionTime;
        let objective = Objective { metric, ..Objective::default() };
        let mut sender = SenderFigures::default();
        assert_eq!(objective.score(&sender), Some(0.0));
        (sender.flows, sender.log2_slowdown) = (3.0, 1.5);
        assert_eq!(objective.score(&sender), Some(-1.5));
    }
}

//! Objectives: how senders and networks are scored.

use paceline_remy_runs::DelayMeasure;
use serde::Deserialize;

use crate::score::{STARVED, SenderFigures};

/// The measure by which senders are scored.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Utility of throughput minus `delta` times that of delay (the thesis, sections 3.4.3 and
    /// 4.3.2).
    #[default]
    ThroughputDelay,
    /// Completion times of flows of a given size: the mean of -log2(slowdown) over a sender's
    /// flows. The slowdown is a flow's completion time divided by the one that it would have alone:
    /// see [`SenderFigures::log2_slowdown`].
    CompletionTime,
}

/// The score of a network's senders: `alpha`-fair throughput minus `delta` times delay, or the
/// completion times of their flows.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Objective {
    /// The measure by which senders are scored.
    pub metric: Metric,
    /// Exponent of throughput: 0 for its sum, 1 for its logarithm; larger values are fairer.
    pub alpha: f64,
    /// Exponent of delay; 1 for its logarithm.
    pub beta: f64,
    /// Weight of delay against throughput.
    pub delta: f64,
    /// Weight of delay for senders of another kind; `None` leaves them out of the score.
    pub others_delta: Option<f64>,
    /// Which delay of a sender's packets is scored.
    pub delay: DelayMeasure,
    /// Weight of log2(1 + [`SenderFigures::repeats`]) against throughput.
    pub repeats: f64,
    /// Scores the mean over this share of the networks, those with the lowest scores (conditional
    /// value at risk); `None` for the sum over all networks.
    pub worst: Option<f64>,
}

impl Default for Objective {
    fn default() -> Objective {
        let metric = Metric::ThroughputDelay;
        let (delay, repeats, worst) = (DelayMeasure::Mean, 0.0, None);
        let (alpha, beta, delta, others_delta) = (1.0, 1.0, 1.0, None);
        Objective { metric, alpha, beta, delta, others_delta, delay, repeats, worst }
    }
}

impl Objective {
    /// Returns the utility of a throughput in packets per ms with a delay in units of 100 ms. With
    /// exponents of 1 these are logarithms to base 2, as in the published program.
    pub fn utility(&self, throughput: f64, delay: f64) -> f64 {
        let power = |value: f64, exponent: f64| match exponent {
            1.0 => value.log2(),
            _ => value.powf(1.0 - exponent) / (1.0 - exponent),
        };
        power(throughput, self.alpha) - self.delta * power(delay, self.beta)
    }

    /// Returns the score of a sender; 0 for one that was never on, `None` if the sender does not
    /// count.
    pub fn score(&self, sender: &SenderFigures) -> Option<f64> {
        let delta = if sender.other { self.others_delta? } else { self.delta };
        let score = match self.metric {
            Metric::CompletionTime if sender.flows == 0.0 => 0.0,
            Metric::CompletionTime => -sender.log2_slowdown,
            Metric::ThroughputDelay if sender.share_s == 0.0 => 0.0,
            Metric::ThroughputDelay if sender.packets == 0.0 => STARVED,
            Metric::ThroughputDelay => {
                let own = Objective { delta, ..*self };
                let delay_ms = match self.delay {
                    DelayMeasure::Mean => sender.delay_ms,
                    DelayMeasure::Median | DelayMeasure::P95 | DelayMeasure::P99 => {
                        sender.delay_quantile_ms
                    }
                };
                let utility = own.utility(sender.throughput(), delay_ms / 100.0);
                match self.repeats {
                    0.0 => utility,
                    weight => utility - weight * (1.0 + sender.repeats).log2(),
                }
            }
        };
        Some(score)
    }

    /// Returns the sum of the networks' scores; with [`Objective::worst`], the number of networks
    /// times the mean of the worst scores, in which a network at the edge of the share counts in
    /// part.
    pub fn total(&self, scores: &[f64]) -> f64 {
        let Some(share) = self.worst.filter(|_| !scores.is_empty()) else {
            return scores.iter().sum();
        };
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        let worst = share * sorted.len() as f64;
        let (whole, edge) = sorted.split_at((worst as usize).min(sorted.len()));
        let part = edge.first().map_or(0.0, |score| worst.fract() * score);
        (whole.iter().sum::<f64>() + part) / share
    }

    /// Returns the lowest score that does not wholly count, or the highest score if all of them do;
    /// `None` without [`Objective::worst`]. Up to it, gains of the worst networks count.
    pub(crate) fn threshold(&self, scores: &[f64]) -> Option<f64> {
        let share = self.worst?;
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        let worst = (share * sorted.len() as f64) as usize;
        sorted.get(worst.min(sorted.len().saturating_sub(1))).copied()
    }

    /// Returns the contribution of a network's score, where `threshold` separates the worst scores
    /// of a table from the others.
    ///
    /// The sum of a table's contributions with its own threshold is its [`Objective::total`]. With
    /// another table's threshold the sum is at most that (Rockafellar and Uryasev 2000: conditional
    /// value at risk is the maximum over thresholds). So a gain computed with the present table's
    /// threshold is a lower bound of the true gain, and it is a sum over networks. It serves to give
    /// up candidates early; which one wins is decided by totals.
    pub(crate) fn counted(&self, score: f64, threshold: Option<f64>) -> f64 {
        match (self.worst, threshold) {
            (Some(share), Some(threshold)) => threshold - (threshold - score).max(0.0) / share,
            _ => score,
        }
    }

    /// Returns the objective seen from senders of the other kind.
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
    fn repeats_and_quantiles_count_if_asked_for() {
        let mut sender = SenderFigures::default();
        (sender.packets, sender.share_s, sender.delay_ms) = (1000.0, 1.0, 100.0);
        (sender.repeats, sender.delay_quantile_ms) = (1.0, 400.0);
        assert_eq!(Objective::default().score(&sender), Some(0.0));
        let repeats = Objective { repeats: 0.5, ..Objective::default() };
        assert_eq!(repeats.score(&sender), Some(-0.5));
        let delay = Objective { delay: DelayMeasure::P95, ..Objective::default() };
        assert_eq!(delay.score(&sender), Some(-2.0));
    }

    #[test]
    fn the_worst_share_of_networks_counts() {
        let scores = [-4.0, 0.0, -1.0, -2.0, 5.0, 1.0, 2.0, 3.0];
        assert_eq!(Objective::default().total(&scores), 4.0);
        let objective = |share| Objective { worst: Some(share), ..Objective::default() };
        // The mean of the worst two of eight, and of the worst two and a half.
        assert_eq!(objective(0.25).total(&scores), 8.0 * -3.0);
        let part = 8.0 * (-4.0 - 2.0 - 0.5) / 2.5;
        assert!((objective(2.5 / 8.0).total(&scores) - part).abs() < 1e-9);
        assert!((objective(1.0).total(&scores) - 4.0).abs() < 1e-9);
        assert_eq!(objective(0.01).total(&scores), 8.0 * -4.0);
        assert_eq!(objective(0.5).total(&[]), 0.0);
        // With another table's threshold, the total is at most that with its own.
        for threshold in [-9.0, -2.0, 0.3, 9.0] {
            let counted = |&score: &f64| objective(0.25).counted(score, Some(threshold));
            assert!(scores.iter().map(counted).sum::<f64>() <= 8.0 * -3.0 + 1e-9);
        }
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

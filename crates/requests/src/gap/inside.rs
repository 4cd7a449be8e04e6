//! Checks whether the real run lies inside the range of the simulated runs.

use paceline_sim::metrics::Distribution;
use serde::Serialize;

use super::RealRun;
use crate::summary::SummaryRow;

/// Margins beyond the simulated runs' 5th and 95th percentiles within which a real figure still
/// counts as inside: a point of utilization, a share of the 95th percentile of queueing delay, and
/// a share of the packets sent again.
const POINTS: f64 = 0.01;
const P95_SHARE: f64 = 0.05;
const RESENT_SHARE: f64 = 0.1;

/// Says for each figure of the real run whether it lies inside the widened range of 90 % of the
/// simulated runs.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct Inside {
    /// Utilization of the link.
    pub utilization: bool,
    /// 95th percentile of the queueing delay.
    pub queue_delay_p95: bool,
    /// Packets sent again.
    pub retransmits: bool,
}

impl Inside {
    /// Compares a real run with several simulated ones. `None` for a single one, which has no
    /// range.
    pub fn of(real: &RealRun, simulated: &SummaryRow) -> Option<Inside> {
        let RealRun { link, retransmits, .. } = real;
        let figures = [link.utilization, link.queue_delay_ms.p95, *retransmits as f64];
        Inside::of_figures(figures, simulated)
    }

    /// Compares the medians of several real runs with several simulated ones, as [`of`](Self::of)
    /// does for one.
    pub fn of_medians(real: &SummaryRow, simulated: &SummaryRow) -> Option<Inside> {
        // Paceline's senders and Linux hosts count what they send again.
        let resent = real.retransmits.unwrap_or_default();
        let figures = [real.utilization, real.queue_delay_ms.p95, resent];
        Inside::of_figures(figures.map(|figure| figure.median), simulated)
    }

    /// Compares utilization, p95 of queueing delay and number of packets sent again.
    fn of_figures([used, delay, resent]: [f64; 3], simulated: &SummaryRow) -> Option<Inside> {
        (simulated.runs > 1).then(|| Inside {
            utilization: {
                let range = &simulated.utilization;
                (range.p5 - POINTS..=range.p95 + POINTS).contains(&used)
            },
            queue_delay_p95: widened(&simulated.queue_delay_ms.p95, P95_SHARE, delay),
            retransmits: widened(&simulated.retransmits.unwrap_or_default(), RESENT_SHARE, resent),
        })
    }

    /// Names the real run's figures that lie outside, for a sentence; empty if there are none.
    pub fn outside(&self) -> String {
        let figures = [
            (self.utilization, "utilization"),
            (self.queue_delay_p95, "p95 of delay"),
            (self.retransmits, "packets resent"),
        ];
        let outside = figures.iter().filter(|(inside, _)| !inside).map(|(_, name)| *name);
        outside.collect::<Vec<_>>().join(", ")
    }
}

fn widened(range: &Distribution, share: f64, figure: f64) -> bool {
    (range.p5 * (1.0 - share)..=range.p95 * (1.0 + share)).contains(&figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_widened_by_a_share_of_its_ends() {
        let range = Distribution { p5: 100.0, p95: 200.0, ..Distribution::default() };
        assert!(widened(&range, 0.05, 95.1) && widened(&range, 0.05, 209.9));
        assert!(!widened(&range, 0.05, 94.9) && !widened(&range, 0.05, 210.1));
    }
}

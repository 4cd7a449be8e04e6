//! The authors' reaction to heavy loss. Without it, the delay of a buffer that is never empty
//! becomes the smallest RTT. The queue then seems empty, and the window grows without limit.

use paceline_cc::{Feedback, Span, Time};

/// Share of the window that remains after heavy loss.
pub(super) const CUT: f64 = 0.7;
/// Share of lost packets above which losses are heavy, and the minimum number of packets for a
/// judgement.
const HEAVY: f64 = 0.3;
const LEAST: u64 = 20;

/// Packets acknowledged and lost since the last judgement, at least two RTTs ago.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentLosses {
    since: Time,
    acked: u64,
    lost: u64,
}

impl RecentLosses {
    /// Returns true if the losses of the last two RTTs are heavy.
    pub(super) fn are_many(&mut self, feedback: &Feedback<'_>, rtt: Span) -> bool {
        self.acked += feedback.acked_packets as u64;
        self.lost += feedback.lost_packets as u64;
        let all = self.acked + self.lost;
        if all <= LEAST || feedback.now.since(self.since) < rtt * 2 {
            return false;
        }
        let many = self.lost as f64 > HEAVY * all as f64;
        *self = RecentLosses { since: feedback.now, acked: 0, lost: 0 };
        many
    }
}

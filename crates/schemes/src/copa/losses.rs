//! The authors' reaction to heavy loss. Without it, the delay of a buffer that is never empty
//! becomes the smallest RTT, so that the queue seems empty, and the window grows without end.

use paceline_cc::{Feedback, Span, Time};

/// The share of the window that is left.
pub(super) const CUT: f64 = 0.7;
/// Losses count as heavy above this share of at least so many packets.
const HEAVY: f64 = 0.3;
const LEAST: u64 = 20;

/// Packets acknowledged and lost since the last judgement, at least two RTTs ago.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    since: Time,
    acked: u64,
    lost: u64,
}

impl Losses {
    /// True if the losses of the last two RTTs are too many.
    pub(super) fn are_many(&mut self, feedback: &Feedback<'_>, rtt: Span) -> bool {
        self.acked += feedback.acked_packets as u64;
        self.lost += feedback.lost_packets as u64;
        let all = self.acked + self.lost;
        if all <= LEAST || feedback.now.since(self.since) < rtt * 2 {
            return false;
        }
        let many = self.lost as f64 > HEAVY * all as f64;
        *self = Losses { since: feedback.now, acked: 0, lost: 0 };
        many
    }
}

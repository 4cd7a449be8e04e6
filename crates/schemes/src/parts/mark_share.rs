//! The share of packets that routers mark, averaged as in DCTCP.

use paceline_cc::Feedback;

/// DCTCP's `alpha` (RFC 8257 §3.3): the moving average of the share of marked packets.
///
/// The caller says when a window of observation ends: DCTCP once per round trip, Prague once per
/// virtual round trip.
#[derive(Clone, Debug)]
pub struct MarkShare {
    /// The weight of a new share.
    gain: f64,
    alpha: f64,
    /// Packets of this window of observation that were acknowledged, and that were marked.
    acked: u64,
    marked: u64,
    /// True if the average stays as it is because no packet was ever marked: [`MarkShare::from_first_mark`].
    waits: bool,
}

impl MarkShare {
    /// An average that starts at `alpha` and gives each new share the weight `gain`.
    pub fn new(alpha: f64, gain: f64) -> MarkShare {
        MarkShare { gain, alpha, acked: 0, marked: 0, waits: false }
    }

    /// The same, but for the average moving from the first mark on: before it, nothing tells that a
    /// router on the path marks at all (Linux `tcp_prague`, `saw_ce`).
    #[must_use]
    pub fn from_first_mark(self) -> MarkShare {
        MarkShare { waits: true, ..self }
    }

    /// The average.
    #[inline]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts the packets and marks of an acknowledgement.
    #[inline]
    pub fn count(&mut self, feedback: &Feedback<'_>) {
        self.acked += feedback.acked_packets as u64;
        self.marked += feedback.marked_packets as u64;
        self.waits &= feedback.marked_packets == 0;
    }

    /// Ends the window of observation: the share of its packets that were marked goes into the
    /// average. Nothing happens, and the result is false, if no packet was acknowledged.
    pub fn end_window(&mut self) -> bool {
        if self.acked == 0 {
            return false;
        }
        // The counter of marks counts duplicates, too, and packets that come after the sender has
        // forgotten them; `acked` does not.
        let share = (self.marked as f64 / self.acked as f64).min(1.0);
        if !self.waits {
            self.alpha += self.gain * (share - self.alpha);
        }
        (self.acked, self.marked) = (0, 0);
        true
    }
}

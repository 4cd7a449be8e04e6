//! The share of packets that routers mark, averaged as in DCTCP.

use paceline_cc::Feedback;

/// DCTCP's `alpha` (RFC 8257 §3.3): the moving average of the share of marked packets.
///
/// The caller ends each window of observation: DCTCP once per round trip, Prague once per virtual
/// round trip.
#[derive(Clone, Debug)]
pub struct MarkShare {
    /// Weight of a new share.
    gain: f64,
    alpha: f64,
    /// Numbers of packets acknowledged and marked in this window of observation.
    acked: u64,
    marked: u64,
    /// True while the average does not change because no packet was ever marked:
    /// [`MarkShare::from_first_mark`].
    waits: bool,
}

impl MarkShare {
    /// Returns an average that starts at `alpha` and gives each new share the weight `gain`.
    pub fn new(alpha: f64, gain: f64) -> MarkShare {
        MarkShare { gain, alpha, acked: 0, marked: 0, waits: false }
    }

    /// Returns this average, but unchanged until the first mark: before it, nothing shows that a
    /// router on the path marks at all (Linux `tcp_prague`, `saw_ce`).
    #[must_use]
    pub fn from_first_mark(self) -> MarkShare {
        MarkShare { waits: true, ..self }
    }

    /// Returns the average.
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

    /// Ends the window of observation: averages the share of its packets that were marked. Returns
    /// false, without a change, if no packet was acknowledged.
    pub fn end_window(&mut self) -> bool {
        if self.acked == 0 {
            return false;
        }
        // The counter of marks includes duplicates, and packets that arrive after the sender has
        // forgotten them; `acked` does not.
        let share = (self.marked as f64 / self.acked as f64).min(1.0);
        if !self.waits {
            self.alpha += self.gain * (share - self.alpha);
        }
        (self.acked, self.marked) = (0, 0);
        true
    }
}

//! What RACK knows in the plain account.

use paceline_cc::Span;

use super::plain::{Fate, Plain};

/// See `tcp_recovery.c`.
pub(super) struct Rack {
    pub(super) rtt: Span,
    seen_reordering: bool,
    steps: u64,
    kept_for: u32,
    stretched_at: u64,
    /// One more than the largest number acknowledged before the present acknowledgement.
    pub(super) acked_end: u64,
    /// The present acknowledgement tells of a repair that was in vain.
    pub(super) in_vain: bool,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            rtt: Span::ZERO,
            seen_reordering: false,
            steps: 1,
            kept_for: 0,
            stretched_at: 0,
            acked_end: 0,
            in_vain: false,
        }
    }
}

impl Rack {
    /// The last packet of an acknowledgement had this RTT; so many bytes were delivered when the newest was sent.
    pub(super) fn on_ack(&mut self, rtt: Span, prior: u64, delivered: u64) {
        self.rtt = rtt;
        if self.in_vain && self.seen_reordering && prior >= self.stretched_at {
            (self.steps, self.kept_for) = ((self.steps + 1).min(255), 16);
            self.stretched_at = delivered;
        }
    }

    /// A repair is over.
    pub(super) fn on_repaired(&mut self) {
        self.kept_for = self.kept_for.saturating_sub(1);
        if self.kept_for == 0 {
            self.steps = 1;
        }
    }
}

impl Plain {
    /// A packet that was sent once has come, maybe after later ones.
    pub(super) fn overtaken(&mut self, number: u64) {
        if number < self.rack.acked_end && self.linux() {
            self.rack.seen_reordering = true;
            self.reordering = self.reordering.max((self.rack.acked_end - number).min(300));
        }
    }

    pub(super) fn reordering_window(&self, repairing: bool) -> Span {
        let largest = self.largest_acked().unwrap_or(0);
        let oldest = self.present().find(|(_, packet)| packet.fate == Fate::InFlight);
        let oldest = oldest.map_or(largest, |(number, _)| number);
        let beyond = self.present().filter(|(n, packet)| *n > oldest && packet.fate == Fate::Acked);
        if !self.rack.seen_reordering && (repairing || beyond.count() >= 3) {
            return Span::ZERO;
        }
        (self.rtt.min / 4 * self.rack.steps).min(self.rtt.smoothed)
    }
}

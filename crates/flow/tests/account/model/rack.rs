//! RACK's state in the plain account.

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
    /// True if the present acknowledgement reveals a needless repair.
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
    /// Takes in the RTT of the last packet of an acknowledgement. `prior` bytes had been delivered
    /// when the newest packet was sent, and `delivered` have been by now.
    pub(super) fn on_ack(&mut self, rtt: Span, prior: u64, delivered: u64) {
        self.rtt = rtt;
        if self.in_vain && self.seen_reordering && prior >= self.stretched_at {
            (self.steps, self.kept_for) = ((self.steps + 1).min(255), 16);
            self.stretched_at = delivered;
        }
    }

    /// Notes the end of a repair.
    pub(super) fn on_repaired(&mut self) {
        self.kept_for = self.kept_for.saturating_sub(1);
        if self.kept_for == 0 {
            self.steps = 1;
        }
    }
}

impl Plain {
    /// Notes the arrival of a packet that was sent once, possibly after later ones.
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

//! Loss detection as Linux' TCP does it: RACK (RFC 8985 §6, `net/ipv4/tcp_recovery.c`).
//!
//! A packet is lost if a packet sent later has been acknowledged and an RTT plus a reordering
//! window has passed since it was sent. The window is a quarter of the smallest RTT, at most the
//! smoothed RTT. As long as no reordering has been seen, the window is zero once three packets have
//! been acknowledged beyond the oldest missing one, and while losses are repaired; not any more for
//! the acknowledgement that ends a repair.

use paceline_cc::{Signals, Span, Time};

use super::Account;
use super::acked::{Acked, Last};
use super::loss_rule::LossRule;

/// Packets acknowledged beyond a gap from which on the reordering window is zero (`tcp_reordering`,
/// RFC 5681).
const DUPLICATE_THRESHOLD: u32 = 3;
/// Added to the deadline of a loss when the timer is set (`TCP_TIMEOUT_MIN_US`).
const TIMER_MARGIN: Span = Span::from_millis(2);
/// Number of repairs after which a longer window is reset (`TCP_RACK_RECOVERY_THRESH`).
const STEPS_KEPT: u8 = 16;

/// RACK's state for a path.
#[derive(Debug)]
pub(super) struct Rack {
    /// RTT of the packet that Linux looks at last in the last acknowledgement of something new: see
    /// [`Last`].
    pub(super) rtt: Span,
    /// True once packets have been reordered.
    seen_reordering: bool,
    /// The reordering window in quarters of the smallest RTT (at most 255, as in Linux), and the
    /// number of repairs for which it stays.
    steps: u8,
    kept_for: u8,
    /// Bytes delivered when the window last became longer: it becomes longer at most once per round
    /// trip.
    stretched_at: u64,
}

impl Rack {
    pub(super) fn new() -> Rack {
        Rack { rtt: Span::ZERO, seen_reordering: false, steps: 1, kept_for: 0, stretched_at: 0 }
    }

    /// Makes the window longer after a needless retransmission, if packets have been reordered.
    /// `prior_delivered` bytes had been delivered when the newest acknowledged packet was sent, and
    /// `delivered` have been by now.
    pub(super) fn on_spurious_repair(&mut self, prior_delivered: u64, delivered: u64) {
        if self.seen_reordering && prior_delivered >= self.stretched_at {
            self.steps = self.steps.saturating_add(1);
            self.kept_for = STEPS_KEPT;
            self.stretched_at = delivered;
        }
    }

    /// Notes the end of a repair without needless retransmissions.
    pub(super) fn on_repaired(&mut self) {
        self.kept_for = self.kept_for.saturating_sub(1);
        if self.kept_for == 0 {
            self.steps = 1;
        }
    }
}

impl Account {
    /// Updates RACK with newly acknowledged packets while packets are missing, or were
    /// (`tcp_rack_advance`, `tcp_check_sack_reordering`). `last` is the packet that Linux looks at
    /// last, if there are several.
    pub(super) fn tell_rack(&mut self, now: Time, acked: &Acked, last: Option<Last>) {
        if acked.overtaken > 0 && self.config.linux {
            self.rack.seen_reordering = true;
            self.ledger.tolerate_reordering(acked.overtaken);
        }
        self.recovery.end_new_data_first();
        if !self.copied.is_empty() {
            self.forget_copies();
        }
        if let Some((number, newest)) = acked.newest {
            self.rack.rtt = now.since(last.map_or(newest, |last| last.sent));
            if acked.repaired_in_vain > 0 {
                let prior = self.ledger.entry(number).delivered;
                self.rack.on_spurious_repair(prior, self.rates.delivered());
            }
        }
    }

    /// Stops counting copies of segments that have arrived as in flight (`tcp_clean_rtx_queue`).
    /// For a controller that needs the fate of each packet, copies count until they arrive or are
    /// lost.
    #[cold]
    fn forget_copies(&mut self) {
        if self.config.linux && !self.config.signals.contains(Signals::FATES) {
            let mut at = 0;
            for segment in &self.copied {
                at = self.ledger.forget_copy(*segment, at);
            }
        }
        self.copied.clear();
    }

    /// Returns the rule by which packets are declared lost.
    #[inline]
    pub(super) fn loss_rule(&self) -> LossRule {
        if !self.config.linux {
            let rtt = self.rtt.smoothed().max(self.rtt.latest());
            let distance = self.ledger.packet_threshold();
            return LossRule { distance, age: rtt + rtt / 8, together: None };
        }
        let age = self.rack.rtt + self.reordering_window();
        LossRule { distance: u64::MAX, age, together: Some(TIMER_MARGIN) }
    }

    /// Returns RACK's reordering window (`tcp_rack_reo_wnd`).
    pub(super) fn reordering_window(&self) -> Span {
        let in_order = !self.rack.seen_reordering;
        if in_order
            && (self.recovery.is_repairing_after(self.cumulative)
                || self.ledger.has_acked_beyond_gap(DUPLICATE_THRESHOLD))
        {
            return Span::ZERO;
        }
        (self.rtt.min() / 4 * u64::from(self.rack.steps)).min(self.rtt.smoothed())
    }
}

//! Reproduces Linux' counters after a repair has turned out to be a mistake
//! (`tcp_undo_cwnd_reduction`).
//!
//! An undo clears the mark "lost" of all packets and changes nothing else. This has three effects.
//! The first two last until the data is acknowledged, the third for the rest of the connection:
//!
//! - Packets that RACK had declared lost are off its list (`tcp_rack_detect_loss`:
//!   `list_del_init`). If they are really lost, only the retransmission timer repairs them.
//! - Packets that have been retransmitted count as two in flight. RACK may declare them lost, but
//!   they are not repaired then either, since they still count as retransmitted
//!   (`tcp_xmit_retransmit_queue`).
//! - If the timer expires meanwhile, Linux retransmits the first of them and counts it without
//!   subtracting the earlier retransmission (`tcp_mark_skb_lost`, `tcp_retransmit_skb`), so that
//!   `retrans_out` stays too large by one. From then on as many lost packets are not repaired
//!   (`retrans_out >= lost_out`), and one packet less is in flight.

use std::collections::VecDeque;

use super::{Account, Repair};

/// Difference between Linux' `retrans_out` and RACK's list, and the packets really in flight after
/// an undo.
#[derive(Debug, Default)]
pub(super) struct UndoneRepairs {
    /// Segments whose retransmission was in flight at the last undo, and that are neither
    /// acknowledged nor lost again. The smallest stands last.
    on_their_way: Vec<u64>,
    /// Segments of `on_their_way` that were lost again: only the timer retransmits them. The
    /// smallest stands last.
    held: Vec<u64>,
    /// Packets by which `retrans_out` stays too large for the rest of the connection.
    leaked: u32,
    /// True after the timer has expired: the first repair is sent whatever the counters say.
    head_is_due: bool,
}

impl UndoneRepairs {
    /// Returns the number of packets that count as retransmitted but repair no loss.
    #[inline]
    fn extra(&self) -> usize {
        self.on_their_way.len() + self.held.len() + self.leaked as usize
    }

    /// Returns which of the queued `repairs` is sent next; `None` if the counters hold all of them
    /// back.
    #[inline(always)]
    pub(super) fn next_repair(&self, repairs: &VecDeque<Repair>) -> Option<usize> {
        if repairs.is_empty() { None } else { self.first_sent(repairs) }
    }

    #[inline(never)]
    fn first_sent(&self, repairs: &VecDeque<Repair>) -> Option<usize> {
        match self.extra() {
            0 => Some(0),
            _ if self.head_is_due => Some(0),
            extra if repairs.len() <= extra => None,
            _ => repairs.iter().position(|repair| place(&self.held, repair.segment).is_err()),
        }
    }

    /// Returns true if copies that were in flight at an undo still count.
    #[inline]
    fn counts_copies(&self) -> bool {
        !self.on_their_way.is_empty() || !self.held.is_empty()
    }

    /// Returns the number of packets that count as in flight but are not.
    #[inline]
    pub(super) fn leaked(&self) -> u32 {
        self.leaked
    }

    /// Returns `window` without the packets that count as in flight but are not. A packet of `mss` bytes
    /// remains of it if it had one, so that with nothing in flight a packet may leave, also into a window
    /// that is exact to the byte.
    #[inline]
    pub(super) fn without_leaked(&self, window: u64, mss: u32) -> u64 {
        let mss = u64::from(mss);
        window.saturating_sub(u64::from(self.leaked) * mss).max(window.min(mss))
    }

    /// Notes that a repair is sent.
    #[inline]
    pub(super) fn on_repair(&mut self) {
        self.head_is_due = false;
    }

    /// Notes that RACK declares a copy of `segment` lost. If it was in flight at an undo, its
    /// repair waits for the timer.
    pub(super) fn on_copy_lost(&mut self, segment: u64) {
        if let Ok(at) = place(&self.on_their_way, segment) {
            self.on_their_way.remove(at);
            let at = place(&self.held, segment).unwrap_or_else(|at| at);
            self.held.insert(at, segment);
        }
    }

    /// Notes that the retransmission timer has expired when all segments below `head` had arrived.
    pub(super) fn on_timeout(&mut self, head: u64) {
        self.leaked += u32::from(place(&self.on_their_way, head).is_ok());
        self.on_their_way.clear();
        self.held.clear();
        self.head_is_due = true;
    }

    /// Drops the segments below `cumulative`, which have arrived.
    fn settle(&mut self, cumulative: u64) {
        for segments in [&mut self.on_their_way, &mut self.held] {
            while segments.pop_if(|segment| *segment < cumulative).is_some() {}
        }
    }
}

/// Returns the place of a segment in a list whose smallest segment stands last, or the place at
/// which it is to be inserted.
fn place(segments: &[u64], segment: u64) -> Result<usize, usize> {
    segments.binary_search_by(|other| segment.cmp(other))
}

impl Account {
    /// Undoes all losses still remembered; returns their number.
    pub(super) fn undo_losses(&mut self) -> u64 {
        let linux = self.config.linux;
        let Account { ledger, undone, timers, cumulative, .. } = self;
        undone.on_their_way.clear();
        undone.held.clear();
        let found = ledger.find_all(linux, timers.probe, |segment| {
            if linux && segment >= *cumulative {
                undone.on_their_way.push(segment);
            }
        });
        undone.on_their_way.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// Returns true if repairs are queued and only the timer may send them.
    #[inline]
    pub(super) fn holds_repairs(&self) -> bool {
        !self.repairs.is_empty() && self.next_repair().is_none()
    }

    /// Notes that the cumulative point has advanced: packets below it no longer count, neither as
    /// copies nor as in flight.
    #[inline]
    pub(super) fn settle_undone(&mut self) {
        if self.ledger.has_unwatched() || self.undone.counts_copies() {
            self.settle_unwatched();
        }
    }

    #[cold]
    fn settle_unwatched(&mut self) {
        let cumulative = self.cumulative;
        self.undone.settle(cumulative);
        self.ledger.forget_unwatched(cumulative);
    }
}

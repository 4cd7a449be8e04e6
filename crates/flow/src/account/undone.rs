//! What Linux' counts are after a repair has turned out to be a mistake (`tcp_undo_cwnd_reduction`).
//!
//! An undo takes the mark "lost" off all packets and leaves the rest as it is. Three things follow until the data is
//! acknowledged, and the third for the rest of the connection:
//!
//! - Packets that RACK had declared lost are off its list (`tcp_rack_detect_loss`: `list_del_init`). If they are lost
//!   indeed, only the retransmission timer repairs them.
//! - Packets that are on their way again count as two in flight. RACK may declare them lost, and they are not repaired
//!   then either: they still count as sent again (`tcp_xmit_retransmit_queue`).
//! - If the timer expires meanwhile, it sends the first of them again and counts this without taking the earlier
//!   one off (`tcp_mark_skb_lost`, `tcp_retransmit_skb`), so that `retrans_out` stays too large by one. From then on
//!   as many of the packets lost are not repaired (`retrans_out >= lost_out`), and one packet less is in flight.

use std::collections::VecDeque;

use super::{Account, Repair};

/// How Linux' `retrans_out` and RACK's list differ from the packets in flight after an undo.
#[derive(Debug, Default)]
pub(super) struct UndoneRepairs {
    /// Segments that were on their way again at the last undo, and are neither acknowledged nor lost again.
    on_their_way: Vec<u64>,
    /// Those that were lost again: only the timer sends them once more.
    held: Vec<u64>,
    /// By how many packets `retrans_out` is too large for good.
    leaked: u32,
    /// The timer has expired: the first repair is sent whatever the counts say.
    head_is_due: bool,
}

impl UndoneRepairs {
    /// Packets that count as sent again though they do not repair a loss.
    #[inline]
    fn extra(&self) -> usize {
        self.on_their_way.len() + self.held.len() + self.leaked as usize
    }

    /// Returns which of the `repairs` that wait is sent next; `None` if the counts keep all of them back.
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
            _ => repairs.iter().position(|repair| !self.held.contains(&repair.segment)),
        }
    }

    /// True if copies count that were on their way at an undo.
    #[inline]
    fn counts_copies(&self) -> bool {
        !self.on_their_way.is_empty() || !self.held.is_empty()
    }

    /// Packets that count as in flight and are not.
    #[inline]
    pub(super) fn leaked(&self) -> u32 {
        self.leaked
    }

    /// A repair is sent.
    #[inline]
    pub(super) fn on_repair(&mut self) {
        self.head_is_due = false;
    }

    /// RACK declares a copy of `segment` lost, whose repair waits for the timer if the copy was on its way at an undo.
    pub(super) fn on_copy_lost(&mut self, segment: u64) {
        if let Some(at) = self.on_their_way.iter().position(|&other| other == segment) {
            self.held.push(self.on_their_way.swap_remove(at));
        }
    }

    /// The retransmission timer has expired when all segments below `head` had arrived.
    pub(super) fn on_timeout(&mut self, head: u64) {
        self.leaked += u32::from(self.on_their_way.contains(&head));
        self.on_their_way.clear();
        self.held.clear();
        self.head_is_due = true;
    }
}

impl Account {
    /// Takes all losses that are remembered back; returns how many.
    pub(super) fn undo_losses(&mut self) -> u64 {
        let linux = self.config.linux;
        let Account { ledger, undone, timers, cumulative, .. } = self;
        undone.on_their_way.clear();
        undone.held.clear();
        ledger.find_all(linux, timers.probe, |segment| {
            if linux && segment >= *cumulative {
                undone.on_their_way.push(segment);
            }
        })
    }

    /// True if repairs wait and only the timer may send them.
    #[inline]
    pub(super) fn holds_repairs(&self) -> bool {
        !self.repairs.is_empty() && self.next_repair().is_none()
    }

    /// The cumulative point has moved: what lies below is neither on its way again nor in flight.
    #[inline]
    pub(super) fn settle_undone(&mut self) {
        if self.ledger.has_unwatched() || self.undone.counts_copies() {
            self.settle_unwatched();
        }
    }

    #[cold]
    fn settle_unwatched(&mut self) {
        let cumulative = self.cumulative;
        self.undone.on_their_way.retain(|segment| *segment >= cumulative);
        self.undone.held.retain(|segment| *segment >= cumulative);
        self.ledger.forget_unwatched(cumulative);
    }
}

//! Chooses which of the two queues is served next.

use paceline_cc::{Packet, Span, Time};

use super::{DualPi2Params, Scheduling, Side};
use crate::queue::{FULL_PACKET, Fifo};

/// Bytes by which L may initially be ahead.
const MTU: i64 = FULL_PACKET as i64;
/// The sum of both weights.
const WHOLE: i64 = 1000;

/// Weighted round robin by a credit, or the time-shifted order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    kind: Scheduling,
    tshift: Span,
    /// C's weight in units of 1 / [`WHOLE`].
    weight: i64,
    /// Cost of L's packets for C minus that of C's packets for L. If positive, C is served.
    credit: i64,
}

impl Scheduler {
    pub(super) fn new(params: &DualPi2Params) -> Scheduler {
        let weight = (params.c_protection * WHOLE as f64 + 0.5) as i64;
        let kind = params.scheduler;
        let mut scheduler = Scheduler { kind, tshift: params.tshift, weight, credit: 0 };
        scheduler.reset();
        scheduler
    }

    /// Resets the credit, so that the queue with the larger weight starts.
    fn reset(&mut self) {
        self.credit = MTU * (2 * self.weight - WHOLE);
    }

    /// Returns the queue to serve; `None` if both are empty.
    pub(super) fn choose(&mut self, now: Time, l: &Fifo, c: &Fifo) -> Option<Side> {
        match (l.front(), c.front()) {
            (None, None) => {
                self.reset();
                None
            }
            (Some(_), None) => Some(Side::L),
            (None, Some(_)) => Some(Side::C),
            (Some(l), Some(c)) => {
                let l_first = match self.kind {
                    Scheduling::Wrr => self.credit <= 0,
                    Scheduling::TsFifo => now.since(l.queued) + self.tshift >= now.since(c.queued),
                };
                Some(if l_first { Side::L } else { Side::C })
            }
        }
    }

    /// Accounts for a packet that was sent while the other queue had packets.
    pub(super) fn sent(&mut self, side: Side, packet: &Packet, l_empty: bool, c_empty: bool) {
        let size = i64::from(packet.size);
        let change = match side {
            Side::L if !c_empty => self.weight * size,
            Side::C if !l_empty => (self.weight - WHOLE) * size,
            _ => 0,
        };
        self.credit = self.credit.saturating_add(change);
    }
}

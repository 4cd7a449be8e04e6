//! Which of the two queues goes next.

use paceline_cc::{Packet, Span, Time};

use super::{DualPi2Params, Scheduling, Side};
use crate::queue::{FULL_PACKET, Fifo};

/// Bytes by which L may be ahead at first.
const MTU: i64 = FULL_PACKET as i64;
/// The sum of both weights.
const WHOLE: i64 = 1000;

/// Weighted round robin by a credit, or the time-shifted order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    kind: Scheduling,
    tshift: Span,
    /// C's weight, of [`WHOLE`].
    weight: i64,
    /// What L's packets have cost C, less what C's have cost L; C's turn when positive.
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

    /// The queue with the larger weight starts.
    fn reset(&mut self) {
        self.credit = MTU * (2 * self.weight - WHOLE);
    }

    /// The queue to serve; `None` if both are empty.
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

    /// Accounts for a packet sent while the other queue waits.
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

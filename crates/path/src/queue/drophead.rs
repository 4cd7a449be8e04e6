//! First in, first out, dropping from the head.
//!
//! # What it does
//! Packets leave in the order of arrival. When a packet finds the buffer full, the oldest ones are
//! dropped until it fits. Senders learn of the loss a whole queue earlier than with droptail.
//!
//! # Signals it needs
//! None; the senders must react to loss.
//!
//! # Parameters
//! None of its own; the buffer's limit.
//!
//! # Where it fails
//! As with droptail, loss-based senders still keep the queue full.
//!
//! # Source
//! Lakshman, Neidhardt and Ott, "The Drop from Front Strategy in TCP and in TCP over ATM", INFOCOM
//! 1996; RFC 7567 §1.2.

use paceline_cc::params::Params;
use paceline_cc::{Packet, Time};

use super::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry};

paceline_cc::params! {
    /// Parameters of dropping from the head: none.
    pub struct DropHeadParams {}
}

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "drophead",
    "First in, first out; drops the oldest packets when the buffer is full",
    "INFOCOM 1996; RFC 7567, section 1.2",
    DropHeadParams::infos,
    |spec, limit, _stream| {
        let DropHeadParams {} = spec.params()?;
        Ok(Box::new(DropHead::new(limit)))
    },
);

/// First in, first out, dropping from the head.
#[derive(Clone, Debug)]
pub struct DropHead {
    limit: Limit,
    fifo: Fifo,
}

impl DropHead {
    /// Creates an empty buffer with this limit.
    pub fn new(limit: Limit) -> DropHead {
        DropHead { limit, fifo: Fifo::new(limit) }
    }
}

impl Queue for DropHead {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.limit = limit;
        self.fifo.set_limit(limit)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        // A packet larger than the whole buffer must not displace all others.
        if self.limit.holds(1, u64::from(packet.size)) {
            while !self.fifo.fits(packet.size) {
                let Some(packet) = self.fifo.take_front() else { break };
                drops.push(DroppedPacket { packet, reason: DropReason::Full });
            }
        }
        self.fifo.push(now, packet, drops);
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        self.fifo.pop(now, drops)
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{open_loop, packet};

    #[test]
    fn the_oldest_make_room() {
        let mut queue = DropHead::new(Limit::bytes(3000));
        let mut drops = Vec::new();
        for number in 0..5 {
            queue.push(Time::ZERO, &packet(number, 1000, Time::ZERO), &mut drops);
        }
        let dropped =
            |drops: &[DroppedPacket]| drops.iter().map(|d| d.packet.number()).collect::<Vec<_>>();
        assert_eq!(dropped(&drops), [0, 1]);
        queue.push(Time::ZERO, &packet(5, 1500, Time::ZERO), &mut drops);
        assert_eq!(dropped(&drops), [0, 1, 2, 3]);
        // Larger than the buffer: the packet itself is dropped.
        queue.push(Time::ZERO, &packet(6, 4000, Time::ZERO), &mut drops);
        assert_eq!(dropped(&drops), [0, 1, 2, 3, 6]);
        assert_eq!((queue.packets(), queue.bytes()), (2, 2500));
    }

    #[test]
    fn under_constant_overload_the_queue_stands_full() {
        let outcome = open_loop(&mut DropHead::new(Limit::packets(100)), 800, 1000, 10_000, |p| *p);
        assert!((outcome.loss() - 0.2).abs() < 0.01, "{outcome:?}");
        // A packet advances by departures and drops: 100 places at 1.25 per millisecond.
        assert!((outcome.delay_ms - 80.0).abs() < 1.0, "{outcome:?}");
    }
}

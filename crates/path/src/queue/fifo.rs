//! First in, first out, with droptail.
//!
//! # What it does
//! Packets leave in the order of arrival. A packet that finds the buffer full is dropped. With a
//! limit of sojourn times, a packet that has waited longer is dropped when its turn to leave comes,
//! as in the buffers of cellular base stations that discard stale data; packets behind it may follow.
//!
//! # Signals it needs
//! None.
//!
//! # Parameters
//! None of its own; the buffer's limit. The packet in transmission does not count.
//!
//! # Where it fails
//! A large buffer fills under loss-based senders, and every packet waits for all of it
//! (bufferbloat); a small one loses throughput when the rate varies.
//!
//! # Source
//! RFC 7567 §1.2 on tail drop.

use std::collections::VecDeque;

use paceline_cc::params::Params;
use paceline_cc::{Packet, Span, Time};

use super::{DropReason, DroppedPacket, DroptailLimit, Limit, Queue, QueueEntry};

paceline_cc::params! {
    /// Parameters of droptail: none.
    pub struct FifoParams {}
}

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "droptail",
    "First in, first out; drops what arrives at a full buffer",
    "RFC 7567, section 1.2",
    FifoParams::infos,
    |spec, limit, _stream| {
        let FifoParams {} = spec.params()?;
        Ok(Box::new(Fifo::new(limit)))
    },
);

/// First in, first out, with droptail.
#[derive(Clone, Debug)]
pub struct Fifo {
    packets: VecDeque<Packet>,
    bytes: u64,
    max_packets: u64,
    max_bytes: u64,
    max_sojourn: Span,
}

impl Fifo {
    /// Creates an empty buffer with this limit.
    pub fn new(limit: Limit) -> Fifo {
        Fifo {
            packets: VecDeque::new(),
            bytes: 0,
            max_packets: limit.packets.unwrap_or(u64::MAX),
            max_bytes: limit.bytes.unwrap_or(u64::MAX),
            max_sojourn: limit.sojourn.unwrap_or(Span::MAX),
        }
    }

    /// Returns true if the buffer has room for a packet of this size.
    #[inline]
    pub(super) fn fits(&self, size: u32) -> bool {
        (self.packets.len() as u64) < self.max_packets
            && self.bytes.saturating_add(u64::from(size)) <= self.max_bytes
    }

    /// Returns the packet at the head.
    #[inline]
    pub(super) fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Removes the packet at the head, whatever its sojourn time.
    pub(super) fn take_front(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// Adds a packet that has waited elsewhere; it keeps its arrival time.
    pub(super) fn put(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }

    /// Removes the packet at the tail.
    pub(super) fn take_back(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// Drops packets at the head whose sojourn time exceeds the limit.
    #[inline(never)]
    fn drop_stale(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) {
        while let Some(&packet) = self.packets.front() {
            if now.since(packet.queued) <= self.max_sojourn {
                break;
            }
            self.bytes -= u64::from(packet.size);
            self.packets.pop_front();
            drops.push(DroppedPacket { packet, reason: DropReason::Stale });
        }
    }
}

impl Queue for Fifo {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.max_packets = limit.packets.unwrap_or(u64::MAX);
        self.max_bytes = limit.bytes.unwrap_or(u64::MAX);
        self.max_sojourn = limit.sojourn.unwrap_or(Span::MAX);
        true
    }

    #[inline]
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        let bytes = self.bytes + u64::from(packet.size);
        if self.packets.len() as u64 >= self.max_packets || bytes > self.max_bytes {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Full });
        } else {
            self.bytes = bytes;
            self.packets.push_back(*packet);
            if let Some(last) = self.packets.back_mut() {
                last.queued = now;
            }
        }
    }

    #[inline]
    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        if self.max_sojourn != Span::MAX {
            self.drop_stale(now, drops);
        }
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    #[inline]
    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        if self.max_sojourn != Span::MAX {
            self.drop_stale(now, drops);
        }
        let Some(packet) = self.packets.front() else { return false };
        *place = *packet;
        self.packets.pop_front();
        self.bytes -= u64::from(place.size);
        true
    }

    fn droptail_limit(&self) -> Option<DroptailLimit> {
        let limit = DroptailLimit { packets: self.max_packets, bytes: self.max_bytes };
        (self.max_sojourn == Span::MAX).then_some(limit)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{open_loop, packet};

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    /// Pushes packets of 1000 bytes, one per millisecond. Returns the numbers of those dropped.
    fn fill(fifo: &mut Fifo, count: u64) -> Vec<u64> {
        let mut drops = Vec::new();
        for number in 0..count {
            fifo.push(ms(number), &packet(number, 1000, ms(number)), &mut drops);
        }
        drops.iter().map(|dropped| dropped.packet.number()).collect()
    }

    #[test]
    fn the_tail_is_dropped_at_the_limit() {
        assert_eq!(fill(&mut Fifo::new(Limit::packets(3)), 5), [3, 4]);
        assert_eq!(fill(&mut Fifo::new(Limit::bytes(3500)), 5), [3, 4]);
        assert_eq!(fill(&mut Fifo::new(Limit::bytes(3000)), 5), [3, 4]);
        let mut fifo = Fifo::new(Limit::NONE);
        assert!(fill(&mut fifo, 5000).is_empty());
        assert_eq!((fifo.packets(), fifo.bytes()), (5000, 5_000_000));
    }

    #[test]
    fn stale_packets_are_dropped_at_the_head() {
        let mut fifo = Fifo::new(Limit::sojourn(Span::from_millis(50)));
        assert!(fill(&mut fifo, 5).is_empty());
        let mut drops = Vec::new();
        // Packet 2 has waited for exactly 50 ms, which is not longer than the limit.
        assert_eq!(fifo.pop(ms(52), &mut drops).map(|p| p.number()), Some(2));
        assert!(drops.iter().all(|dropped| dropped.reason == DropReason::Stale));
        assert_eq!(drops.len(), 2);
        assert!(fifo.pop(ms(500), &mut drops).is_none());
        assert_eq!((drops.len(), fifo.packets(), fifo.bytes()), (4, 0, 0));
    }

    #[test]
    fn under_constant_overload_the_queue_stands_full() {
        let outcome = open_loop(&mut Fifo::new(Limit::packets(100)), 800, 1000, 10_000, |p| *p);
        assert!((outcome.loss() - 0.2).abs() < 0.01, "{outcome:?}");
        assert!((outcome.delay_ms - 99.0).abs() < 2.0, "{outcome:?}");
    }
}

//! Mahimahi's CoDel, for reproducing papers that ran it.
//!
//! # What it does
//! CoDel on a clock of whole milliseconds, with two differences from RFC 8289. The packet that
//! empties the queue is never dropped. When it is time to drop, the packet at the head is still
//! delivered and the next one is discarded, since an inner variable hides the outer one. The sender
//! learns of the loss one packet later, and every loss comes with a delivery.
//!
//! # Signals it needs
//! None; the senders must react to loss. It does not know ECN.
//!
//! # Parameters
//! Those of [`CodelMahimahiParams`], cut to whole milliseconds. Mahimahi has no defaults, so these
//! are CoDel's. ABC's authors ran a target of 50 ms and an interval of 100 ms.
//!
//! # Where it fails
//! As CoDel; for links of more than a few packets per millisecond its clock is too coarse.
//!
//! # Source
//! Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, and its
//! program `mm-link`, queue `codel`.

use paceline_cc::params::Params;
use paceline_cc::{Packet, Span, Time};

use super::FirstAbove;
use crate::MAHIMAHI_OPPORTUNITY;
use crate::queue::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry};

/// CoDel never drops while at most this number of bytes is queued.
const PACKET_SIZE: u64 = MAHIMAHI_OPPORTUNITY as u64;

paceline_cc::params! {
    /// Parameters of Mahimahi's CoDel.
    pub struct CodelMahimahiParams {
        /// Sojourn time that is acceptable as a standing queue.
        target: Span = Span::from_millis(5), source "RFC 8289 §4.2";
        /// How long the sojourn time must stay above the target before the first drop.
        interval: Span = Span::from_millis(100), in Span::from_millis(1)..,
            source "RFC 8289 §4.3";
    }
}

/// The queue's entry in the registry.
pub(in crate::queue) const QUEUE: QueueEntry = QueueEntry::builtin(
    "codel-mahimahi",
    "CoDel as Mahimahi has it: delivers the packet it meant to drop, discards the next",
    "Mahimahi (USENIX ATC 2015), mm-link",
    CodelMahimahiParams::infos,
    |spec, limit, _stream| Ok(Box::new(CodelMahimahi::new(spec.params()?, limit))),
);

/// Mahimahi's CoDel.
#[derive(Clone, Debug)]
pub struct CodelMahimahi {
    target: Span,
    interval: Span,
    fifo: Fifo,
    above: FirstAbove,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CodelMahimahi {
    /// Creates an empty queue.
    pub fn new(params: CodelMahimahiParams, limit: Limit) -> CodelMahimahi {
        CodelMahimahi {
            target: cut(params.target),
            interval: cut(params.interval),
            fifo: Fifo::new(limit),
            above: FirstAbove::default(),
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Removes the next packet. Also returns true if a drop is allowed.
    fn take(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<(Packet, bool)> {
        let packet = self.fifo.pop(now, drops)?;
        let clock = tick(now);
        let below = clock.since(tick(packet.queued)) < self.target
            || self.fifo.is_empty()
            || self.fifo.bytes() <= PACKET_SIZE;
        Some((packet, self.above.note(clock, below, self.interval)))
    }

    /// Drops the packet after the current one. Returns true if a drop was still allowed.
    fn discard(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> bool {
        let Some((packet, ok_to_drop)) = self.take(now, drops) else { return false };
        drops.push(DroppedPacket { packet, reason: DropReason::Aqm });
        ok_to_drop
    }

    fn control_law(&self, from: Time) -> Time {
        from + cut(self.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt()))
    }
}

/// Rounds down to whole milliseconds.
fn cut(span: Span) -> Span {
    Span::from_millis(span.as_nanos() / 1_000_000)
}

/// Returns the time on a clock of whole milliseconds.
fn tick(time: Time) -> Time {
    Time::from_millis(time.as_nanos() / 1_000_000)
}

impl Queue for CodelMahimahi {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.fifo.set_limit(limit)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.fifo.push(now, packet, drops);
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let (packet, ok_to_drop) = self.take(now, drops)?;
        let clock = tick(now);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && clock >= self.drop_next {
                self.dropping = self.discard(now, drops);
                self.count = self.count.saturating_add(1);
                if self.dropping {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if ok_to_drop {
            self.discard(now, drops);
            self.dropping = true;
            let delta = self.count.saturating_sub(self.last_count);
            let lately = clock.since(self.drop_next) < self.interval * 16;
            self.count = if delta > 1 && lately { delta } else { 1 };
            self.drop_next = self.control_law(clock);
            self.last_count = self.count;
        }
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dropping", f64::from(u8::from(self.dropping)));
        see("count", f64::from(self.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{open_loop, packet};

    #[test]
    fn it_delivers_the_packet_that_it_meant_to_drop() {
        let mut queue = CodelMahimahi::new(CodelMahimahiParams::default(), Limit::NONE);
        let mut drops = Vec::new();
        for number in 0..400 {
            queue.push(Time::ZERO, &packet(number, 1500, Time::ZERO), &mut drops);
        }
        // One packet per millisecond, from 20 ms on: above target from the start.
        let mut lost = Vec::new();
        for time in 20..300 {
            let out = queue.pop(Time::from_millis(time), &mut drops).expect("held");
            for dropped in drops.drain(..) {
                // One packet is delivered, and the next one is dropped.
                assert_eq!(dropped.packet.number(), out.number() + 1);
                lost.push(time);
            }
        }
        // Times computed by hand from 20 ms on, rounded down to milliseconds: 100/√2 = 70, 100/√3 =
        // 57.
        assert_eq!(lost, [120, 220, 290]);
    }

    #[test]
    fn the_packet_that_empties_the_queue_is_never_dropped() {
        let mut queue = CodelMahimahi::new(CodelMahimahiParams::default(), Limit::NONE);
        let mut drops = Vec::new();
        for number in 0..100 {
            queue.push(Time::ZERO, &packet(number, 1500, Time::ZERO), &mut drops);
        }
        let mut last = 0;
        let mut now = Time::from_millis(1000);
        while let Some(packet) = queue.pop(now, &mut drops) {
            last = packet.number();
            now += Span::from_millis(50);
        }
        assert!(!drops.is_empty());
        assert_eq!(last, 99);
    }

    #[test]
    fn under_constant_overload_it_drops_slower_than_needed() {
        let mut queue = CodelMahimahi::new(CodelMahimahiParams::default(), Limit::packets(500));
        let outcome = open_loop(&mut queue, 800, 1000, 20_000, |packet| *packet);
        assert!((outcome.loss() - 0.2).abs() < 0.03, "{outcome:?}");
    }
}

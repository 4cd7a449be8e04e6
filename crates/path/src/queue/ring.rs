//! The transmit ring of a network device, between a managed queue and the link.

use paceline_cc::{Packet, Time, TrafficClass};

use super::{DroppedPacket, DroptailLimit, Fifo, Limit, Queue, QueueWrapper};

/// A queue whose first packets wait in the transmit ring of the network device.
///
/// A device takes packets from its queue before it can transmit them. When the queue hands a packet
/// over, it measures the sojourn time for the last time, and can no longer drop or mark the packet.
/// An active queue management in front of a ring of `size` packets therefore measures a shorter
/// delay than packets have, and lets the queue grow by `size` packets more. ns-3's point-to-point
/// devices with a queue of one packet have a ring of one.
pub(super) struct Ring {
    queue: Box<dyn Queue>,
    ring: Fifo,
    size: usize,
}

impl Ring {
    /// Maximum number of packets in a ring: that of the largest rings of real devices.
    pub(super) const MOST: u32 = 4096;

    /// Puts a ring of `size` packets after a queue; returns the queue itself if `size` is 0.
    pub(super) fn before(queue: Box<dyn Queue>, size: u32) -> Box<dyn Queue> {
        if size == 0 {
            return queue;
        }
        Box::new(Ring { queue, ring: Fifo::new(Limit::NONE), size: size as usize })
    }

    /// Moves packets from the queue into the ring until it is full.
    fn fill(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) {
        while self.ring.packets() < self.size {
            let Some(packet) = self.queue.pop(now, drops) else { return };
            self.ring.put(packet);
        }
    }
}

impl QueueWrapper for Ring {
    type Inner = dyn Queue;

    fn inner(&self) -> &Self::Inner {
        &*self.queue
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut *self.queue
    }

    fn droptail_limit(&self) -> Option<DroptailLimit> {
        None
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.queue.push(now, packet, drops);
        self.fill(now, drops);
    }

    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        let Some(packet) = self.ring.take_front() else { return false };
        *place = packet;
        self.fill(now, drops);
        true
    }

    fn packets(&self) -> usize {
        self.queue.packets() + self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes() + self.ring.bytes()
    }

    fn backlog_for(&self, class: TrafficClass, flow: u32) -> (usize, u64) {
        let (packets, bytes) = self.queue.backlog_for(class, flow);
        (packets + self.ring.packets(), bytes + self.ring.bytes())
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.queue.inspect(see);
        see("ring", self.ring.packets() as f64);
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Spec;

    use super::*;
    use crate::queue::build;
    use crate::queue::testing::{self, packet};

    fn codel(ring: u32) -> Box<dyn Queue> {
        let spec = Spec::parse(&format!("codel[ring={ring}]")).expect("a queue");
        build(&spec, Limit::NONE, testing::stream()).expect("codel")
    }

    /// The queue grows by a packet every 20 ms. A ring of one packet delays the first drop until
    /// there is one packet more.
    #[test]
    fn what_the_ring_holds_the_queue_does_not_see() {
        let worst = |ring: u32| {
            let mut queue = codel(ring);
            let (mut drops, mut number, mut first) = (Vec::new(), 0, None);
            for time in 0..400_u64 {
                let now = Time::from_millis(time);
                for _ in 0..1 + u64::from(time % 20 == 0) {
                    queue.push(now, &packet(number, 1500, now), &mut drops);
                    number += 1;
                }
                let out = queue.pop(now, &mut drops).expect("held");
                if !drops.is_empty() {
                    first.get_or_insert((time, now.since(out.queued).as_nanos() / 1_000_000));
                }
            }
            first.expect("a drop")
        };
        let ((at, wait), (at_ring, wait_ring)) = (worst(0), worst(1));
        assert_eq!(at_ring, at + 20, "the delay that the queue sees is a packet shorter");
        // One packet more waits, and the packet that leaves now was ahead of the drop, not behind
        // it.
        assert_eq!(wait_ring, wait + 2);
    }

    #[test]
    fn a_ring_keeps_order_and_counts_what_it_holds() {
        let mut queue = codel(3);
        let mut drops = Vec::new();
        for number in 0..5 {
            queue.push(Time::ZERO, &packet(number, 1500, Time::ZERO), &mut drops);
        }
        assert_eq!((queue.packets(), queue.bytes()), (5, 7500));
        for number in 0..5 {
            let out = queue.pop(Time::ZERO, &mut drops).expect("held");
            assert_eq!(out.number(), number);
        }
        assert!(queue.pop(Time::ZERO, &mut drops).is_none() && queue.is_empty());
    }
}

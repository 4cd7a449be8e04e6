//! A path that loses all packets for a time, as a radio link does in a tunnel.

use paceline_cc::{Packet, Time};
use paceline_path::queue::{Fifo, QueueWrapper};
use paceline_path::{DropReason, DroppedPacket, DroptailLimit, Queue};
use paceline_sim::scenario::CustomQueue;

/// Returns a droptail queue that drops all packets that arrive at `from` or later and before `to`.
pub fn blackout(from: Time, to: Time) -> CustomQueue {
    CustomQueue::new("blackout", move |limit, _| {
        Box::new(Blackout { inner: Fifo::new(limit), from, to })
    })
}

struct Blackout {
    inner: Fifo,
    from: Time,
    to: Time,
}

impl QueueWrapper for Blackout {
    type Inner = Fifo;

    fn inner(&self) -> &Fifo {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut Fifo {
        &mut self.inner
    }

    fn droptail_limit(&self) -> Option<DroptailLimit> {
        None
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        if self.from <= now && now < self.to {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Unacknowledged });
        } else {
            self.inner.push(now, packet, drops);
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Stream;
    use paceline_path::Limit;

    use super::*;

    #[test]
    fn packets_arrive_before_and_after_it() {
        let made = blackout(Time::from_millis(3), Time::from_millis(6));
        let mut queue = made.make(Limit::packets(5), Stream::new(1, "blackout"));
        let mut drops = Vec::new();
        for millis in 0..10 {
            queue.push(Time::from_millis(millis), &Packet::opaque(1000), &mut drops);
        }
        // Three packets are lost, and seven arrive at a buffer of five.
        assert_eq!((queue.packets(), drops.len()), (5, 5));
    }
}

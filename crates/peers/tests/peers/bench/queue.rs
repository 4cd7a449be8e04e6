//! A queue whose pushes and pops the vectors give.

use paceline_cc::{Body, Data, Ecn, Packet, Spec, Stream, Time};
use paceline_path::{DropReason, DroppedPacket, Limit, Queue, queue};

use super::shown;

/// A queue, and the packets that it has dropped. Packets are numbered from 0.
pub(crate) struct Bench {
    pub(crate) queue: Box<dyn Queue>,
    pub(crate) drops: Vec<DroppedPacket>,
    next: u64,
}

impl Bench {
    pub(crate) fn new(queue: &str, limit: Limit, seed: u64) -> Bench {
        let spec = Spec::parse(queue).expect("a queue");
        let queue = queue::build(&spec, limit, Stream::new(seed, "peers")).expect("a queue");
        Bench { queue, drops: Vec::new(), next: 0 }
    }

    /// Pushes a packet of `flow`.
    pub(crate) fn push(&mut self, now: Time, flow: u32, size: u32, ecn: Ecn) {
        let (number, segment) = (self.next, self.next);
        let body = Body::Data(Data { number, segment, ..Data::default() });
        let packet = Packet { flow, body, ecn, sent: now, queued: now, ..Packet::opaque(size) };
        self.next += 1;
        self.queue.push(now, &packet, &mut self.drops);
    }

    /// Pushes `count` packets of flow 0 at once.
    pub(crate) fn push_many(&mut self, now: Time, count: u32, size: u32, ecn: Ecn) {
        for _ in 0..count {
            self.push(now, 0, size, ecn);
        }
    }

    pub(crate) fn pop(&mut self, now: Time) -> Option<Packet> {
        self.queue.pop(now, &mut self.drops)
    }

    /// Pops all packets, and returns their flows in order.
    pub(crate) fn flows(&mut self, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| self.pop(now).map(|packet| packet.flow)).collect()
    }

    /// Returns the number of packets dropped for `reason`.
    pub(crate) fn dropped(&self, reason: DropReason) -> u64 {
        self.drops.iter().filter(|dropped| dropped.reason == reason).count() as u64
    }

    /// Returns a value of the queue's inner state.
    pub(crate) fn state(&self, name: &str) -> f64 {
        shown(|see| self.queue.inspect(see), name)
    }
}

//! First in, first out, without any limit.
//!
//! # What it does
//! Holds every packet until it is sent. The buffer's limit does not apply.
//!
//! # Signals it needs
//! None.
//!
//! # Parameters
//! None.
//!
//! # Where it fails
//! Under every sender that waits for loss: the delay grows without end. It is for measuring
//! senders that must not depend on loss, as Sprout's evaluation did.
//!
//! # Source
//! The default of Mahimahi's `mm-link`, and the queue of Sprout's Cellsim.

use paceline_cc::params::Params;
use paceline_cc::{Packet, Time};

use super::{DroppedPacket, DroptailLimit, Fifo, Limit, Queue, QueueInfo};

paceline_cc::params! {
    /// Parameters of the unlimited queue: none.
    pub struct InfiniteParams {}
}

/// The entry in the table of queues.
pub(super) const QUEUE: QueueInfo = QueueInfo::builtin(
    "infinite",
    "First in, first out, without limit, whatever the buffer's size",
    "Mahimahi and Cellsim",
    InfiniteParams::infos,
    |spec, _limit, _stream| {
        let InfiniteParams {} = spec.params()?;
        Ok(Box::new(Infinite(Fifo::new(Limit::NONE))))
    },
);

/// A buffer to which no limit can be given.
struct Infinite(Fifo);

impl Queue for Infinite {
    #[inline]
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.0.push(now, packet, drops);
    }
    #[inline]
    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        self.0.pop(now, drops)
    }
    #[inline]
    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        self.0.pop_into(now, drops, place)
    }
    fn droptail_limit(&self) -> Option<DroptailLimit> {
        self.0.droptail_limit()
    }
    fn packets(&self) -> usize {
        self.0.packets()
    }
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Spec, Time};

    use crate::queue::testing::{packet, stream};
    use crate::queue::{Limit, build};

    #[test]
    fn nothing_is_ever_dropped() {
        let spec = Spec::parse("infinite").expect("legal");
        let mut queue = build(&spec, Limit::packets(1), stream()).expect("known");
        let mut drops = Vec::new();
        for number in 0..10_000 {
            queue.push(Time::ZERO, &packet(number, 1500, Time::ZERO), &mut drops);
        }
        assert!(queue.pop(Time::from_secs(1_000_000), &mut drops).is_some());
        assert_eq!((queue.packets(), queue.bytes(), drops.len()), (9_999, 14_998_500, 0));
    }
}

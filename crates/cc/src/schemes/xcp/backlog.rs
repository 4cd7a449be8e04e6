//! What waits at a link: persistent queues, idleness, losses.

use crate::route::LinkView;
use crate::units::Time;

/// A length of queue.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// In bytes.
    pub bytes: u64,
    /// In packets.
    pub packets: u64,
}

impl Backlog {
    /// The queue without the packet in question.
    pub fn of(link: &LinkView<'_>) -> Backlog {
        Backlog { bytes: link.queue_bytes, packets: link.queue_packets as u64 }
    }

    /// The queue with one more packet.
    pub fn with(self, size: u32) -> Backlog {
        Backlog { bytes: self.bytes + u64::from(size), packets: self.packets + 1 }
    }

    fn min(self, other: Backlog) -> Backlog {
        Backlog { bytes: self.bytes.min(other.bytes), packets: self.packets.min(other.packets) }
    }
}

/// The persistent queue: the shortest of an interval. Bursts that drain do not count.
#[derive(Copy, Clone, Debug, Default)]
pub struct Persistent {
    running: Backlog,
    last: Backlog,
}

impl Persistent {
    /// The queue had this length.
    #[inline]
    pub fn see(&mut self, backlog: Backlog) {
        self.running = self.running.min(backlog);
    }

    /// The interval ends, and another begins with what waits now.
    pub fn close(&mut self, now: Backlog) {
        self.last = self.running;
        self.running = now;
    }

    /// The shortest queue of the last whole interval.
    pub fn last(&self) -> Backlog {
        self.last
    }
}

/// Tells whether a link has been idle. Links that transmit whenever they have something say
/// nothing; then the question is whether they offered more than the packets took.
#[derive(Clone, Debug, Default)]
pub(super) struct Idle {
    /// The link tells by itself.
    pub(super) told: bool,
    since: Time,
    owed: u64,
}

impl Idle {
    /// `size` bytes begin to be carried.
    #[inline]
    pub(super) fn carry(&mut self, now: Time, size: u32) {
        self.owed = u64::from(size) + if self.since == now { self.owed } else { 0 };
        self.since = now;
    }

    /// Whether the link had nothing to do just before `now`.
    #[inline]
    pub(super) fn before(&self, now: Time, link: &LinkView<'_>) -> bool {
        link.queue_packets == 0 && !self.told && link.capacity.offered(self.since, now) > self.owed
    }
}

//! What waits at a link, and how much of it persists.

use paceline_cc::LinkView;

/// A length of queue.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    /// In bytes.
    pub(crate) bytes: u64,
    /// In packets.
    pub(crate) packets: u64,
}

impl Backlog {
    /// The queue without the packet in question.
    pub(crate) fn of(link: &LinkView<'_>) -> Backlog {
        Backlog { bytes: link.queue_bytes, packets: link.queue_packets as u64 }
    }

    /// The queue with one more packet.
    pub(crate) fn with(self, size: u32) -> Backlog {
        Backlog { bytes: self.bytes + u64::from(size), packets: self.packets + 1 }
    }

    fn min(self, other: Backlog) -> Backlog {
        Backlog { bytes: self.bytes.min(other.bytes), packets: self.packets.min(other.packets) }
    }
}

/// The persistent queue: the shortest of an interval. Bursts that drain do not count.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct PersistentQueue {
    running: Backlog,
    last: Backlog,
}

impl PersistentQueue {
    /// The queue had this length.
    #[inline]
    pub(crate) fn see(&mut self, backlog: Backlog) {
        self.running = self.running.min(backlog);
    }

    /// The interval ends, and another begins with what waits now.
    pub(crate) fn close(&mut self, now: Backlog) {
        self.last = self.running;
        self.running = now;
    }

    /// The shortest queue of the last whole interval.
    pub(crate) fn last(&self) -> Backlog {
        self.last
    }
}

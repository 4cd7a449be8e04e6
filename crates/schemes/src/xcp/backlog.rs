//! The queue of a link, and its persistent part.

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
    /// Returns the queue without the packet in question.
    pub(crate) fn of(link: &LinkView<'_>) -> Backlog {
        Backlog { bytes: link.queue_bytes, packets: link.queue_packets as u64 }
    }

    /// Returns the queue with one more packet.
    pub(crate) fn with(self, size: u32) -> Backlog {
        Backlog { bytes: self.bytes + u64::from(size), packets: self.packets + 1 }
    }

    fn min(self, other: Backlog) -> Backlog {
        Backlog { bytes: self.bytes.min(other.bytes), packets: self.packets.min(other.packets) }
    }
}

/// The persistent queue: the shortest queue of an interval, which excludes bursts that drain.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct PersistentQueue {
    running: Backlog,
    last: Backlog,
}

impl PersistentQueue {
    /// Takes in the present length of the queue.
    #[inline]
    pub(crate) fn see(&mut self, backlog: Backlog) {
        self.running = self.running.min(backlog);
    }

    /// Ends the interval, and begins another with the present queue.
    pub(crate) fn close(&mut self, now: Backlog) {
        self.last = self.running;
        self.running = now;
    }

    /// Returns the shortest queue of the last whole interval.
    pub(crate) fn last(&self) -> Backlog {
        self.last
    }
}

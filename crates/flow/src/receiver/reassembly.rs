//! The segments of a flow that have arrived, as TCP's receive queue.

use crate::bits::BitRing;

/// The furthest that a segment may lie beyond the first missing one. Segments beyond that are
/// ignored, so that a hostile sender cannot make the receiver's memory grow.
const MAX_AHEAD: u64 = 1 << 22;

/// In each of its connections, a flow numbers segments from a multiple of this, so that the
/// receiver sees that a new connection has begun. The receiver then no longer waits for segments of
/// the previous connection, since they are never retransmitted.
const CONNECTION: u64 = 1 << 40;

/// Number of recent segments whose arrival is remembered if lost ones are never retransmitted: those
/// of 3 s at 60 Mbit/s.
const REMEMBERED: u64 = 1 << 14;

/// Returns the first segment of the connection after that of `segment`.
pub(crate) fn next_connection(segment: u64) -> u64 {
    (segment / CONNECTION + 1) * CONNECTION
}

/// The segments received.
#[derive(Debug)]
pub(crate) struct Reassembly {
    /// All segments below have arrived.
    next: u64,
    /// One past the largest segment that has arrived.
    end: u64,
    seen: BitRing,
}

impl Reassembly {
    pub(crate) fn new() -> Reassembly {
        Reassembly { next: 0, end: 0, seen: BitRing::new(64) }
    }

    /// Returns the segment below which all have arrived.
    pub(crate) fn cumulative(&self) -> u64 {
        self.next
    }

    /// Returns true if a segment has arrived beyond a missing one.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        self.end > self.next
    }

    /// Returns the number of segments from the first missing one to the largest that has arrived.
    pub(crate) fn span(&self) -> u64 {
        self.end - self.next
    }

    /// Notes that a segment has arrived. Returns false if it had arrived before, or lies so far
    /// ahead that it is ignored.
    #[inline]
    pub(crate) fn insert(&mut self, segment: u64) -> bool {
        if segment == self.next && self.end == self.next {
            self.next += 1;
            self.end = self.next;
            return true;
        }
        let next = self.next.max(segment / CONNECTION * CONNECTION);
        if segment < next || segment - next > MAX_AHEAD {
            return false;
        }
        if next > self.next {
            (self.next, self.end) = (next, next);
        }
        if segment < self.end {
            if self.seen.get(segment) {
                return false;
            }
        } else {
            self.seen.reserve(self.next, self.end, segment + 1);
            (self.end..segment).for_each(|skipped| self.seen.clear(skipped));
            self.end = segment + 1;
        }
        self.seen.set(segment);
        if segment == self.next {
            self.next = self.seen.clear_run(segment, self.end);
        }
        true
    }

    /// Does [`Reassembly::insert`] without waiting for missing segments for ever: segments that lie far back count as
    /// arrived.
    pub(crate) fn insert_datagram(&mut self, segment: u64) -> bool {
        let first = segment.saturating_sub(REMEMBERED);
        if first >= self.end {
            (self.next, self.end) = (self.next.max(first), self.end.max(first));
        } else if first > self.next {
            self.next = self.seen.clear_run(first, self.end);
        }
        self.insert(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn matches_a_set() {
        let mut random = paceline_cc::Stream::new(2, "reassembly");
        let mut reassembly = Reassembly::new();
        let mut set = BTreeSet::new();
        let mut missing = 0;
        for _ in 0..20_000 {
            let segment = reassembly.cumulative().saturating_sub(3) + random.below(200);
            assert_eq!(reassembly.insert(segment), set.insert(segment));
            while set.contains(&missing) {
                missing += 1;
            }
            assert_eq!(reassembly.cumulative(), missing);
        }
        assert!(missing > 1000);
        assert!(!reassembly.insert(u64::MAX));
    }

    #[test]
    fn datagrams_wait_for_a_while() {
        let mut random = paceline_cc::Stream::new(3, "reassembly");
        let mut datagrams = Reassembly::new();
        let (mut set, mut newest) = (BTreeSet::new(), 0);
        for round in 0..200_000 {
            // Sometimes most of the window, or more than all of it, is skipped.
            newest += match round % 10_000 {
                9_999 => REMEMBERED + random.below(5),
                5_000 => REMEMBERED - random.below(300),
                _ => random.below(3),
            };
            let segment = newest - random.below(newest.min(REMEMBERED) + 1).min(random.below(200));
            assert_eq!(datagrams.insert_datagram(segment), set.insert(segment), "{segment}");
            assert!(datagrams.end - datagrams.next <= REMEMBERED + 1);
        }
        assert!(!datagrams.insert_datagram(newest - 2 * REMEMBERED));
        assert!(
            datagrams.insert_datagram(u64::MAX - 1) && !datagrams.insert_datagram(u64::MAX - 1)
        );
    }

    #[test]
    fn a_new_connection_waits_for_nothing_of_the_old_one() {
        let mut reassembly = Reassembly::new();
        assert!(reassembly.insert(0) && reassembly.insert(2) && reassembly.has_gap());
        let first = next_connection(2);
        assert!(reassembly.insert(first + 1) && reassembly.has_gap());
        assert!(!reassembly.insert(1), "the old connection is over");
        assert!(reassembly.insert(first) && !reassembly.has_gap());
        assert_eq!(reassembly.cumulative(), first + 2);
    }
}

//! Bytes of a tunnel's connection in one direction, and their rate.

use paceline_cc::{Span, Time};

/// Minimum interval over which a rate is measured; at a busy connection it is at most twice as
/// long.
const RATE_SPAN: Span = Span::from_secs(1);

/// Bytes of inside packets in one direction.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct ByteCounter {
    /// Bytes of all packets.
    bytes: u64,
    /// Two times, each with the bytes until then. The rate is measured from the first one; later
    /// the second one takes its place.
    marks: [(Time, u64); 2],
}

impl ByteCounter {
    /// Creates the counter of a connection that begins now.
    pub(super) fn new(now: Time) -> ByteCounter {
        ByteCounter { bytes: 0, marks: [(now, 0); 2] }
    }

    /// Returns the bytes of all packets.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts a packet.
    #[inline]
    pub(super) fn count(&mut self, now: Time, bytes: usize) {
        if now.since(self.marks[1].0) >= RATE_SPAN {
            self.marks = [self.marks[1], (now, self.bytes)];
        }
        self.bytes += bytes as u64;
    }

    /// Returns the rate in Mbit/s over the last one or two seconds, or since the last packet if
    /// that is longer ago.
    pub(super) fn mbps(&self, now: Time) -> f64 {
        let stale = now.since(self.marks[1].0) >= RATE_SPAN * 2;
        let (from, before) = self.marks[usize::from(stale)];
        let span = now.since(from).max(Span::from_millis(1)).as_secs_f64();
        (self.bytes - before) as f64 * 8.0 / span / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let at = Time::from_millis;
        let mut counter = ByteCounter::new(at(0));
        // 1 Mbit/s for ten seconds.
        for packet in 0..1000 {
            counter.count(at(packet * 10), 1250);
        }
        let now = at(10_000);
        assert!((counter.mbps(now) - 1.0).abs() < 0.02, "{}", counter.mbps(now));
        // A pause of ten seconds.
        assert!(counter.mbps(at(20_000)) < 0.15);
        // Ten times as fast: after two seconds only the new rate counts.
        for packet in 0..2100 {
            counter.count(at(20_000 + packet), 1250);
        }
        let rate = counter.mbps(at(22_100));
        assert!((rate - 10.0).abs() < 0.2, "{rate}");
        assert_eq!(counter.bytes, 3100 * 1250);
    }
}

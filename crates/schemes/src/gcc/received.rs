//! The received rate: bytes over a sliding window of the receiver's clock (draft §5.5).

use std::collections::VecDeque;

use paceline_cc::{Rate, Span, Time};

/// Number of slots of the sliding window.
const SLOTS: u64 = 20;

#[derive(Clone, Debug)]
pub(super) struct ReceivedBytes {
    slot: Span,
    /// Time at which each slot began, and its bytes.
    slots: VecDeque<(Time, u64)>,
    bytes: u64,
    first: Option<Time>,
    latest: Time,
}

impl ReceivedBytes {
    pub(super) fn new(window: Span) -> ReceivedBytes {
        let slot = (window / SLOTS).max(Span::from_nanos(1));
        let slots = VecDeque::with_capacity(SLOTS as usize + 2);
        ReceivedBytes { slot, slots, bytes: 0, first: None, latest: Time::ZERO }
    }

    /// Bytes arrived, by the receiver's clock.
    pub(super) fn on_packet(&mut self, received: Time, bytes: u32) {
        // What arrived out of order counts as arrived with the latest.
        let now = received.max(self.latest);
        self.first.get_or_insert(now);
        self.latest = now;
        match self.slots.back_mut() {
            Some((start, sum)) if now.since(*start) < self.slot => *sum += u64::from(bytes),
            _ => self.slots.push_back((now, u64::from(bytes))),
        }
        self.bytes += u64::from(bytes);
        while let Some(&(start, sum)) = self.slots.front() {
            if now.since(start) < self.slot * SLOTS {
                break;
            }
            self.bytes -= sum;
            self.slots.pop_front();
        }
    }

    /// The rate over the window; nothing before it has passed once.
    pub(super) fn rate(&self) -> Option<Rate> {
        let window = self.slot * SLOTS;
        let known = self.first.is_some_and(|first| self.latest.since(first) >= window);
        known.then(|| Rate::from_bytes_in(self.bytes, window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_window() {
        let mut received = ReceivedBytes::new(Span::from_millis(500));
        for i in 0..=1000u64 {
            received.on_packet(Time::from_millis(5000 + i), 1500);
            assert_eq!(received.rate().is_some(), i >= 500, "{i}");
        }
        let rate = received.rate().map_or(0.0, Rate::as_mbps);
        assert!((rate - 12.0).abs() < 0.7, "{rate}");
        // After an outage only what is new counts.
        received.on_packet(Time::from_millis(9000), 1500);
        assert_eq!(received.rate(), Some(Rate::from_bps(24_000)));
        assert!(received.slots.len() < SLOTS as usize + 2);
    }
}

//! The rate at which packets arrive, over a window of packets (libwebrtc
//! `robust_throughput_estimator.cc`, libwebrtc's default since 2022).

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

/// The window has at least this number of packets (`window_packets`) ...
const WINDOW_PACKETS: usize = 20;
/// ... and covers at least this time of arrivals (`min_window_duration`) ...
const WINDOW_TIME: Span = Span::from_secs(1);
/// ... but no more packets than this (`max_window_packets`) ...
const MAX_WINDOW_PACKETS: usize = 500;
/// ... and no longer time than this (`max_window_duration`).
const MAX_WINDOW_TIME: Span = Span::from_secs(5);
/// The estimate needs this number of packets (`required_packets`).
const REQUIRED_PACKETS: usize = 10;
/// Shortest duration that a rate is computed over.
const LEAST_TIME: Span = Span::from_millis(1);

#[derive(Copy, Clone, Debug)]
struct Arrival {
    sent: Time,
    received: Time,
    size: u32,
}

/// Estimates the acknowledged rate.
#[derive(Clone, Debug)]
pub(super) struct Throughput {
    /// In the order of arrival.
    window: VecDeque<Arrival>,
    /// When the newest packet that left the window was sent.
    discarded: Time,
}

impl Throughput {
    pub(super) fn new() -> Throughput {
        let window = VecDeque::with_capacity(MAX_WINDOW_PACKETS + 2);
        Throughput { window, discarded: Time::ZERO }
    }

    /// Takes in a packet that has arrived.
    pub(super) fn on_packet(&mut self, sent: Time, received: Time, size: u32) {
        self.window.push_back(Arrival { sent, received, size });
        let mut index = self.window.len() - 1;
        while index > 0 && self.window[index].received < self.window[index - 1].received {
            self.window.swap(index, index - 1);
            index -= 1;
        }
        while let (Some(first), Some(last)) = (self.window.front(), self.window.back()) {
            let (count, time) = (self.window.len(), last.received.since(first.received));
            let is_outside = count > MAX_WINDOW_PACKETS
                || time > MAX_WINDOW_TIME
                || (count > WINDOW_PACKETS && time > WINDOW_TIME);
            if !is_outside {
                break;
            }
            self.discarded = self.discarded.max(first.sent);
            self.window.pop_front();
        }
    }

    /// Returns the rate in bits per second; `None` before ten packets have arrived. It is never above
    /// the rate at which the packets of the window were sent.
    pub(super) fn rate(&self) -> Option<f64> {
        if self.window.len() < REQUIRED_PACKETS {
            return None;
        }
        let (first, last) = (self.window.front()?, self.window.back()?);
        let (mut largest, mut second, mut before) = (Span::ZERO, Span::ZERO, first.received);
        let (mut first_sent, mut last_sent, mut last_size) = (Time::NEVER, Time::ZERO, 0);
        let (mut received_bytes, mut sent_bytes, mut sent_packets) = (0, 0, 0);
        for arrival in &self.window {
            let gap = arrival.received.since(before);
            before = arrival.received;
            if gap > largest {
                (largest, second) = (gap, largest);
            } else {
                second = second.max(gap);
            }
            received_bytes += u64::from(arrival.size);
            // Sent before a packet that has left the window: reordered, with a departure too long ago.
            if arrival.sent < self.discarded {
                continue;
            }
            if arrival.sent >= last_sent {
                (last_sent, last_size) = (arrival.sent, arrival.size);
            }
            first_sent = first_sent.min(arrival.sent);
            sent_bytes += u64::from(arrival.size);
            sent_packets += 1;
        }
        // The longest gap counts as the second longest, so that a short outage is no fall of the rate.
        let time = last.received.since(first.received) - largest + second;
        let received = rate(received_bytes - u64::from(first.size), time);
        if sent_packets < REQUIRED_PACKETS {
            return Some(received);
        }
        let sent = rate(sent_bytes - u64::from(last_size), last_sent.since(first_sent));
        Some(sent.min(received))
    }
}

fn rate(bytes: u64, time: Span) -> f64 {
    bytes as f64 * 8.0 / time.max(LEAST_TIME).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn needs_ten_packets_and_covers_a_second() {
        let mut throughput = Throughput::new();
        for index in 0..400u64 {
            assert_eq!(throughput.rate().is_some(), index >= 10, "{index}");
            // 1000 bytes per 8 ms are 1 Mbit/s, and from packet 200 on 0.5 Mbit/s.
            let sent = 8 * index + index.saturating_sub(200) * 8;
            throughput.on_packet(at(sent), at(777_000 + sent), 1000);
        }
        let rate = throughput.rate().unwrap_or(0.0);
        assert!((rate / 1e6 - 0.5).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn an_outage_is_no_fall_of_the_rate() {
        let mut throughput = Throughput::new();
        for index in 0..60u64 {
            // From 200 to 600 ms nothing arrives; then what was held up comes at once.
            let arrival = if (25..75).contains(&index) { (8 * index).max(600) } else { 8 * index };
            throughput.on_packet(at(8 * index), at(arrival), 1000);
        }
        let rate = throughput.rate().unwrap_or(0.0);
        assert!((0.95..=1.01).contains(&(rate / 1e6)), "{rate}");
    }

    #[test]
    fn the_window_is_bounded() {
        let mut throughput = Throughput::new();
        let capacity = throughput.window.capacity();
        for index in 0..5000 {
            throughput.on_packet(at(index / 10), at(index / 10), 1000);
        }
        assert!(throughput.window.len() <= MAX_WINDOW_PACKETS);
        assert_eq!(throughput.window.capacity(), capacity);
        throughput.on_packet(at(99_000), at(99_000), 1000);
        assert_eq!(throughput.window.len(), 1, "nothing older than five seconds");
    }
}

//! The departure rate, measured in cycles of many packets (RFC 8033 §5.2).

use paceline_cc::{Span, Time};

/// A cycle's weight is its bytes divided by this.
const WEIGHT_BYTES: f64 = 65_536.0;

/// Measures the departure rate, as the time in which `threshold` bytes leave. It measures only
/// while at least that many bytes are queued.
#[derive(Clone, Debug)]
pub(super) struct Departures {
    threshold: u32,
    /// Start of the current cycle, and the bytes that have left during it.
    cycle: Option<(Time, u64)>,
    /// Mean duration of a cycle; zero before the first has ended.
    avg_dq_time: Span,
}

impl Departures {
    pub(super) fn new(threshold: u32) -> Departures {
        Departures { threshold: threshold.max(1), cycle: None, avg_dq_time: Span::ZERO }
    }

    /// Notes a packet that has left, with `backlog` bytes left in the queue.
    pub(super) fn note(&mut self, now: Time, size: u32, backlog: u64) {
        let full = backlog >= u64::from(self.threshold);
        if self.cycle.is_none() && full {
            self.cycle = Some((now, 0));
        }
        let Some((start, bytes)) = &mut self.cycle else { return };
        *bytes = bytes.saturating_add(u64::from(size));
        if *bytes < u64::from(self.threshold) {
            return;
        }
        // A cycle ends with a whole packet, usually beyond the threshold. Scale its duration to the
        // threshold's bytes.
        let share = f64::from(self.threshold) / *bytes as f64;
        let time = now.since(*start).mul_f64(share);
        if !time.is_zero() {
            let weight = (f64::from(self.threshold) / WEIGHT_BYTES).min(1.0);
            self.avg_dq_time = if self.avg_dq_time.is_zero() {
                time
            } else {
                time.mul_f64(weight) + self.avg_dq_time.mul_f64(1.0 - weight)
            };
        }
        self.cycle = full.then_some((now, 0));
    }

    /// Returns the delay of a packet behind `backlog` bytes; zero while the rate is unknown.
    pub(super) fn delay(&self, backlog: u64) -> Span {
        self.avg_dq_time.mul_f64(backlog as f64 / f64::from(self.threshold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_busy_link_is_found() {
        let mut departures = Departures::new(16_384);
        assert_eq!(departures.delay(1_000_000), Span::ZERO);
        // 1500 bytes per millisecond are 12 Mbit/s. The packet that starts a cycle counts in it
        // without taking any of its time: 11 packets leave in 10 ms.
        for time in 0..200 {
            departures.note(Time::from_millis(time), 1500, 30_000);
        }
        let delay = departures.delay(15_000).as_millis_f64();
        assert!((9.0..10.1).contains(&delay), "{delay}");
    }

    #[test]
    fn a_short_queue_is_not_measured() {
        let mut departures = Departures::new(16_384);
        for time in 0..200 {
            departures.note(Time::from_millis(time), 1500, 16_383);
        }
        assert_eq!(departures.delay(1_000_000), Span::ZERO);
    }
}

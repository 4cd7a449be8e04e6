//! The average length of RED, with its decay over idle times.

use paceline_cc::{Span, Time};

/// An exponentially weighted average over arrivals.
#[derive(Clone, Debug)]
pub(super) struct Average {
    value: f64,
    weight: f64,
    /// The time of a packet on the link, as given or as measured.
    packet_time: Span,
    given: bool,
    /// Since when the queue has been empty.
    idle: Option<Time>,
    /// When the last packet left, if others were left behind.
    busy: Option<Time>,
}

impl Average {
    /// An average of zero. If `packet_time` is zero, the time of a packet is measured.
    pub(super) fn new(weight: f64, packet_time: Span) -> Average {
        Average {
            value: 0.0,
            weight,
            packet_time,
            given: !packet_time.is_zero(),
            idle: Some(Time::ZERO),
            busy: None,
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// Updates the average at an arrival to a queue of this length.
    pub(super) fn arrival(&mut self, now: Time, length: u64) {
        if let Some(idle) = self.idle.take() {
            if !self.packet_time.is_zero() {
                let packets = now.since(idle).as_nanos() / self.packet_time.as_nanos();
                self.value *= power(1.0 - self.weight, packets);
            }
            // Still idle if this packet is dropped.
            self.idle = (length == 0).then_some(now);
        }
        self.value += self.weight * (length as f64 - self.value);
    }

    /// Notes that the link asked for a packet: whether one left, and whether the queue is now empty.
    pub(super) fn departure(&mut self, now: Time, left: bool, empty: bool) {
        if let Some(busy) = self.busy.filter(|_| left && !self.given) {
            let time = now.since(busy);
            self.packet_time = match self.packet_time {
                Span::ZERO => time,
                mean => mean.mul_f64(0.875) + time.mul_f64(0.125),
            };
        }
        self.busy = (left && !empty).then_some(now);
        self.idle = if !empty {
            None
        } else if left {
            Some(now)
        } else {
            self.idle
        };
    }
}

/// By repeated squaring, which gives the same result on every platform.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut square, mut result) = (base, 1.0);
    while exponent > 0 && result > 0.0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn ten_arrivals_move_it_by_two_percent() {
        let mut average = Average::new(0.002, Span::ZERO);
        for _ in 0..10 {
            average.arrival(ms(0), 10);
        }
        // 10 (1 − 0.998¹⁰)
        assert!((average.value() - 0.198_209_6).abs() < 1e-6, "{}", average.value());
    }

    #[test]
    fn idle_times_count_as_arrivals_to_an_empty_queue() {
        let mut average = Average::new(0.002, Span::from_millis(1));
        average.value = 10.0;
        average.departure(ms(100), true, true);
        average.departure(ms(150), false, true);
        average.arrival(ms(400), 0);
        let expected = 10.0 * product(0.998, 301);
        assert!((average.value() - expected).abs() < 1e-9);
        // A second arrival without a departure in between: only its own weight.
        average.arrival(ms(400), 0);
        assert!((average.value() - expected * 0.998).abs() < 1e-9);
    }

    fn product(base: f64, exponent: u32) -> f64 {
        (0..exponent).fold(1.0, |power, _| power * base)
    }

    #[test]
    fn the_packet_time_is_measured_while_busy() {
        let mut average = Average::new(0.5, Span::ZERO);
        for time in [0, 2, 4, 6] {
            average.departure(ms(time), true, time == 6);
        }
        assert_eq!(average.packet_time, Span::from_millis(2));
        average.departure(ms(1000), true, false);
        assert_eq!(average.packet_time, Span::from_millis(2));
    }

    #[test]
    fn powers() {
        assert_eq!(power(0.5, 10), 0.5f64.powi(10));
        assert_eq!(power(0.0, 0), 1.0);
        assert_eq!(power(0.0, u64::MAX), 0.0);
        assert!((power(0.998, 1000) - product(0.998, 1000)).abs() < 1e-12);
    }
}

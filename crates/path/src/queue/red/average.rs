//! RED's average queue length, with its decay over idle times.

use paceline_cc::{Span, Time};

/// Number of departures from a busy queue in one measurement of the packet time.
const MEASURED: u32 = 16;

/// Packet time until the first measurement: 1500 bytes at 12 Mbit/s.
const UNMEASURED: Span = Span::from_millis(1);

/// An exponentially weighted average over arrivals.
#[derive(Clone, Debug)]
pub(super) struct Average {
    value: f64,
    weight: f64,
    packet_time: PacketTime,
    /// Since when the queue has been empty.
    idle: Option<Time>,
    /// When the last packet left, if others stayed in the queue.
    busy: Option<Time>,
}

/// The transmission time of a packet, the unit of idle times.
#[derive(Clone, Debug)]
enum PacketTime {
    /// The user's value; above zero.
    Given(Span),
    /// Mean of the measurements; departures and total time of the current one.
    Measured { mean: Option<Span>, departures: u32, time: Span },
}

impl PacketTime {
    fn get(&self) -> Span {
        match *self {
            PacketTime::Given(time) => time,
            PacketTime::Measured { mean, .. } => mean.unwrap_or(UNMEASURED),
        }
    }

    /// Notes a departure `time` after the previous one, from a queue that was busy in between.
    fn note(&mut self, time: Span) {
        let PacketTime::Measured { mean, departures, time: sum } = self else { return };
        *departures += 1;
        *sum += time;
        // On a trace many packets leave at one instant: then continue the measurement.
        if *departures < MEASURED || sum.is_zero() {
            return;
        }
        let sample = (*sum / u64::from(*departures)).max(Span::from_nanos(1));
        // Average the rates, not the times: in a mean of times one outage of seconds would outweigh
        // thousands of packets, and the average length would not decay afterwards.
        let (new, old) = (sample.as_nanos() as f64, mean.unwrap_or(sample).as_nanos() as f64);
        *mean = Some(Span::from_nanos((1.0 / (0.875 / old + 0.125 / new) + 0.5) as u64));
        (*departures, *sum) = (0, Span::ZERO);
    }
}

impl Average {
    /// Creates an average of zero. If `packet_time` is zero, the packet time is measured.
    pub(super) fn new(weight: f64, packet_time: Span) -> Average {
        let packet_time = match packet_time {
            Span::ZERO => PacketTime::Measured { mean: None, departures: 0, time: Span::ZERO },
            given => PacketTime::Given(given),
        };
        Average { value: 0.0, weight, packet_time, idle: Some(Time::ZERO), busy: None }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// Updates the average at an arrival at a queue of this length.
    pub(super) fn arrival(&mut self, now: Time, length: u64) {
        if let Some(idle) = self.idle.take() {
            let packets = now.since(idle).as_nanos() / self.packet_time.get().as_nanos();
            self.value *= power(1.0 - self.weight, packets);
            // The queue stays idle if this packet is dropped.
            self.idle = (length == 0).then_some(now);
        }
        self.value += self.weight * (length as f64 - self.value);
    }

    /// Notes that the link requested a packet: whether one left, and whether the queue is now
    /// empty.
    pub(super) fn departure(&mut self, now: Time, left: bool, empty: bool) {
        if let Some(busy) = self.busy.filter(|_| left) {
            self.packet_time.note(now.since(busy));
        }
        self.busy = (left && !empty).then_some(now);
        self.idle = match (empty, left) {
            (false, _) => None,
            (true, true) => Some(now),
            // All packets were stale and dropped, or the queue was already empty.
            (true, false) => self.idle.or(Some(now)),
        };
    }
}

/// Repeated squaring gives the same result on every platform.
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
        // A second arrival without a departure in between adds only its own weight.
        average.arrival(ms(400), 0);
        assert!((average.value() - expected * 0.998).abs() < 1e-9);
    }

    fn product(base: f64, exponent: u32) -> f64 {
        (0..exponent).fold(1.0, |power, _| power * base)
    }

    #[test]
    fn the_packet_time_is_measured_while_busy() {
        let mut average = Average::new(0.5, Span::ZERO);
        let mut busy = |from: u64, gap: u64| {
            for number in 0..17 {
                average.departure(ms(from + gap * number), true, number == 16);
            }
            average.packet_time.get().as_millis_f64()
        };
        assert_eq!(busy(0, 2), 2.0);
        // The pause before the second busy period does not count, and times of 4 ms have a weight
        // of an eighth.
        assert!((busy(1000, 4) - 2.133_333).abs() < 1e-6);
        // An outage of 16 s in a busy period also has a weight of at most an eighth of the rate.
        assert!((busy(2000, 1000) - 2.437).abs() < 1e-3);
    }

    #[test]
    fn a_queue_that_only_stale_packets_leave_is_idle() {
        let mut average = Average::new(1.0, Span::ZERO);
        average.arrival(ms(0), 100);
        average.departure(ms(10), true, false);
        // The remaining packets were dropped.
        average.departure(ms(20), false, true);
        average.departure(ms(30), false, true);
        assert_eq!(average.idle, Some(ms(20)));
    }

    #[test]
    fn powers() {
        assert_eq!(power(0.5, 10), 0.5f64.powi(10));
        assert_eq!(power(0.0, 0), 1.0);
        assert_eq!(power(0.0, u64::MAX), 0.0);
        assert!((power(0.998, 1000) - product(0.998, 1000)).abs() < 1e-12);
    }
}

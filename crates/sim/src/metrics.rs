//! Exact statistics of a run: quantiles, the age of the newest delivered packet, fairness, power.

use paceline_cc::{Span, Time};
pub use paceline_measure::{Quantiles, Samples};

/// The age of the newest delivered packet over time: grows by a second per second, and falls when
/// a packet arrives that was sent later than all before (Winstein's thesis §2.4.1).
#[derive(Clone, Debug)]
pub struct Age {
    from: Time,
    newest: Option<Time>,
    since: Time,
    /// Stretches of time: the age at the beginning, and the length.
    stretches: Vec<(Span, Span)>,
}

impl Age {
    /// Counts from time `from` on.
    pub fn new(from: Time) -> Age {
        Age { from, newest: None, since: from, stretches: Vec::new() }
    }

    /// A packet sent at `sent` arrives at `now`.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, sent: Time) {
        if self.newest.is_some_and(|newest| sent <= newest) {
            return;
        }
        self.close(now);
        self.newest = Some(sent);
    }

    fn close(&mut self, now: Time) {
        if let Some(newest) = self.newest
            && now > self.since
        {
            self.stretches.push((self.since.since(newest), now.since(self.since)));
        }
        self.since = now.max(self.from);
    }

    /// The `share` quantile of the age over the time until `end`; `None` without arrivals.
    pub fn quantile(&self, end: Time, share: f64) -> Option<Span> {
        let mut age = self.clone();
        age.close(end);
        let total: u128 = age.stretches.iter().map(|(_, length)| length.as_nanos() as u128).sum();
        if total == 0 {
            return None;
        }
        let wanted = (total as f64 * share) as u128;
        let below = |limit: u64| -> u128 {
            let part = |&(start, length): &(Span, Span)| {
                limit.saturating_sub(start.as_nanos()).min(length.as_nanos()) as u128
            };
            age.stretches.iter().map(part).sum()
        };
        let oldest = age.stretches.iter().map(|(start, length)| (*start + *length).as_nanos());
        let (mut low, mut high) = (0, oldest.max().unwrap_or(0));
        while low < high {
            let middle = low + (high - low) / 2;
            if below(middle) >= wanted {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(Span::from_nanos(low))
    }
}

/// Jain's fairness index of the given shares: 1 when all are equal, 1/n when one has everything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

/// A number of bytes as a rate in Mbit/s; zero if it took no time.
pub fn mbps(bytes: u64, over: Span) -> f64 {
    if over.is_zero() { 0.0 } else { bytes as f64 * 8.0 / 1e6 / over.as_secs_f64() }
}

/// Throughput over delay, in Mbit/s per second (Winstein's thesis §2.5); `None` without a delay.
pub fn power(mbps: f64, delay_ms: f64) -> Option<f64> {
    (delay_ms > 0.0).then(|| mbps / (delay_ms / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_a_sawtooth() {
        // A packet every 10 ms, each 5 ms old on arrival: ages uniform between 5 and 15 ms.
        let mut age = Age::new(Time::ZERO);
        for i in 1..=1000u64 {
            age.on_arrival(Time::from_millis(10 * i), Time::from_millis(10 * i - 5));
        }
        let end = Time::from_millis(10_010);
        assert_eq!(age.quantile(end, 0.95), Some(Span::from_micros(14_500)));
        assert_eq!(age.quantile(end, 0.5), Some(Span::from_micros(10_000)));
        assert_eq!(Age::new(Time::ZERO).quantile(end, 0.5), None);
    }

    #[test]
    fn old_packets_do_not_rejuvenate() {
        let mut age = Age::new(Time::ZERO);
        age.on_arrival(Time::from_millis(10), Time::from_millis(9));
        age.on_arrival(Time::from_millis(20), Time::from_millis(1));
        // From 1 ms at 10 ms to 21 ms at 30 ms.
        assert_eq!(age.quantile(Time::from_millis(30), 1.0), Some(Span::from_millis(21)));
    }

    #[test]
    fn power_is_throughput_over_delay() {
        assert_eq!(power(6.0, 250.0), Some(24.0));
        assert_eq!(power(0.0, 250.0), Some(0.0));
        assert_eq!(power(6.0, 0.0), None);
    }

    #[test]
    fn jain_index() {
        assert_eq!(jain(&[1.0, 1.0, 1.0]), 1.0);
        assert_eq!(jain(&[3.0, 0.0, 0.0]), 1.0 / 3.0);
        assert_eq!(jain(&[]), 1.0);
    }
}

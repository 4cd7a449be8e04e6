//! One-way delays and their queueing part (RFC 6817 §2.4.2, §4.2).

use paceline_cc::{Span, Time};

const MINUTE: u64 = 60_000_000_000;

/// Returns the receiver's time minus the sender's, in nanoseconds: a one-way delay plus the offset
/// of the clocks, which is arbitrary and may be negative.
pub(super) fn one_way(sent: Time, received: Time) -> i64 {
    received.as_nanos().wrapping_sub(sent.as_nanos()) as i64
}

/// The minima of the last few intervals of a series.
#[derive(Clone, Debug)]
struct Recent {
    values: Vec<i64>,
    next: usize,
}

impl Recent {
    fn new(len: u32) -> Recent {
        Recent { values: vec![i64::MAX; len.max(1) as usize], next: 0 }
    }
    fn push(&mut self, value: i64) {
        self.values[self.next] = value;
        self.next = (self.next + 1) % self.values.len();
    }
    /// Lowers the newest value.
    fn lower(&mut self, value: i64) {
        let len = self.values.len();
        let newest = &mut self.values[(self.next + len - 1) % len];
        *newest = value.min(*newest);
    }
    fn clear(&mut self) {
        self.values.fill(i64::MAX);
    }
    fn min(&self) -> i64 {
        self.values.iter().copied().min().unwrap_or(i64::MAX)
    }
}

/// The base delay, the minimum over the last minutes, and the current delay, the minimum over the
/// last few samples.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    base: Recent,
    current: Recent,
    /// The minute of the newest base delay.
    minute: Option<u64>,
}

impl Delays {
    /// Returns delays over `minutes` minutes and `samples` samples.
    pub(super) fn new(minutes: u32, samples: u32) -> Delays {
        Delays { base: Recent::new(minutes), current: Recent::new(samples), minute: None }
    }

    /// Takes a one-way delay in.
    pub(super) fn on_sample(&mut self, now: Time, delay: i64) {
        let minute = now.as_nanos() / MINUTE;
        if self.minute == Some(minute) {
            self.base.lower(delay);
        } else {
            self.minute = Some(minute);
            self.base.push(delay);
        }
        self.current.push(delay);
    }

    /// Forgets the current delay after an idle period, when it is out of date.
    pub(super) fn forget_current(&mut self) {
        self.current.clear();
    }

    /// Returns the queueing delay; `None` before the first sample.
    pub(super) fn queueing(&self) -> Option<Span> {
        let current = self.current.min();
        let known = current != i64::MAX;
        // Both contain the clocks' offset, which cancels; the difference is never negative.
        let above = current.wrapping_sub(self.base.min());
        known.then(|| Span::from_nanos(above.max(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queueing_after(samples: &[(u64, i64)]) -> Option<u64> {
        let mut delays = Delays::new(2, 4);
        for &(second, delay) in samples {
            delays.on_sample(Time::from_secs(second), delay);
        }
        delays.queueing().map(Span::as_nanos)
    }

    #[test]
    fn the_offset_of_the_clocks_cancels() {
        for offset in [0, -5_000_000_000, 7_000_000_000_000] {
            let at = |delay| one_way(Time::from_secs(5), Time::from_nanos(delay)) + offset;
            let mut delays = Delays::new(10, 1);
            delays.on_sample(Time::ZERO, at(50));
            delays.on_sample(Time::ZERO, at(80));
            assert_eq!(delays.queueing(), Some(Span::from_nanos(30)));
        }
        assert!(one_way(Time::from_secs(5), Time::from_secs(3)) < 0);
    }

    #[test]
    fn the_current_delay_is_the_smallest_of_four() {
        assert_eq!(queueing_after(&[]), None);
        assert_eq!(queueing_after(&[(0, 10), (1, 30)]), Some(0));
        assert_eq!(queueing_after(&[(0, 10), (1, 30), (1, 50), (1, 40), (1, 90)]), Some(20));
    }

    #[test]
    fn the_base_delay_expires_by_the_minute() {
        let late = [(130, 40), (130, 40), (130, 40), (130, 40)];
        let with = |early: &[(u64, i64)]| queueing_after(&[early, &late].concat());
        assert_eq!(with(&[(59, 10), (60, 35)]), Some(5));
        assert_eq!(with(&[(61, 10), (119, 35)]), Some(30));
    }
}

//! Periodic updates of a queue's controller without a timer. A queue's state does not change
//! between calls, so each call makes up for the updates since the last one, each with its due time.

use paceline_cc::{Span, Time};

/// Maximum number of updates per call. After a longer gap the oldest are skipped, so that a jump of
/// the clock costs a bounded amount of work.
const MOST: u64 = 1 << 16;

/// The due times of updates: every multiple of the period.
#[derive(Clone, Debug)]
pub(super) struct PeriodicUpdates {
    next: Time,
    period: Span,
}

impl PeriodicUpdates {
    /// Creates updates of which the first is one period after the start of the run.
    pub(super) fn new(period: Span) -> PeriodicUpdates {
        let period = period.max(Span::from_nanos(1));
        PeriodicUpdates { next: Time::ZERO + period, period }
    }

    /// Returns the due time of the next update until `now`; `None` if there is none.
    #[inline]
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        if now < self.next || self.next == Time::NEVER {
            return None;
        }
        let missed = self.missed(now);
        if missed >= MOST {
            self.next += self.period * (missed - MOST + 1);
        }
        let at = self.next;
        self.next += self.period;
        Some(at)
    }

    /// Skips all updates until `now`. For callers that know that they would change nothing.
    pub(super) fn skip(&mut self, now: Time) {
        if now >= self.next {
            self.next += self.period * self.missed(now).saturating_add(1);
        }
    }

    /// Returns the number of updates until `now`, without the next one.
    fn missed(&self, now: Time) -> u64 {
        now.since(self.next).as_nanos() / self.period.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn every_missed_update_comes_at_its_time() {
        let mut updates = PeriodicUpdates::new(Span::from_millis(15));
        assert_eq!(updates.due(ms(14)), None);
        let times: Vec<_> = std::iter::from_fn(|| updates.due(ms(60))).collect();
        assert_eq!(times, [ms(15), ms(30), ms(45), ms(60)]);
        updates.skip(ms(100));
        assert_eq!(updates.due(ms(104)), None);
        assert_eq!(updates.due(ms(105)), Some(ms(105)));
    }

    #[test]
    fn the_work_after_a_jump_is_bounded() {
        let mut updates = PeriodicUpdates::new(Span::ZERO);
        assert_eq!(std::iter::from_fn(|| updates.due(Time::from_secs(1))).count() as u64, MOST);
        while updates.due(Time::NEVER).is_some() {}
        updates.skip(Time::NEVER);
        assert_eq!(updates.due(Time::NEVER), None);
    }
}

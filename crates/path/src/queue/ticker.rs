//! Updates at fixed times without a timer: a queue catches up on those it missed when it is
//! called next, each at its own time.

use paceline_cc::{Span, Time};

/// The most updates that one call catches up on. After a longer gap the oldest are left out, so
/// that a jump of the clock costs a bounded amount of work.
const MOST: u64 = 1 << 16;

/// The times of updates: every multiple of the period.
#[derive(Clone, Debug)]
pub(super) struct Ticker {
    next: Time,
    period: Span,
}

impl Ticker {
    /// The first update is one period after the start of the run.
    pub(super) fn new(period: Span) -> Ticker {
        let period = period.max(Span::from_nanos(1));
        Ticker { next: Time::ZERO + period, period }
    }

    /// The time of the next update that is due by now.
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

    /// Leaves out all that is due by now: for updates that would change nothing.
    pub(super) fn skip(&mut self, now: Time) {
        if now >= self.next {
            self.next += self.period * self.missed(now).saturating_add(1);
        }
    }

    /// Updates due after the next one.
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
        let mut ticker = Ticker::new(Span::from_millis(15));
        assert_eq!(ticker.due(ms(14)), None);
        let times: Vec<_> = std::iter::from_fn(|| ticker.due(ms(60))).collect();
        assert_eq!(times, [ms(15), ms(30), ms(45), ms(60)]);
        ticker.skip(ms(100));
        assert_eq!(ticker.due(ms(104)), None);
        assert_eq!(ticker.due(ms(105)), Some(ms(105)));
    }

    #[test]
    fn the_work_after_a_jump_is_bounded() {
        let mut ticker = Ticker::new(Span::ZERO);
        assert_eq!(std::iter::from_fn(|| ticker.due(Time::from_secs(1))).count() as u64, MOST);
        while ticker.due(Time::NEVER).is_some() {}
        ticker.skip(Time::NEVER);
        assert_eq!(ticker.due(Time::NEVER), None);
    }
}

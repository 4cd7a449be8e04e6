//! When a kernel's timers expire: Linux' timer wheel (`kernel/time/timer.c`).
//!
//! A kernel with HZ=250, as Debian and Ubuntu have it, counts ticks of 4 ms. Its timers expire at a
//! tick, one tick late or more. A timer set for 64 ticks or more expires at a multiple of 8 ticks,
//! for 505 ticks or more at a multiple of 64, and so on, always later than its deadline. So a
//! retransmission timeout of 300 ms expires 4 to 36 ms late.

use paceline_cc::{Span, Time};

/// The length of a tick with HZ=250.
const TICK: Span = Span::from_millis(4);
/// The shortest waits, in ticks, that are rounded up to multiples of 8, 64, 512 and 4096 ticks
/// (`LVL_START`).
const LEVELS: [u64; 4] = [64, 505, 4033, 32_257];
/// Base-2 logarithm of the ratio of two neighbouring levels' multiples (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;

/// A kernel's tick counter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// The counter's value at the driver's time zero, as a time; includes the part of a tick that
    /// had passed.
    at_zero: Span,
}

impl Ticks {
    /// Returns the counter of a kernel that had been up for `uptime` at the driver's time zero.
    pub fn new(uptime: Span) -> Ticks {
        Ticks { at_zero: uptime }
    }

    /// Returns `wait` rounded up to whole ticks (`usecs_to_jiffies`).
    pub(super) fn rounded(self, wait: Span) -> Span {
        TICK * wait.as_nanos().div_ceil(TICK.as_nanos())
    }

    /// Returns when a timer expires that is set at time `set` for `deadline`; [`Time::NEVER`]
    /// without a deadline.
    pub(super) fn expiry(self, set: Time, deadline: Time) -> Time {
        if deadline == Time::NEVER {
            return deadline;
        }
        let wait = deadline.since(set.min(deadline)).as_nanos().div_ceil(TICK.as_nanos());
        let expires = self.count(set) + wait;
        let level = LEVELS.iter().filter(|least| wait >= **least).count() as u32;
        let shift = LEVEL_SHIFT * level;
        let expires = ((expires >> shift) + 1) << shift;
        Time::from_nanos((expires * TICK.as_nanos()).saturating_sub(self.at_zero.as_nanos()))
    }

    /// Returns the time between two events as the kernel counts it, in whole ticks.
    pub(crate) fn between(self, earlier: Time, later: Time) -> Span {
        TICK * self.count(later).saturating_sub(self.count(earlier))
    }

    fn count(self, time: Time) -> u64 {
        (time.as_nanos() + self.at_zero.as_nanos()) / TICK.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_expire_at_multiples_of_many_ticks() {
        let ticks = Ticks::new(Span::ZERO);
        let expiry = |set, wait| {
            let set = Time::from_millis(set);
            ticks.expiry(set, set + Span::from_millis(wait)).since(Time::ZERO).as_nanos()
                / 1_000_000
        };
        // Timers expire at least one tick late; a wait is rounded up to whole ticks.
        assert_eq!([expiry(0, 4), expiry(0, 5), expiry(3, 8), expiry(4, 252)], [8, 12, 12, 260]);
        // Multiples of 32 ms from 64 ticks on, of 256 ms from 505 ticks on.
        assert_eq!([expiry(0, 256), expiry(28, 256), expiry(32, 2016)], [288, 288, 2080]);
        assert_eq!(expiry(0, 2020), 2048);
        assert_eq!(ticks.expiry(Time::ZERO, Time::NEVER), Time::NEVER);
    }

    #[test]
    fn the_count_may_have_begun_long_before() {
        let ticks = Ticks::new(Span::from_micros(17_000_500));
        let set = Time::from_millis(100);
        // The kernel's time is 17,100.5 ms: tick 4275. Tick 4275 + 64 is rounded up to 4344.
        let expiry = ticks.expiry(set, set + Span::from_millis(256));
        assert_eq!(expiry.since(Time::ZERO), Span::from_micros(4344 * 4000 - 17_000_500));
        assert_eq!(ticks.between(set, set + Span::from_millis(3)), Span::ZERO);
        assert_eq!(ticks.between(set, set + Span::from_micros(3500)), Span::from_millis(4));
    }
}

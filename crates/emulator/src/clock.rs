//! The emulator's time.

use std::time::{Duration, SystemTime};

use nix::time::{ClockId, clock_gettime};
use paceline_cc::{Span, Time};

/// A clock that counts from the start of the run.
pub(super) trait Clock {
    /// Returns the time, which never goes back.
    fn now(&self) -> Time;
}

/// The kernel's monotonic clock, counted from the start of the run.
#[derive(Copy, Clone, Debug)]
pub(super) struct Monotonic {
    zero: u64,
}

/// Reads a clock of the system in nanoseconds; 0 if there is no such clock.
fn nanos(clock: ClockId) -> u64 {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    (time.tv_sec() as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec() as u64)
}

/// A millisecond in nanoseconds.
const MILLISECOND: u64 = 1_000_000;
/// Attempts to read both clocks without an interruption in between.
const ATTEMPTS: u32 = 5;

impl Monotonic {
    /// Starts a clock, and returns it with the wall clock's time at its zero: the last whole millisecond of the wall
    /// clock. Logs have whole milliseconds and the time of the start, as Mahimahi's do; their sum is the wall clock's
    /// time.
    pub(super) fn start() -> (Monotonic, SystemTime) {
        let read = || {
            let before = nanos(ClockId::CLOCK_MONOTONIC);
            let wall = nanos(ClockId::CLOCK_REALTIME);
            (nanos(ClockId::CLOCK_MONOTONIC).saturating_sub(before), before, wall)
        };
        let (took, before, wall) = (0..ATTEMPTS).map(|_| read()).min().unwrap_or_default();
        let zero = (before + took / 2).saturating_sub(wall % MILLISECOND);
        let started = Duration::from_nanos(wall - wall % MILLISECOND);
        (Monotonic { zero }, SystemTime::UNIX_EPOCH + started)
    }

    /// Converts a time of another clock to this one: zero if it was before this clock's start.
    pub(super) fn convert(&self, clock: &Monotonic, time: Time) -> Time {
        match time {
            Time::NEVER => Time::NEVER,
            time => Time::from_nanos(clock.absolute(time).saturating_sub(self.zero)),
        }
    }

    /// Converts a time of this clock to nanoseconds of the kernel's timers.
    pub(super) fn absolute(&self, time: Time) -> u64 {
        self.zero.saturating_add(time.as_nanos())
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Time {
        Time::from_nanos(nanos(ClockId::CLOCK_MONOTONIC).saturating_sub(self.zero))
    }
}

/// Processor time that this thread has used.
pub(super) fn cpu_time() -> Span {
    Span::from_nanos(nanos(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_in_step_with_the_wall_clock() {
        let offset = || {
            let before = SystemTime::now();
            let (clock, started) = Monotonic::start();
            assert!(started <= SystemTime::now() && started + Duration::from_millis(1) > before);
            let since = started.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
            assert_eq!(since.subsec_nanos() % 1_000_000, 0, "a whole millisecond");
            let wall = SystemTime::now().duration_since(started).expect("later");
            wall.as_nanos().abs_diff(u128::from(clock.now().as_nanos()))
        };
        // A thread may have to wait between two looks at clocks.
        let nearest = (0..200).map(|_| offset()).min();
        assert!(nearest < Some(50_000), "{nearest:?} ns");
    }
}

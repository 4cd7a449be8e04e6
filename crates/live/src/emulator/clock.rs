//! The emulator's time.

use nix::time::{ClockId, clock_gettime};
use paceline_cc::{Span, Time};

/// Tells the time since the start of the run.
pub(super) trait Clock {
    /// Now. Never goes back.
    fn now(&self) -> Time;
}

/// The kernel's monotonic clock, counted from the start of the run.
#[derive(Copy, Clone, Debug)]
pub(super) struct Monotonic {
    zero: u64,
}

/// A clock of the system in nanoseconds; 0 if there is none.
fn nanos(clock: ClockId) -> u64 {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    (time.tv_sec() as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec() as u64)
}

impl Monotonic {
    /// A clock that stands at zero now.
    pub(super) fn start() -> Monotonic {
        Monotonic { zero: nanos(ClockId::CLOCK_MONOTONIC) }
    }

    /// A time of this clock as the kernel's timers count it, in nanoseconds.
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

//! Virtual time as the instants that stacks use.

use std::time::{Duration, Instant};

use paceline_cc::Time;

/// Converts between virtual time and instants. Stacks use only differences of instants, so their
/// origin does not matter.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clock {
    zero: Instant,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { zero: Instant::now() }
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.zero + Duration::from_nanos(time.as_nanos())
    }

    /// Returns the first nanosecond that is not before `instant`.
    pub(crate) fn time(self, instant: Instant) -> Time {
        let nanos = instant.saturating_duration_since(self.zero).as_nanos();
        u64::try_from(nanos).map_or(Time::NEVER, Time::from_nanos)
    }
}

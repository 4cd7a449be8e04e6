//! Conversion between s2n-quic's timestamps and Paceline's times.

use std::time::Duration;

use paceline_cc::Time;
use s2n_quic_core::time::{Clock as _, NoopClock, Timestamp};

/// Zero of Paceline's time as a timestamp. s2n-quic uses only differences of timestamps.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clock(Timestamp);

impl Clock {
    /// Returns a clock whose zero is `zero`.
    pub(crate) fn from(zero: Timestamp) -> Clock {
        Clock(zero)
    }

    /// Returns a clock whose zero is s2n-quic's earliest timestamp.
    pub(crate) fn new() -> Clock {
        Clock(NoopClock.get_time())
    }

    pub(crate) fn time(self, at: Timestamp) -> Time {
        let nanos = at.saturating_duration_since(self.0).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2))
    }

    /// Returns the timestamp of a time, rounded to a microsecond.
    pub(crate) fn timestamp(self, at: Time) -> Timestamp {
        let since = Duration::from_nanos(at.as_nanos().min(u64::MAX / 2));
        self.0.checked_add(since).unwrap_or(self.0)
    }
}

//! The capacity that a medium left unused, for routers at its stations.
//!
//! A station's router cannot see by itself how much more its station could have sent: a station
//! without a packet neither fills the idle medium alone nor leaves all of it to others. While the
//! medium is idle, no station has a packet. If all senders sent in proportion more, the idle time
//! would disappear. So a port's part of the idle time is what it carries in the busy time, whatever
//! the size of its packets and the number of other stations: bytes per second of busy time,
//! multiplied by the idle time.

use paceline_cc::{Span, Time};

use super::MediumConfig;

/// Time constant of the mean of what a port carries, in busy time.
const MEMORY: Span = Span::from_millis(100);
/// Longest time of an idle period that counts as unused: routers measure over less, and at the end of a longer one
/// would take it for the present capacity.
const LONGEST_PERIOD: Span = Span::from_millis(20);

/// The idle time of a medium.
#[derive(Debug)]
pub(super) struct IdleTime {
    /// Beginning of the present idle period; [`Time::NEVER`] if there is none.
    since: Time,
    /// Sum of all past periods.
    total: Span,
    /// Sum of their parts that count.
    unused: Span,
    /// Part of the time that background stations leave.
    left: f64,
    /// DIFS and mean backoff: the part of a station's turn in which the medium is silent.
    pause: Span,
}

impl IdleTime {
    pub(super) fn new(config: &MediumConfig) -> IdleTime {
        let load: f64 = config.background.iter().map(|station| station.load()).sum();
        let phy = &config.phy;
        IdleTime {
            since: Time::ZERO,
            total: Span::ZERO,
            unused: Span::ZERO,
            left: (1.0 - load).max(0.0),
            pause: phy.difs() + phy.slot * u64::from(phy.cw_min) / 2,
        }
    }

    /// Begins an idle period at `now`.
    pub(super) fn begin(&mut self, now: Time) {
        self.since = now;
    }

    /// Begins an idle period after an exchange that ended at `end`.
    pub(super) fn begin_after(&mut self, end: Time) {
        self.since = end + self.pause;
    }

    /// Ends the idle period: a packet comes at `now`.
    pub(super) fn end(&mut self, now: Time) {
        let period = now.since(self.since);
        self.since = Time::NEVER;
        self.total += period;
        self.unused += period.min(LONGEST_PERIOD).mul_f64(self.left);
    }

    /// Returns the time until `now` that is not idle; `now` is outside of idle periods.
    fn busy(&self, now: Time) -> Span {
        now.since(Time::ZERO) - self.total
    }
}

/// A port's part of the idle time.
#[derive(Clone, Debug, Default)]
pub(super) struct UnusedCapacity {
    /// Moving sums of bytes carried and of seconds of busy time.
    bytes: f64,
    seconds: f64,
    /// Busy time up to which these count.
    counted: Span,
    /// Idle time up to which the router knows the unused capacity.
    reported: Span,
}

impl UnusedCapacity {
    /// Counts a packet whose exchange ended at `now`.
    pub(super) fn carry(&mut self, now: Time, bytes: f64, idle: &IdleTime) {
        let busy = idle.busy(now);
        let passed = (busy - self.counted).as_secs_f64();
        self.counted = busy;
        let memory = MEMORY.as_secs_f64();
        let kept = memory / (memory + passed);
        self.bytes = (self.bytes + bytes) * kept;
        self.seconds = (self.seconds + passed) * kept;
    }

    /// Returns the bytes that the port could have carried in addition since the last call.
    pub(super) fn take(&mut self, idle: &IdleTime) -> u32 {
        let passed = (idle.unused - self.reported).as_secs_f64();
        self.reported = idle.unused;
        if passed > 0.0 && self.seconds > 0.0 {
            (self.bytes / self.seconds * passed) as u32
        } else {
            0
        }
    }
}

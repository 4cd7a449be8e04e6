//! Time, spans of time and rates, as integers.
//!
//! A time is nanoseconds since the start of a run, a span is nanoseconds, a rate is bits per
//! second. Sizes are plain integers of bytes. Integer arithmetic saturates: a sum beyond the range
//! gives the largest value and does not wrap around.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A moment, in nanoseconds since the start of the run.
#[derive(Copy, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time, in nanoseconds. Never negative.
#[derive(Copy, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// A rate, in bits per second.
#[derive(Copy, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event: the wake-up time of an idle stage.
    pub const NEVER: Time = Time(u64::MAX);

    /// Returns the time `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }
    /// Returns the time `millis` milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Time {
        Time(millis.saturating_mul(1_000_000))
    }
    /// Returns the time `secs` seconds after the start.
    pub const fn from_secs(secs: u64) -> Time {
        Time(secs.saturating_mul(NANOS_PER_SEC))
    }
    /// Returns the nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns the seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// Returns the span from `earlier` to this time; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// The empty span.
    pub const ZERO: Span = Span(0);
    /// The longest span, longer than every run.
    pub const MAX: Span = Span(u64::MAX);

    /// Returns a span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Span {
        Span(nanos)
    }
    /// Returns a span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Span {
        Span(micros.saturating_mul(1_000))
    }
    /// Returns a span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis.saturating_mul(1_000_000))
    }
    /// Returns a span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Span {
        Span(secs.saturating_mul(NANOS_PER_SEC))
    }
    /// Returns a span of `secs` seconds. Negative numbers and NaN give zero, too large ones the
    /// longest span.
    pub fn from_secs_f64(secs: f64) -> Span {
        // `as` saturates and maps NaN to zero; adding 0.5 rounds.
        Span((secs * NANOS_PER_SEC as f64 + 0.5) as u64)
    }
    /// Returns the span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns the span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// Returns the span in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns this span times `factor`; negative factors give zero.
    pub fn mul_f64(self, factor: f64) -> Span {
        Span((self.0 as f64 * factor) as u64)
    }
    /// Returns true for the empty span.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Rate {
    /// Zero bits per second.
    pub const ZERO: Rate = Rate(0);

    /// Returns a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// Returns a rate of `mbps` megabits (10⁶ bits) per second. Negative numbers and NaN give zero.
    pub fn from_mbps(mbps: f64) -> Rate {
        Rate((mbps * 1e6 + 0.5) as u64)
    }
    /// Returns a rate of `bytes` bytes per second. Negative numbers and NaN give zero.
    #[inline]
    pub fn from_bytes_per_sec(bytes: f64) -> Rate {
        Rate((bytes * 8.0) as u64)
    }
    /// Returns the rate of `bytes` bytes per `span`; zero for an empty span.
    #[inline]
    pub fn from_bytes_in(bytes: u64, span: Span) -> Rate {
        if span.is_zero() {
            return Rate::ZERO;
        }
        Rate::from_bytes_per_sec(bytes as f64 * NANOS_PER_SEC as f64 / span.0 as f64)
    }
    /// Returns the bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns the megabits per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns the bytes per second.
    #[inline]
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Returns the time that `bytes` take at this rate, rounded up; the longest span at rate zero.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Span {
        const SAFE: u64 = u64::MAX / (8 * NANOS_PER_SEC);
        if self.0 == 0 {
            Span::MAX
        } else if bytes <= SAFE {
            Span((bytes * 8 * NANOS_PER_SEC).div_ceil(self.0))
        } else {
            let nanos = (bytes as u128 * 8 * NANOS_PER_SEC as u128).div_ceil(self.0 as u128);
            Span(nanos.min(u64::MAX as u128) as u64)
        }
    }
    /// Returns the whole bytes that fit into `span` at this rate.
    #[inline]
    pub fn bytes_in(self, span: Span) -> u64 {
        // A division of 128 bits takes several times as long.
        if let Some(product) = self.0.checked_mul(span.0) {
            return product / (8 * NANOS_PER_SEC);
        }
        let bytes = self.0 as u128 * span.0 as u128 / (8 * NANOS_PER_SEC as u128);
        bytes.min(u64::MAX as u128) as u64
    }
    /// Returns this rate times `factor`; negative factors give zero.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Rate {
        Rate((self.0 as f64 * factor) as u64)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}
impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}
impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}
impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}
impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor.max(1))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Time::NEVER => write!(f, "never"),
            time => write!(f, "{}", Span(time.0)),
        }
    }
}
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
/// Writes the shortest of `2s`, `50ms`, `7us`, `3ns` that is exact; [`crate::spec`] reads it.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        if n == 0 {
            write!(f, "0s")
        } else if n.is_multiple_of(NANOS_PER_SEC) {
            write!(f, "{}s", n / NANOS_PER_SEC)
        } else if n.is_multiple_of(1_000_000) {
            write!(f, "{}ms", n / 1_000_000)
        } else if n.is_multiple_of(1_000) {
            write!(f, "{}us", n / 1_000)
        } else {
            write!(f, "{n}ns")
        }
    }
}
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        if n.is_multiple_of(1_000_000_000) && n > 0 {
            write!(f, "{}Gbps", n / 1_000_000_000)
        } else if n.is_multiple_of(1_000_000) && n > 0 {
            write!(f, "{}Mbps", n / 1_000_000)
        } else if n.is_multiple_of(1_000) && n > 0 {
            write!(f, "{}kbps", n / 1_000)
        } else {
            write!(f, "{n}bps")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_times() {
        assert_eq!(Rate::from_mbps(12.0).time_for(1500), Span::from_millis(1));
        assert_eq!(Rate::from_bps(10_000_000_000).time_for(1500), Span::from_nanos(1200));
        assert_eq!(Rate::ZERO.time_for(1), Span::MAX);
        assert_eq!(Rate::from_bps(8).time_for(u64::MAX / 2), Span::MAX);
        assert_eq!(Rate::from_mbps(12.0).bytes_in(Span::from_millis(1)), 1500);
    }

    /// Around the largest product of 64 bits, and far from it, the shorter division gives what the
    /// longer one gives.
    #[test]
    fn bytes_in_a_span_of_any_length() {
        for bps in [1, 8, 12_000_000, u64::MAX / 3, u64::MAX] {
            let edge = u64::MAX / bps;
            for nanos in [0, 1, 999, edge - 1, edge, edge.saturating_add(1), u64::MAX] {
                let exact = u128::from(bps) * u128::from(nanos) / 8_000_000_000;
                let found = Rate::from_bps(bps).bytes_in(Span::from_nanos(nanos));
                assert_eq!(u128::from(found), exact.min(u64::MAX.into()), "{bps} {nanos}");
            }
        }
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::NEVER + Span::from_secs(1), Time::NEVER);
        assert_eq!(Time::ZERO - Span::from_secs(1), Time::ZERO);
        assert_eq!(Time::from_secs(1).since(Time::from_secs(2)), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
    }

    #[test]
    fn printing_loses_nothing() {
        assert_eq!(Span::from_millis(1500).to_string(), "1500ms");
        assert_eq!(Span::from_secs(2).to_string(), "2s");
        assert_eq!(Span::from_nanos(1_234_567).to_string(), "1234567ns");
        assert_eq!(Rate::from_mbps(1.5).to_string(), "1500kbps");
    }
}

//! A constant rate.

use paceline_cc::{Capacity, Rate, Span, Time};

use super::{Schedule, WORK_PER_BYTE};

/// A constant rate without rounding drift: if completion times are rounded up to whole nanoseconds,
/// the difference is credited to the next packet, if that follows without a pause.
#[derive(Clone, Debug)]
pub struct Constant {
    rate: u64,
    /// End of the last packet.
    end: Time,
    /// Work between the last packet's exact end and `end`; less than `rate`.
    credit: u64,
    /// The last size, with its nanoseconds and the remaining work. Most packets have one size, and
    /// divisions are slow.
    size: u32,
    nanos: u64,
    rest: u64,
}

impl Constant {
    /// Creates a service with this rate.
    pub fn new(rate: Rate) -> Constant {
        Constant { rate: rate.as_bps(), end: Time::ZERO, credit: 0, size: 0, nanos: 0, rest: 0 }
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// Returns a schedule with the same rate, to which steps can be added, also during the packet
    /// in transmission.
    pub(crate) fn to_schedule(&self) -> Schedule {
        Schedule::open(self.rate(), self.end, self.credit)
    }

    /// Returns when a packet of `size` bytes ends whose transmission starts at `start`.
    #[inline]
    pub fn finish(&mut self, start: Time, size: u32) -> Time {
        if size != self.size {
            self.divide(size);
        }
        if start != self.end {
            self.credit = 0;
        }
        // Needed: nanos * rate + rest - credit, rounded up to whole nanoseconds.
        let late = self.rest > self.credit;
        let spare = if late { self.rate } else { 0 };
        self.credit = self.credit.wrapping_add(spare).wrapping_sub(self.rest);
        self.end = start + Span::from_nanos(self.nanos.saturating_add(u64::from(late)));
        self.end
    }

    #[cold]
    #[inline(never)]
    fn divide(&mut self, size: u32) {
        let work = u128::from(size) * u128::from(WORK_PER_BYTE);
        let rate = u128::from(self.rate);
        self.size = size;
        // Both values fit: the work is below 2⁶⁵, and a rate of 1 bit/s leaves no remainder.
        self.nanos = work.checked_div(rate).unwrap_or(u128::MAX).min(u64::MAX.into()) as u64;
        self.rest = work.checked_rem(rate).unwrap_or(0) as u64;
    }

    /// Returns the bytes offered from time zero to `time`.
    fn total(&self, time: Time) -> u64 {
        const SECOND: u64 = 1_000_000_000;
        let (seconds, nanos) = (time.as_nanos() / SECOND, time.as_nanos() % SECOND);
        let whole = u128::from(self.rate) * u128::from(seconds);
        let part = match self.rate.checked_mul(nanos) {
            Some(work) => work / SECOND,
            None => (u128::from(self.rate) * u128::from(nanos) / u128::from(SECOND)) as u64,
        };
        ((whole + u128::from(part)) / 8).min(u64::MAX.into()) as u64
    }
}

impl Capacity for Constant {
    fn offered(&self, from: Time, to: Time) -> u64 {
        self.total(to).saturating_sub(self.total(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back_to_back(rate: u64, sizes: &[u32], packets: usize) -> (u64, u64) {
        let mut constant = Constant::new(Rate::from_bps(rate));
        let (mut now, mut bytes) = (Time::ZERO, 0);
        for &size in sizes.iter().cycle().take(packets) {
            now = constant.finish(now, size);
            bytes += u64::from(size);
        }
        (now.as_nanos(), bytes)
    }

    #[test]
    fn the_rate_is_exact_in_the_long_run() {
        for rate in [10_000_000_000, 15_000_000, 7, 999_999_937, 3_333_333, 123_456_789_123] {
            for sizes in [&[1500][..], &[40, 1500, 577], &[0, 1]] {
                let (nanos, bytes) = back_to_back(rate, sizes, 10_000);
                let exact = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate));
                assert_eq!(u128::from(nanos), exact, "{rate} bit/s, {sizes:?}");
            }
        }
        assert_eq!(back_to_back(10_000_000_000, &[1500], 1), (1200, 1500));
    }

    #[test]
    fn a_pause_forfeits_the_credit() {
        let mut constant = Constant::new(Rate::from_bps(15_000_000));
        let first = constant.finish(Time::ZERO, 1499);
        assert_eq!(first, Time::from_nanos(799_467));
        let later = first + Span::from_nanos(5);
        assert_eq!(constant.finish(later, 1499), later + Span::from_nanos(799_467));
    }

    #[test]
    fn extremes_do_not_panic() {
        for rate in [0, 1, u64::MAX] {
            let mut constant = Constant::new(Rate::from_bps(rate));
            for size in [0, 1, u32::MAX, 0] {
                for start in [Time::ZERO, Time::from_nanos(u64::MAX - 1), Time::NEVER] {
                    assert!(constant.finish(start, size) >= start);
                    constant.offered(Time::ZERO, start);
                }
            }
        }
        assert_eq!(Constant::new(Rate::ZERO).finish(Time::ZERO, 1), Time::NEVER);
    }

    #[test]
    fn offered_adds_up() {
        let constant = Constant::new(Rate::from_bps(15_000_001));
        let at = |i: u64| Time::from_nanos(i * 7_919_003);
        let parts: u64 = (0..1000).map(|i| constant.offered(at(i), at(i + 1))).sum();
        assert_eq!(parts, constant.offered(at(0), at(1000)));
        assert_eq!(constant.offered(Time::ZERO, Time::from_secs(8)), 15_000_001);
    }
}

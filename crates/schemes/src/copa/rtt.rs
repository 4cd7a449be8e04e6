//! The RTTs that Copa uses, each the smallest or largest of a window.

use paceline_cc::{Span, Time};

use crate::parts::{WindowedMax, WindowedMin};

/// Resolution of the clocks: this many units per round trip, or per length of the long window.
const UNIT: u64 = 1 << 20;
/// `RTTmin` is the minimum over the last 10 s (paper §2), or over 20 `RTTmin` if that is longer
/// (authors' code).
const LONG: Span = Span::from_secs(10);
const LONG_RTTS: u64 = 20;
/// Number of round trips over which the range of RTTs is measured, for the detection of the mode
/// (paper §2.2).
const RANGE_RTTS: u64 = 4;

/// Smoothed, standing, smallest and largest RTTs.
///
/// The windows' lengths are multiples of RTTs that change. So their clocks count smoothed RTTs, or
/// lengths of the long window, instead of nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Rtts {
    last: Option<Time>,
    /// Smoothed RTTs since the start, in units of [`UNIT`].
    rounds: u64,
    /// Lengths of the long window since the start, in units of [`UNIT`].
    epochs: u64,
    smoothed: Span,
    latest: Span,
    min: WindowedMin<Span>,
    standing: WindowedMin<Span>,
    recent_min: WindowedMin<Span>,
    recent_max: WindowedMax<Span>,
}

/// Returns by how much a clock that counts spans of `unit` advances in `elapsed`.
fn ticks(elapsed: Span, unit: Span) -> u64 {
    const MOST: u64 = 1 << 40;
    let (elapsed, unit) = (elapsed.as_nanos(), unit.as_nanos().max(1));
    // Up to 4.8 hours, 64 bits are enough. A division of 128 bits takes several times as long.
    match elapsed.checked_mul(UNIT) {
        Some(product) => (product / unit).min(MOST),
        None => (u128::from(elapsed) * u128::from(UNIT) / u128::from(unit)).min(MOST.into()) as u64,
    }
}

impl Rtts {
    pub(super) fn new() -> Rtts {
        Rtts {
            last: None,
            rounds: 0,
            epochs: 0,
            smoothed: Span::ZERO,
            latest: Span::ZERO,
            min: WindowedMin::new(UNIT),
            standing: WindowedMin::new(UNIT / 2),
            recent_min: WindowedMin::new(RANGE_RTTS * UNIT),
            recent_max: WindowedMax::new(RANGE_RTTS * UNIT),
        }
    }

    pub(super) fn on_sample(&mut self, now: Time, rtt: Span) {
        let rtt = rtt.max(Span::from_nanos(1));
        let elapsed = self.last.map_or(Span::ZERO, |last| now.since(last));
        self.last = Some(now);
        self.latest = rtt;
        self.smoothed = if self.smoothed.is_zero() {
            rtt
        } else {
            // Gain 1/16 (authors' code).
            self.smoothed - self.smoothed / 16 + rtt / 16
        };
        let long = LONG.max(self.min() * LONG_RTTS);
        self.rounds = self.rounds.saturating_add(ticks(elapsed, self.smoothed));
        self.epochs = self.epochs.saturating_add(ticks(elapsed, long));
        self.min.update(self.epochs, rtt);
        self.standing.update(self.rounds, rtt);
        self.recent_min.update(self.rounds, rtt);
        self.recent_max.update(self.rounds, rtt);
    }

    /// Returns the latest sample; zero before the first.
    pub(super) fn latest(&self) -> Span {
        self.latest
    }
    /// Returns `RTTmin`, the minimum over the long window; zero before the first sample.
    pub(super) fn min(&self) -> Span {
        self.min.get().unwrap_or(Span::ZERO)
    }
    /// Returns `RTTstanding`, the minimum over the latest half of a smoothed RTT, which excludes
    /// the jitter of acknowledgements.
    pub(super) fn standing(&self) -> Span {
        self.standing.get().unwrap_or(Span::ZERO)
    }
    /// Returns the delay of the standing queue.
    pub(super) fn queueing(&self) -> Span {
        self.standing() - self.min()
    }
    /// Returns the smoothed RTTs since the start, in units of [`Rtts::ROUND`].
    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }
    /// Returns the smallest RTT of the latest four round trips.
    pub(super) fn recent_min(&self) -> Span {
        self.recent_min.get().unwrap_or(Span::ZERO)
    }
    /// Returns the RTT up to which the queue is nearly empty: a tenth of the range of RTTs in the
    /// latest four round trips above `RTTmin`.
    pub(super) fn nearly_empty(&self) -> Span {
        let max = self.recent_max.get().unwrap_or(Span::ZERO);
        self.min() + (max - self.min()) / 10
    }

    /// One smoothed RTT on the clock of [`Rtts::rounds`].
    pub(super) const ROUND: u64 = UNIT;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn ticks_of_any_time_are_those_of_long_numbers() {
        for unit in [0, 1, 50_000_000, u64::MAX] {
            for elapsed in [0, 1, 1_000_000, u64::MAX / UNIT, u64::MAX / UNIT + 1, u64::MAX] {
                let exact = u128::from(elapsed) * u128::from(UNIT) / u128::from(unit.max(1));
                let found = ticks(Span::from_nanos(elapsed), Span::from_nanos(unit));
                assert_eq!(u128::from(found), exact.min(1 << 40), "{elapsed} {unit}");
            }
        }
    }

    #[test]
    fn the_standing_rtt_forgets_after_half_an_rtt() {
        let mut rtts = Rtts::new();
        rtts.on_sample(Time::from_millis(1000), ms(100));
        for at in 1..=44 {
            rtts.on_sample(Time::from_millis(1000 + at), ms(120));
            assert_eq!(rtts.standing(), ms(100), "{at}");
        }
        for at in 45..=80 {
            rtts.on_sample(Time::from_millis(1000 + at), ms(120));
        }
        assert_eq!((rtts.standing(), rtts.min()), (ms(120), ms(100)));
        assert_eq!(rtts.queueing(), ms(20));
        assert_eq!(rtts.nearly_empty(), ms(102));
    }

    #[test]
    fn the_smallest_rtt_lasts_ten_seconds_or_twenty_rtts() {
        let lasts = |first: u64, then: u64| {
            let mut rtts = Rtts::new();
            rtts.on_sample(Time::ZERO, ms(first));
            let mut at = 0;
            while rtts.min() == ms(first) {
                at += 10;
                rtts.on_sample(Time::from_millis(at), ms(then));
            }
            at
        };
        assert_eq!(lasts(100, 110), 10_010);
        // Its first 10 ms were counted in the window of 10 s that applied at the first sample.
        assert_eq!(lasts(1000, 1100), 20_020);
    }
}

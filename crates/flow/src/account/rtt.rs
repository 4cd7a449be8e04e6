//! Round-trip time: smoothed value, variation, minimum, and the retransmission timeout.

use paceline_cc::Span;

/// How the retransmission timeout is computed from the RTT samples.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RtoBounds {
    /// True to keep the largest variation of each round trip, as Linux does; see [`RttEstimator`].
    /// False for RFC 6298's variation, which many samples in a round trip shrink fast.
    pub keep_variation: bool,
    /// Lower bound of the variation term, as Linux' `tcp_rto_min`: RTO = srtt + max(4 rttvar,
    /// `min_variation`).
    pub min_variation: Span,
    /// Lower bound of the timeout (RFC 6298 asks for 1 s; Linux has only `min_variation`).
    pub min: Span,
    /// Upper bound of the timeout, back-off included.
    pub max: Span,
    /// The timeout before the first sample (RFC 6298 §2.1).
    pub initial: Span,
}

impl RtoBounds {
    /// Linux' bounds, the default.
    pub const LINUX: RtoBounds = RtoBounds {
        keep_variation: true,
        min_variation: Span::from_millis(200),
        min: Span::ZERO,
        max: Span::from_secs(120),
        initial: Span::from_secs(1),
    };
    /// RFC 6298's bounds with a minimum timeout of 200 ms and an initial one of 3 s, as ns-2's TCP
    /// often has them.
    pub const SHORT: RtoBounds = RtoBounds {
        keep_variation: false,
        min_variation: Span::from_millis(1),
        min: Span::from_millis(200),
        max: Span::from_secs(60),
        initial: Span::from_secs(3),
    };
    /// RFC 6298's bounds, as ns-3 has them.
    pub const RFC6298: RtoBounds = RtoBounds {
        keep_variation: false,
        min_variation: Span::from_millis(1),
        min: Span::from_secs(1),
        max: Span::from_secs(60),
        initial: Span::from_secs(1),
    };
}

/// Estimates round-trip times (RFC 6298).
///
/// With [`RtoBounds::keep_variation`] the variation is Linux' (`tcp_rtt_estimator`): a fall of the
/// RTT counts for an eighth of an equal rise; the largest mean deviation since the last round trip
/// takes effect at once; after a quieter round trip the variation falls by a quarter of the
/// difference.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    bounds: RtoBounds,
    smoothed: Span,
    /// Four times RFC 6298's RTTVAR.
    variation: Span,
    /// Four times the mean deviation, and the largest value of this since the round trip began;
    /// used with `keep_variation` only.
    deviation: Span,
    largest_deviation: Span,
    latest: Span,
    min: Span,
    backoff: u32,
    /// The timeout, computed from the other fields.
    rto: Span,
}

impl RttEstimator {
    /// Returns an estimator without samples.
    pub fn new(bounds: RtoBounds) -> RttEstimator {
        let mut estimator = RttEstimator {
            bounds,
            smoothed: Span::ZERO,
            variation: Span::ZERO,
            deviation: Span::ZERO,
            largest_deviation: Span::ZERO,
            latest: Span::ZERO,
            min: Span::MAX,
            backoff: 0,
            rto: Span::ZERO,
        };
        estimator.set_rto();
        estimator
    }

    /// Returns an estimator with these bounds and without samples, for a new connection.
    pub(super) fn without_samples(&self) -> RttEstimator {
        RttEstimator::new(self.bounds)
    }

    /// Takes a sample in, and ends the back-off of the timeout. `round_over` says that a round trip
    /// is over: all data sent before the last sample with `round_over` has been acknowledged.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Span, round_over: bool) {
        let rtt = rtt.max(Span::from_nanos(1));
        self.latest = rtt;
        self.min = self.min.min(rtt);
        self.backoff = 0;
        if self.smoothed.is_zero() {
            self.smoothed = rtt;
            self.variation = rtt * 2;
            (self.deviation, self.largest_deviation) = (self.variation, self.variation);
            return self.set_rto();
        }
        // Gains 1/4 and 1/8, in integers: the rounding error is below 8 ns.
        let (old, new) = (self.smoothed.as_nanos(), rtt.as_nanos());
        if self.bounds.keep_variation {
            self.keep_variation(old, new, round_over);
        } else {
            let variation = self.variation.as_nanos();
            let fallen = variation - variation / 4;
            self.variation = Span::from_nanos(fallen.saturating_add(old.abs_diff(new)));
        }
        self.smoothed = Span::from_nanos(old - old / 8 + new / 8);
        self.set_rto();
    }

    /// Updates the variation as Linux does, after a sample `new` when the smoothed RTT was `old`.
    #[inline(always)]
    fn keep_variation(&mut self, old: u64, new: u64, round_over: bool) {
        let deviation = self.deviation.as_nanos();
        let (apart, known) = (old.abs_diff(new), deviation / 4);
        let deviation = match apart.checked_sub(known) {
            Some(more) if new < old => deviation + more / 8,
            _ => deviation.saturating_add(apart) - known,
        };
        self.deviation = Span::from_nanos(deviation);
        self.largest_deviation = self.largest_deviation.max(self.deviation);
        self.variation = self.variation.max(self.largest_deviation);
        if round_over {
            self.variation = self.variation - (self.variation - self.largest_deviation) / 4;
            self.largest_deviation = self.bounds.min_variation;
        }
    }

    #[inline]
    fn set_rto(&mut self) {
        self.rto = self.backed_off(self.base());
    }

    /// Returns the timeout without back-off.
    #[inline]
    fn base(&self) -> Span {
        let base = if self.smoothed.is_zero() {
            self.bounds.initial
        } else {
            self.smoothed + self.variation.max(self.bounds.min_variation)
        };
        base.max(self.bounds.min)
    }

    #[inline]
    fn backed_off(&self, base: Span) -> Span {
        let backed_off =
            if self.backoff == 0 { base } else { base * (1u64 << self.backoff.min(16)) };
        backed_off.min(self.bounds.max)
    }

    /// Returns the smoothed RTT; zero before the first sample.
    pub fn smoothed(&self) -> Span {
        self.smoothed
    }
    /// Returns the latest sample; zero before the first.
    pub fn latest(&self) -> Span {
        self.latest
    }
    /// Returns the smallest sample; zero before the first.
    pub fn min(&self) -> Span {
        if self.min == Span::MAX { Span::ZERO } else { self.min }
    }
    /// Returns the retransmission timeout, back-off included.
    #[inline]
    pub fn rto(&self) -> Span {
        self.rto
    }
    /// Returns the retransmission timeout, rounded by `round` before the back-off, as Linux does
    /// (`__tcp_set_rto`, `tcp_retransmit_timer`).
    pub(super) fn rounded_rto(&self, round: impl Fn(Span) -> Span) -> Span {
        self.backed_off(round(self.base()))
    }
    /// Doubles the timeout until the next sample (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
        self.set_rto();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc6298_first_samples() {
        let mut rtt = RttEstimator::new(RtoBounds::RFC6298);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        rtt.sample(Span::from_millis(800), true);
        assert_eq!(rtt.rto(), Span::from_millis(2400));
        rtt.sample(Span::from_millis(1600), true);
        assert_eq!(rtt.smoothed(), Span::from_millis(900));
        // srtt is 3/4 of 400 ms and 1/4 of 800 ms, and four times the variation is 2000 ms.
        assert_eq!(rtt.rto(), Span::from_millis(900 + 4 * 500));
    }

    #[test]
    fn a_timeout_is_rounded_before_it_is_backed_off() {
        let mut rtt = RttEstimator::new(RtoBounds::LINUX);
        rtt.sample(Span::from_millis(13), true);
        rtt.back_off();
        let rounded =
            rtt.rounded_rto(|span| Span::from_millis(span.as_nanos().div_ceil(4_000_000) * 4));
        assert_eq!((rtt.rto(), rounded), (Span::from_millis(426), Span::from_millis(432)));
    }

    #[test]
    fn linux_floor_is_on_the_variation() {
        let mut rtt = RttEstimator::new(RtoBounds::LINUX);
        for _ in 0..100 {
            rtt.sample(Span::from_millis(100), true);
        }
        assert_eq!(rtt.rto(), Span::from_millis(300));
        rtt.back_off();
        assert_eq!(rtt.rto(), Span::from_millis(600));
        for _ in 0..80 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Span::from_secs(120));
        rtt.sample(Span::from_millis(100), true);
        assert_eq!(rtt.rto(), Span::from_millis(300));
    }
}

//! Round-trip times and the retransmission timeout of the plain account: RFC 6298, or Linux'
//! `tcp_rtt_estimator`, step by step and in signed numbers.

use paceline_cc::Span;
use paceline_flow::RtoBounds;

pub(super) struct Rtt {
    bounds: RtoBounds,
    pub(super) smoothed: Span,
    /// Four times the variation.
    variation: i128,
    /// Linux' `mdev` and `mdev_max`, and the end of their round trip.
    deviation: i128,
    largest: i128,
    round_end: u64,
    pub(super) latest: Span,
    pub(super) min: Span,
    /// Number of expiries of the retransmission timer since the last sample.
    pub(super) expiries: u32,
}

impl Rtt {
    pub(super) fn new(bounds: RtoBounds) -> Rtt {
        Rtt {
            bounds,
            smoothed: Span::ZERO,
            variation: 0,
            deviation: 0,
            largest: 0,
            round_end: 0,
            latest: Span::ZERO,
            min: Span::ZERO,
            expiries: 0,
        }
    }

    /// Takes a sample in (section 2). All below `passed` is acknowledged; `next` is next.
    pub(super) fn measure(&mut self, rtt: Span, passed: u64, next: u64) {
        (self.latest, self.expiries) = (rtt, 0);
        let over = passed > self.round_end;
        if over {
            self.round_end = next;
        }
        let sample = i128::from(rtt.as_nanos());
        if self.smoothed.is_zero() {
            (self.smoothed, self.min) = (rtt, rtt);
            (self.variation, self.deviation, self.largest) = (2 * sample, 2 * sample, 2 * sample);
            return;
        }
        let apart = sample - i128::from(self.smoothed.as_nanos());
        if self.bounds.keep_variation {
            let more = apart.abs() - self.deviation / 4;
            self.deviation += if apart < 0 && more > 0 { more / 8 } else { more };
            self.largest = self.largest.max(self.deviation);
            self.variation = self.variation.max(self.largest);
            if over {
                self.variation -= (self.variation - self.largest) / 4;
                self.largest = i128::from(self.bounds.min_variation.as_nanos());
            }
        } else {
            self.variation += apart.abs() - self.variation / 4;
        }
        self.smoothed = self.smoothed - self.smoothed / 8 + rtt / 8;
        self.min = self.min.min(rtt);
    }

    /// Returns the timeout (sections 2 and 5).
    pub(super) fn rto(&self) -> Span {
        let RtoBounds { min_variation, min, max, initial, .. } = self.bounds;
        let variation = Span::from_nanos(self.variation as u64);
        let known = self.smoothed + variation.max(min_variation);
        let base = if self.smoothed.is_zero() { initial } else { known };
        (0..self.expiries.min(16)).fold(base.max(min), |rto, _| rto * 2).min(max)
    }
}

//! Round-trip times and the retransmission timeout of the plain account (RFC 6298).

use paceline_cc::Span;
use paceline_flow::RtoBounds;

pub(super) struct Rtt {
    bounds: RtoBounds,
    pub(super) smoothed: Span,
    variation: Span,
    pub(super) latest: Span,
    pub(super) min: Span,
    /// Expiries of the retransmission timer since the last sample.
    pub(super) expiries: u32,
}

impl Rtt {
    pub(super) fn new(bounds: RtoBounds) -> Rtt {
        let (smoothed, variation) = (Span::ZERO, Span::ZERO);
        Rtt { bounds, smoothed, variation, latest: Span::ZERO, min: Span::ZERO, expiries: 0 }
    }

    /// Section 2.
    pub(super) fn measure(&mut self, rtt: Span) {
        (self.latest, self.expiries) = (rtt, 0);
        if self.smoothed.is_zero() {
            (self.smoothed, self.variation, self.min) = (rtt, rtt / 2, rtt);
            return;
        }
        let deviation = (rtt - self.smoothed).max(self.smoothed - rtt);
        self.variation = self.variation - self.variation / 4 + deviation / 4;
        self.smoothed = self.smoothed - self.smoothed / 8 + rtt / 8;
        self.min = self.min.min(rtt);
    }

    /// Sections 2 and 5.
    pub(super) fn rto(&self) -> Span {
        let RtoBounds { min_variation, min, max, initial } = self.bounds;
        let known = self.smoothed + (self.variation * 4).max(min_variation);
        let base = if self.smoothed.is_zero() { initial } else { known };
        (0..self.expiries.min(16)).fold(base.max(min), |rto, _| rto * 2).min(max)
    }
}

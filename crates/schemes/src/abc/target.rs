//! The target rate of ABC's router, and the fraction of accelerates that leads to it: equations 1
//! and 2 of the paper.

use paceline_cc::{LinkView, Span, Time};

use super::params::{AbcParams, Credit, Delay};

/// A departing packet, and the router's measurements at that time.
pub(super) struct DepartingPacket {
    pub(super) now: Time,
    pub(super) size: u32,
    pub(super) sojourn: Span,
    /// The capacity of the link and the present rate, in bytes per window.
    pub(super) capacity: f64,
    pub(super) rate: f64,
}

/// `tr = eta*mu - mu/delta * (x - dt)⁺`, in bytes per window.
pub(super) struct TargetRate {
    eta: f64,
    per_delta: f64,
    dt: f64,
    /// The window of the rates; also in seconds.
    window: Span,
    seconds: f64,
    delay: Delay,
    lookahead: Span,
    /// The last result, for plots.
    target: f64,
}

impl TargetRate {
    pub(super) fn new(params: &AbcParams) -> TargetRate {
        TargetRate {
            eta: params.eta,
            per_delta: 1.0 / params.delta.as_secs_f64(),
            dt: params.dt.as_secs_f64(),
            window: params.t,
            seconds: params.t.as_secs_f64(),
            delay: params.delay,
            lookahead: params.lookahead,
            target: 0.0,
        }
    }

    /// Returns the share of the capacity that the target uses.
    #[inline]
    pub(super) fn eta(&self) -> f64 {
        self.eta
    }

    /// Returns the last target rate.
    pub(super) fn last(&self) -> f64 {
        self.target
    }

    /// Returns the factor by which the capacity will have changed after `lookahead`.
    fn outlook(&self, now: Time, link: &LinkView<'_>) -> f64 {
        if self.lookahead.is_zero() {
            return 1.0;
        }
        let then = now + self.lookahead;
        let future = link.capacity.offered(then - self.window, then);
        let present = link.capacity.offered(now - self.window, now);
        future as f64 / present.max(1) as f64
    }

    /// Returns the queueing delay x of equation 1, in seconds.
    #[inline]
    fn queueing_delay(&self, packet: &DepartingPacket, link: &LinkView<'_>) -> f64 {
        match self.delay {
            Delay::Sojourn => packet.sojourn.as_secs_f64(),
            Delay::Estimate => {
                (link.queue_bytes + packet.size as u64) as f64 * self.seconds / packet.capacity
            }
        }
    }

    /// Returns the fraction of packets that are to leave as accelerates.
    #[inline]
    pub(super) fn fraction(
        &mut self,
        packet: &DepartingPacket,
        credit: Credit,
        link: &LinkView<'_>,
    ) -> f64 {
        let x = self.queueing_delay(packet, link);
        let aim = match credit {
            Credit::Target => packet.capacity * self.outlook(packet.now, link),
            Credit::Unused => packet.rate,
        };
        let late = if x > self.dt { x - self.dt } else { 0.0 };
        self.target = self.eta * aim - packet.capacity * self.per_delta * late;
        (0.5 * self.target / packet.rate).clamp(0.0, 1.0)
    }
}

//! The network's half: turns as many accelerates into brakes as bring the senders to the target
//! rate.

use super::params::{AbcParams, Basis, Credit, Delay, Source};
use super::rate::Meter;
use super::wifi::LinkRateEstimator;
use crate::packet::{Ecn, Packet, TrafficClass};
use crate::route::{Batch, LinkView, Router};
use crate::units::{Span, Time};

/// The router's half of ABC.
///
/// All rates are bytes over the same window, so its length cancels.
///
/// The capacity is what the link carries of ABC's packets plus what it could have carried more.
/// Counting both alike makes the two rates equal, packet by packet, on a link that is never
/// idle. Links that serve opportunities tell the unused ones; for a link that is silent about
/// them the router asks the link's capacity, whenever a packet comes to an empty queue, for what
/// was offered since the last transmission ended. What other packets consume is no capacity to
/// ABC (paper §4.3: only ABC's share counts; so does the authors' code). Where ABC's packets have
/// a queue of their own with a share of the link, what ABC leaves of that share is unused
/// capacity too, so that both together are the share.
///
/// A link that transmits in batches (802.11n) is estimated from their block acknowledgements: see
/// [`LinkRateEstimator`]. The target then is equation 1 to the letter, since such links tell no
/// unused opportunities.
pub struct Marker {
    /// ABC's packets that left the queue.
    departed: Meter,
    /// The same plus what was left unused.
    capacity: Meter,
    /// ABC's packets that came to the queue; only if the rate is taken from them.
    arrived: Option<Meter>,
    pub(super) idle: Idle,
    /// Both rates of a link that transmits in batches, once it has.
    estimator: Option<LinkRateEstimator>,
    token: f64,
    /// The size of the last packet: tokens are packets, unused capacity is bytes.
    size: f64,
    /// The last results, for plots.
    pub(super) fraction: f64,
    target: f64,

    eta: f64,
    per_delta: f64,
    dt: f64,
    t: f64,
    window: Span,
    lookahead: Span,
    token_limit: f64,
    credit: Credit,
    delay: Delay,
    proxied: bool,
    source: Source,
    batch_window: Span,
}

/// Finds out what a silent link left unused.
#[derive(Default)]
pub(super) struct Idle {
    /// The link tells by itself.
    pub(super) told: bool,
    /// Up to when the offered capacity is accounted for, but for `owed` bytes that were then
    /// about to be carried.
    since: Time,
    owed: u64,
}

impl Idle {
    /// `size` bytes begin to be carried at `now`.
    #[inline]
    fn carry(&mut self, now: Time, size: u32) {
        self.owed = size as u64 + if self.since == now { self.owed } else { 0 };
        self.since = now;
    }

    /// A packet comes to an empty queue: the bytes of the last `window` that were not used.
    fn end(&mut self, now: Time, window: Span, link: &LinkView<'_>) -> u32 {
        let offered = link.capacity.offered(self.since, now);
        if offered <= self.owed {
            return 0;
        }
        let unused = (offered - self.owed).min(link.capacity.offered(now - window, now));
        self.since = now;
        self.owed = 0;
        unused.min(u32::MAX as u64) as u32
    }
}

impl Marker {
    /// A router before the first packet.
    pub fn new(params: &AbcParams) -> Marker {
        Marker {
            departed: Meter::new(params.t),
            capacity: Meter::new(params.t),
            arrived: (params.rate == Basis::Enqueue).then(|| Meter::new(params.t)),
            idle: Idle::default(),
            estimator: None,
            token: params.token0,
            size: 1500.0,
            fraction: 0.0,
            target: 0.0,
            eta: params.eta,
            per_delta: 1.0 / params.delta.as_secs_f64(),
            dt: params.dt.as_secs_f64(),
            t: params.t.as_secs_f64(),
            window: params.t,
            lookahead: params.lookahead,
            token_limit: params.token_limit,
            // The future's unused opportunities cannot be counted before they come.
            credit: if params.lookahead.is_zero() { params.credit } else { Credit::Target },
            delay: params.delay,
            proxied: params.proxied,
            source: params.capacity,
            batch_window: params.wifi_t,
        }
    }

    #[inline]
    fn concerns(packet: &Packet) -> bool {
        packet.class == TrafficClass::EXPLICIT && packet.ecn.is_capable()
    }

    /// The capacity was not used by so many bytes.
    fn unused(&mut self, now: Time, bytes: u32) {
        self.capacity.record(now, bytes);
        if self.credit == Credit::Unused {
            // Not limited before the next packet has been marked (authors' code).
            self.token += 0.5 * self.eta * bytes as f64 / self.size;
        }
    }

    /// The factor by which the capacity will have changed.
    fn outlook(&self, now: Time, link: &LinkView<'_>) -> f64 {
        if self.lookahead.is_zero() {
            return 1.0;
        }
        let then = now + self.lookahead;
        let future = link.capacity.offered(then - self.window, then);
        let present = link.capacity.offered(now - self.window, now);
        future as f64 / present.max(1) as f64
    }

    /// Capacity and present rate, in bytes per window.
    #[inline]
    fn rates(&mut self, now: Time, size: u32) -> (f64, f64) {
        let estimates = self.estimator.as_ref().and_then(LinkRateEstimator::rates);
        if let Some((link, dequeue)) = estimates {
            return (link * self.t, dequeue * self.t);
        }
        let cr = match &mut self.arrived {
            None => self.departed.bytes(),
            Some(arrived) => {
                arrived.expire(now);
                arrived.bytes()
            }
        };
        (self.capacity.bytes() as f64, cr.max(size as u64) as f64)
    }

    /// The fraction of packets to accelerate: equations 1 and 2.
    #[inline]
    fn fraction(&mut self, now: Time, size: u32, sojourn: Span, link: &LinkView<'_>) -> f64 {
        let (mu, cr) = self.rates(now, size);
        let x = match self.delay {
            Delay::Sojourn => sojourn.as_secs_f64(),
            Delay::Estimate => (link.queue_bytes + size as u64) as f64 * self.t / mu,
        };
        let aim = match self.credit {
            Credit::Target => mu * self.outlook(now, link),
            Credit::Unused => cr,
        };
        let late = if x > self.dt { x - self.dt } else { 0.0 };
        self.target = self.eta * aim - mu * self.per_delta * late;
        (0.5 * self.target / cr).clamp(0.0, 1.0)
    }

    /// Algorithm 1. Returns whether an accelerate may stay one; `spend` tells if this is one.
    #[inline]
    fn admit(&mut self, fraction: f64, spend: bool) -> bool {
        let limit = |token: f64| if token < self.token_limit { token } else { self.token_limit };
        let mut token = self.token + fraction;
        // The paper limits the tokens before the decision, the authors' code after it.
        if self.credit == Credit::Target {
            token = limit(token);
        }
        let stays = token > 1.0;
        if stays && spend {
            token -= 1.0;
        }
        self.token = limit(token);
        stays
    }
}

impl Router for Marker {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        if link.queue_packets == 0 && !self.idle.told && self.estimator.is_none() {
            let unused = self.idle.end(now, self.window, link);
            if unused > 0 {
                self.unused(now, unused);
            }
        }
        if let Some(arrived) = &mut self.arrived
            && Marker::concerns(packet)
        {
            arrived.record(now, packet.size);
        }
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        self.idle.carry(now, packet.size);
        if !Marker::concerns(packet) {
            return;
        }
        let size = packet.size.max(1);
        self.size = size as f64;
        self.departed.record(now, size);
        self.capacity.record(now, size);
        self.fraction = self.fraction(now, size, sojourn, link);
        let accelerates = match self.proxied {
            false => packet.ecn == Ecn::ACCELERATE,
            true => packet.ecn != Ecn::Ce,
        };
        if !self.admit(self.fraction, accelerates) && accelerates {
            packet.ecn = if self.proxied { Ecn::Ce } else { Ecn::BRAKE };
        }
    }

    fn on_unused(&mut self, now: Time, bytes: u32) {
        self.idle.told = true;
        self.unused(now, bytes);
    }

    fn on_unused_share(&mut self, now: Time, bytes: u32) {
        self.unused(now, bytes);
    }

    fn on_batch(&mut self, now: Time, batch: &Batch) {
        if self.source == Source::Link {
            return;
        }
        self.credit = Credit::Target;
        self.estimator
            .get_or_insert_with(|| LinkRateEstimator::new(self.batch_window))
            .on_block_ack(now, batch);
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let mbps = |bytes: f64| bytes * 8e-6 / self.t;
        see("target_rate_mbps", mbps(self.target.max(0.0)));
        let estimates = self.estimator.as_ref().and_then(LinkRateEstimator::rates);
        let measured = (self.capacity.bytes() as f64, self.departed.bytes() as f64);
        let (mu, cr) = estimates.map_or(measured, |(link, cr)| (link * self.t, cr * self.t));
        see("dequeue_rate_mbps", mbps(cr));
        see("capacity_mbps", mbps(mu));
        see("accel_fraction", self.fraction);
        see("token", self.token);
    }
}

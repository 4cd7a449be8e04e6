//! The network's half: turns accelerates into brakes, so that the senders reach the target rate.

use paceline_cc::{Batch, Ecn, LinkView, Packet, Router, Span, Time, TrafficClass};

use super::params::{AbcParams, Credit};
use super::rates::LinkRates;
use super::target::{DepartingPacket, TargetRate};
use super::tokens::TokenBucket;
use super::{ACCELERATE, BRAKE};

/// The router's half of ABC. One part measures the capacity and the present rate, one computes the
/// fraction of packets that are to accelerate their senders, and a token bucket picks the packets.
///
/// On a link that transmits in batches (802.11n) the target is exactly equation 1, since such links
/// do not report unused opportunities.
pub struct AbcRouter {
    pub(super) rates: LinkRates,
    target: TargetRate,
    tokens: TokenBucket,
    credit: Credit,
    proxied: bool,
    /// Size of the last packet: tokens count packets, unused capacity counts bytes.
    size: f64,
    /// The last fraction, for plots.
    fraction: f64,
}

impl AbcRouter {
    /// Returns a router before its first packet.
    pub fn new(params: &AbcParams) -> AbcRouter {
        AbcRouter {
            rates: LinkRates::new(params),
            target: TargetRate::new(params),
            tokens: TokenBucket::new(params),
            // Unused opportunities of the future cannot be counted in advance.
            credit: if params.lookahead.is_zero() { params.credit } else { Credit::Target },
            proxied: params.proxied,
            size: 1500.0,
            fraction: 0.0,
        }
    }

    /// Returns true if the packet is one of ABC's and may be marked.
    #[inline]
    fn concerns(packet: &Packet) -> bool {
        packet.class == TrafficClass::EXPLICIT && packet.ecn.is_capable()
    }

    /// Counts bytes that the link could have carried in addition.
    fn unused(&mut self, now: Time, bytes: u32) {
        self.rates.count_unused(now, bytes);
        if self.credit == Credit::Unused {
            self.tokens.add(0.5 * self.target.eta() * bytes as f64 / self.size);
        }
    }
}

impl Router for AbcRouter {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        let unused = self.rates.unused_before_arrival(now, link);
        if unused > 0 {
            self.unused(now, unused);
        }
        if AbcRouter::concerns(packet) {
            self.rates.count_arrival(now, packet.size);
        }
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        self.rates.idle.on_departure(now, packet.size);
        if !AbcRouter::concerns(packet) {
            return;
        }
        let size = packet.size.max(1);
        self.size = size as f64;
        self.rates.count_departure(now, size);
        let (capacity, rate) = self.rates.at_departure(now, size);
        let departing = DepartingPacket { now, size, sojourn, capacity, rate };
        self.fraction = self.target.fraction(&departing, self.credit, link);
        let accelerates = match self.proxied {
            false => packet.ecn == ACCELERATE,
            true => packet.ecn != Ecn::Ce,
        };
        if !self.tokens.admit(self.fraction, accelerates, self.credit) && accelerates {
            packet.ecn = if self.proxied { Ecn::Ce } else { BRAKE };
        }
    }

    fn on_unused(&mut self, now: Time, bytes: u32) {
        self.rates.idle.set_link_tells();
        self.unused(now, bytes);
    }

    fn on_unused_share(&mut self, now: Time, bytes: u32) {
        self.unused(now, bytes);
    }

    fn on_batch(&mut self, now: Time, batch: &Batch) {
        if self.rates.count_batch(now, batch) {
            self.credit = Credit::Target;
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let mbps = |bytes: f64| self.rates.mbps(bytes);
        see("target_rate_mbps", mbps(self.target.last().max(0.0)));
        let (capacity, rate) = self.rates.shown();
        see("dequeue_rate_mbps", mbps(rate));
        see("capacity_mbps", mbps(capacity));
        see("accel_fraction", self.fraction);
        see("token", self.tokens.tokens());
    }
}

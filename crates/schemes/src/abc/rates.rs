//! What ABC's router measures: the capacity of its link and the present rate of ABC's packets.

use paceline_cc::{Batch, LinkView, Span, Time};

use super::params::{AbcParams, Basis, Source};
use super::wifi::LinkRateEstimator;
use crate::parts::{IdleCapacity, RateMeter};

/// The two rates that the target rate is made of. Both are bytes over the same window, so that its
/// length cancels.
///
/// The capacity is what the link carries of ABC's packets plus what it could have carried more.
/// Counting both alike makes the two rates equal, packet by packet, on a link that is never
/// idle. Links that serve opportunities tell the unused ones; for a link that is silent about
/// them the router asks the link's capacity, whenever a packet comes to an empty queue, for what
/// was offered since the last transmission ended. What other packets consume is no capacity to
/// ABC (paper §4.3: only ABC's share counts; so does the authors' code). Where ABC's packets have
/// a queue of their own with a share of the link, what ABC forfeits of that share is unused
/// capacity too, so that both together are the share.
///
/// A link that transmits in batches (802.11n) is estimated from their block acknowledgements: see
/// [`LinkRateEstimator`].
pub(super) struct LinkRates {
    /// ABC's packets that left the queue.
    departed: RateMeter,
    /// The same plus what was left unused.
    capacity: RateMeter,
    /// ABC's packets that came to the queue; only if the rate is taken from them.
    arrived: Option<RateMeter>,
    pub(super) idle: IdleCapacity,
    /// Both rates of a link that transmits in batches, once it has.
    estimator: Option<LinkRateEstimator>,
    /// The window of both rates, also in seconds.
    window: Span,
    seconds: f64,
    source: Source,
    batch_window: Span,
}

impl LinkRates {
    pub(super) fn new(params: &AbcParams) -> LinkRates {
        LinkRates {
            departed: RateMeter::new(params.t),
            capacity: RateMeter::new(params.t),
            arrived: (params.rate == Basis::Enqueue).then(|| RateMeter::new(params.t)),
            idle: IdleCapacity::default(),
            estimator: None,
            window: params.t,
            seconds: params.t.as_secs_f64(),
            source: params.capacity,
            batch_window: params.wifi_t,
        }
    }

    /// A packet comes to the queue at `now`: the bytes that the link left unused before it, if
    /// the link does not tell them by itself.
    #[inline]
    pub(super) fn unused_before_arrival(&mut self, now: Time, link: &LinkView<'_>) -> u32 {
        if link.queue_packets == 0 && !self.idle.link_tells() && self.estimator.is_none() {
            self.idle.take_unused(now, now - self.window, link)
        } else {
            0
        }
    }

    /// One of ABC's packets comes to the queue.
    #[inline]
    pub(super) fn count_arrival(&mut self, now: Time, size: u32) {
        if let Some(arrived) = &mut self.arrived {
            arrived.record(now, size);
        }
    }

    /// One of ABC's packets leaves the queue.
    #[inline]
    pub(super) fn count_departure(&mut self, now: Time, size: u32) {
        self.departed.record(now, size);
        self.capacity.record(now, size);
    }

    /// The link could have carried so many bytes more.
    #[inline]
    pub(super) fn count_unused(&mut self, now: Time, bytes: u32) {
        self.capacity.record(now, bytes);
    }

    /// A batch was acknowledged. Returns false if the capacity is not to be taken from batches.
    pub(super) fn count_batch(&mut self, now: Time, batch: &Batch) -> bool {
        if self.source == Source::Link {
            return false;
        }
        self.estimator
            .get_or_insert_with(|| LinkRateEstimator::new(self.batch_window))
            .on_block_ack(now, batch);
        true
    }

    /// Both rates according to batches, if there were any.
    #[inline]
    fn estimated(&self) -> Option<(f64, f64)> {
        let rates = self.estimator.as_ref().and_then(LinkRateEstimator::rates);
        rates.map(|(link, dequeue)| (link * self.seconds, dequeue * self.seconds))
    }

    /// Capacity and present rate in bytes per window, when a packet of `size` bytes leaves.
    #[inline]
    pub(super) fn at_departure(&mut self, now: Time, size: u32) -> (f64, f64) {
        if let Some(estimated) = self.estimated() {
            return estimated;
        }
        let present = match &mut self.arrived {
            None => self.departed.bytes(),
            Some(arrived) => {
                arrived.expire(now);
                arrived.bytes()
            }
        };
        (self.capacity.bytes() as f64, present.max(size as u64) as f64)
    }

    /// Bytes per window in Mbit/s.
    pub(super) fn mbps(&self, bytes: f64) -> f64 {
        bytes * 8e-6 / self.seconds
    }

    /// Capacity and rate of departures, for plots.
    pub(super) fn shown(&self) -> (f64, f64) {
        let measured = (self.capacity.bytes() as f64, self.departed.bytes() as f64);
        self.estimated().unwrap_or(measured)
    }
}

//! ABC's router measures the capacity of its link and the present rate of ABC's packets.

use paceline_cc::{Batch, LinkView, Span, Time};

use super::params::{AbcParams, Basis, Source};
use super::wifi::LinkRateEstimator;
use crate::parts::{IdleCapacity, RateMeter};

/// The two rates from which the target rate is computed. Both are in bytes over one window, so that
/// the window's length cancels.
///
/// The capacity is the bytes of ABC's packets that the link carried plus the bytes that it could
/// have carried in addition. Counted so, the two rates are equal, packet by packet, on a link that
/// is never idle. Links that serve opportunities report the unused ones, 802.11 media
/// without A-MPDUs the router's part of the idle time. For other links, whenever
/// a packet arrives at an empty queue, the router asks the link how much it has offered since the
/// last transmission ended. Bytes of other packets are not capacity for ABC (paper §4.3: only ABC's
/// share counts; so does the authors' code). Where ABC's packets have a queue of their own with a
/// share of the link, the part of that share that ABC does not use counts as unused capacity, so
/// that both together are the share.
///
/// A link that transmits in batches (802.11n) is estimated from their block acknowledgements: see
/// [`LinkRateEstimator`].
pub(super) struct LinkRates {
    /// Bytes of ABC's packets that left the queue.
    departed: RateMeter,
    /// `departed` plus the unused bytes.
    capacity: RateMeter,
    /// Bytes of ABC's packets that arrived at the queue; only with `rate=enqueue`.
    arrived: Option<RateMeter>,
    pub(super) idle: IdleCapacity,
    /// Both rates of a link that transmits in batches, after its first batch.
    estimator: Option<LinkRateEstimator>,
    /// The window of both rates; also in seconds.
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

    /// Returns the bytes that the link left unused before a packet arrives at `now`, if the link
    /// does not report them itself.
    #[inline]
    pub(super) fn unused_before_arrival(&mut self, now: Time, link: &LinkView<'_>) -> u32 {
        if link.queue_packets == 0 && !self.idle.link_tells() && self.estimator.is_none() {
            self.idle.take_unused(now, now - self.window, link)
        } else {
            0
        }
    }

    /// Counts an ABC packet that arrives at the queue.
    #[inline]
    pub(super) fn count_arrival(&mut self, now: Time, size: u32) {
        if let Some(arrived) = &mut self.arrived {
            arrived.record(now, size);
        }
    }

    /// Counts an ABC packet that leaves the queue.
    #[inline]
    pub(super) fn count_departure(&mut self, now: Time, size: u32) {
        self.departed.record(now, size);
        self.capacity.record(now, size);
    }

    /// Counts bytes that the link could have carried in addition.
    #[inline]
    pub(super) fn count_unused(&mut self, now: Time, bytes: u32) {
        self.capacity.record(now, bytes);
    }

    /// Counts an acknowledged batch. Returns false if batches are not the source of the capacity.
    pub(super) fn count_batch(&mut self, now: Time, batch: &Batch) -> bool {
        if self.source == Source::Link {
            return false;
        }
        self.estimator
            .get_or_insert_with(|| LinkRateEstimator::new(self.batch_window))
            .on_block_ack(now, batch);
        true
    }

    /// Returns both rates estimated from batches, if there were any.
    #[inline]
    fn estimated(&self) -> Option<(f64, f64)> {
        let rates = self.estimator.as_ref().and_then(LinkRateEstimator::rates);
        rates.map(|(link, dequeue)| (link * self.seconds, dequeue * self.seconds))
    }

    /// Returns the capacity and the present rate in bytes per window, when a packet of `size` bytes
    /// leaves.
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

    /// Converts bytes per window to Mbit/s.
    pub(super) fn mbps(&self, bytes: f64) -> f64 {
        bytes * 8e-6 / self.seconds
    }

    /// Returns the capacity and the rate of departures, for plots.
    pub(super) fn shown(&self) -> (f64, f64) {
        let measured = (self.capacity.bytes() as f64, self.departed.bytes() as f64);
        self.estimated().unwrap_or(measured)
    }
}

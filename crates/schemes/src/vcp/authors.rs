//! The load as the ABC authors' routers measure it: when packets leave, with a sliding window.

use paceline_cc::{LinkView, Load, Span, Time};

use super::VcpParams;
use super::load::{LOW, LoadFactor};
use crate::parts::RateMeter;

/// The load of one link, measured when a packet leaves more than `t_rho` after the last
/// measurement.
#[derive(Debug)]
pub(super) struct DepartureMeasurement {
    factor: LoadFactor,
    t_rho: Span,
    /// Bytes that the queue has accepted. The window ends at the last accepted packet, so that an
    /// outage does not empty it.
    taken: RateMeter,
    /// The last arrival, until it is known whether the queue has accepted it: its time, its size,
    /// and the number of packets that waited before it.
    pending: Option<(Time, u32, usize)>,
    measured: Time,
    load: Load,
    pub(super) rho: f64,
}

impl DepartureMeasurement {
    pub(super) fn new(params: &VcpParams) -> DepartureMeasurement {
        DepartureMeasurement {
            factor: LoadFactor::new(params),
            t_rho: params.t_rho,
            taken: RateMeter::new(params.t_rho),
            pending: None,
            measured: Time::ZERO,
            load: Load::Low,
            rho: 0.0,
        }
    }

    /// Counts the last arrival if the queue has accepted it: if `packets`, the number waiting
    /// before the present event, is larger than before the arrival.
    fn settle(&mut self, packets: usize) {
        if let Some((when, size, before)) = self.pending.take()
            && packets > before
        {
            self.taken.record(when, size);
        }
    }

    pub(super) fn on_arrival(&mut self, now: Time, size: u32, link: &LinkView<'_>) {
        self.settle(link.queue_packets);
        self.pending = Some((now, size, link.queue_packets));
    }

    pub(super) fn on_departure(&mut self, now: Time, link: &LinkView<'_>) {
        self.settle(link.queue_packets + 1);
        if now.since(self.measured) <= self.t_rho {
            return;
        }
        self.measured = now;
        let capacity = link.capacity.offered(now - self.t_rho, now) as f64;
        let (arrived, queue) = (self.taken.bytes() as f64, link.queue_bytes as f64);
        if let Some(rho) = self.factor.of(arrived, queue, capacity) {
            self.rho = rho;
            self.load = match rho {
                rho if rho < LOW => Load::Low,
                rho if rho <= 1.0 => Load::High,
                _ => Load::Overload,
            };
        }
    }

    /// Returns the load shown at `now`: overload only for half of the interval, then high.
    pub(super) fn shown(&self, now: Time) -> Load {
        match self.load {
            Load::Overload if now.since(self.measured) > self.t_rho / 2 => Load::High,
            load => load,
        }
    }
}

//! The aggregate feedback of XCP-b: from the queue's growth, or blind growth.

use paceline_cc::LinkView;

use super::{Detect, Sample, Unit, XcpbParams};
use crate::xcp::{Backlog, ControlInterval, EfficiencyController, PersistentQueue};

/// Weight of the present queue in its average (eq. 10).
const WEIGHT: f64 = 0.25;
/// Packet size in bytes that is assumed while no queue shows one, and for `kappa` in bytes.
const PACKET: f64 = 1500.0;

/// Equations 6 to 13 of the paper, in packets or bytes, depending on the unit.
#[derive(Clone, Debug)]
pub(crate) struct XcpbEfficiency {
    params: XcpbParams,
    /// `kappa` in the unit, and the feedback of a blind interval times its length, in bytes.
    kappa: f64,
    credit: f64,
    queue: PersistentQueue,
    /// The queue of the last interval.
    before: f64,
    /// The weighted average of the queue, lambda.
    average: f64,
    /// Number of consecutive intervals in which the queue was empty.
    empty: u32,
    blind: bool,
    /// Mean size of queued packets, when there last were any.
    size: f64,
}

impl XcpbEfficiency {
    /// Returns the law before the first packet: blind.
    pub(crate) fn new(params: &XcpbParams) -> XcpbEfficiency {
        let unit = if params.unit == Unit::Bytes { PACKET } else { 1.0 };
        XcpbEfficiency {
            kappa: params.kappa * unit,
            credit: params.chi() * params.qmax as f64,
            queue: PersistentQueue::default(),
            before: 0.0,
            average: 0.0,
            empty: params.n,
            blind: true,
            size: PACKET,
            params: params.clone(),
        }
    }

    /// Returns the length of a queue in the unit.
    fn measure(&self, queue: Backlog) -> f64 {
        match self.params.unit {
            Unit::Packets => queue.packets as f64,
            Unit::Bytes => queue.bytes as f64,
        }
    }
}

impl EfficiencyController for XcpbEfficiency {
    fn see(&mut self, queue: Backlog) {
        self.queue.see(queue);
    }

    fn aggregate(&mut self, interval: &ControlInterval, _link: &LinkView<'_>) -> f64 {
        self.queue.close(interval.queue);
        let sampled = match self.params.sample {
            Sample::Minimum => self.queue.last(),
            Sample::Boundary => interval.queue,
        };
        if interval.queue.packets > 0 {
            self.size = interval.queue.bytes as f64 / interval.queue.packets as f64;
        }
        let bytes = if self.params.unit == Unit::Bytes { 1.0 } else { self.size };
        let queue = self.measure(sampled);
        let growth = queue - self.before;
        let dropped = if self.params.count_drops { interval.dropped as f64 } else { 0.0 };
        self.before = queue;
        self.average += WEIGHT * (queue - self.average);
        self.empty = if queue > 0.0 { 0 } else { self.empty.saturating_add(1) };
        self.blind = match self.params.detect {
            Detect::Average => self.average < self.params.tau() * self.kappa,
            Detect::Counter => self.empty >= self.params.n,
            Detect::Empty => queue == 0.0 && growth == 0.0,
        };
        let d = interval.rtt;
        if self.blind {
            return self.credit / d;
        }
        let (alpha, beta) = (self.params.alpha, self.params.beta);
        -(alpha * (growth * bytes + dropped) + beta * (queue - self.kappa) * bytes) / d
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("blind", f64::from(u8::from(self.blind)));
        see("persistent_queue", self.before);
        see("lambda", self.average);
    }
}

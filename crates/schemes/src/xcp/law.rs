//! The aggregate feedback of XCP: the link's spare capacity minus the capacity that drains its
//! queue.

use paceline_cc::{LinkView, Rate, Span, Time};

use super::XcpParams;
use super::backlog::{Backlog, PersistentQueue};
use super::router::{ControlInterval, EfficiencyController};

/// Minimum time for which a queue must persist to count (ns-2).
const SHORTEST: Span = Span::from_millis(2);

/// XCP's efficiency controller (paper §3.5.1, in ns-2's form): `alpha*(C - y) - beta*Q/d`.
///
/// `Q` is the shortest queue during the last half of an RTT without queueing delay.
#[derive(Clone, Debug)]
pub(crate) struct XcpEfficiency {
    alpha: f64,
    beta: f64,
    /// Capacity in bytes per second, as configured or as last measured.
    capacity: f64,
    configured: bool,
    queue: PersistentQueue,
    /// When the queue's interval ends.
    due: Time,
    rtt: f64,
}

impl XcpEfficiency {
    /// Returns the law before the first packet.
    pub(crate) fn new(params: &XcpParams) -> XcpEfficiency {
        XcpEfficiency {
            alpha: params.alpha,
            beta: params.beta,
            capacity: params.capacity.bytes_per_sec(),
            configured: params.capacity > Rate::ZERO,
            queue: PersistentQueue::default(),
            due: Time::from_millis(50),
            rtt: 0.05,
        }
    }
}

impl EfficiencyController for XcpEfficiency {
    fn watch(&mut self, now: Time, queue: Backlog) {
        if self.due > now {
            return;
        }
        let delay = match self.capacity {
            capacity if capacity > 0.0 => queue.bytes as f64 / capacity,
            _ => f64::INFINITY,
        };
        let span = Span::from_secs_f64(0.5 * (self.rtt - delay)).max(SHORTEST);
        self.queue.close(queue);
        self.due += span;
        if self.due <= now {
            // The queue has not changed since.
            self.queue.close(queue);
            let more = now.since(self.due).as_nanos() / span.as_nanos() + 1;
            self.due += span * more;
        }
    }

    fn see(&mut self, queue: Backlog) {
        self.queue.see(queue);
    }

    fn aggregate(&mut self, interval: &ControlInterval, link: &LinkView<'_>) -> f64 {
        self.rtt = interval.rtt;
        if !self.configured {
            let offered = link.capacity.offered(interval.from, interval.to);
            self.capacity = offered as f64 / interval.span().as_secs_f64();
        }
        let drain = self.queue.last().bytes as f64 / interval.rtt;
        self.alpha * (self.capacity - interval.traffic) - self.beta * drain
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("capacity_mbps", self.capacity * 8e-6);
        see("persistent_queue_kb", self.queue.last().bytes as f64 / 1e3);
    }
}

//! The network's half: control intervals, with any law for their aggregate feedback.

use paceline_cc::{LinkView, Packet, Router, Span, Time, xcp_feedback::header};

use super::allocator::FairnessController;
use super::backlog::Backlog;
use crate::parts::IdleCapacity;

/// The mean RTT in seconds before the first one is known, and while no traffic carries one (ns-2).
const INITIAL_RTT: f64 = 0.05;
/// The shortest control interval (ns-2).
const SHORTEST: Span = Span::from_millis(1);
/// Number of intervals without an event after which nothing changes from one to the next.
const SETTLED: u32 = 100;

/// The measurements of a control interval.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ControlInterval {
    /// When it began.
    pub(crate) from: Time,
    /// When it ended.
    pub(crate) to: Time,
    /// Arriving traffic in bytes per second.
    pub(crate) traffic: f64,
    /// Mean RTT in seconds; never 0.
    pub(crate) rtt: f64,
    /// The queue at the end.
    pub(crate) queue: Backlog,
    /// Bytes that the queue refused or dropped.
    pub(crate) dropped: u64,
}

impl ControlInterval {
    /// Returns its length.
    pub(crate) fn span(&self) -> Span {
        self.to.since(self.from)
    }
}

/// Computes by how much the flows of a link are to change their rate.
pub(crate) trait EfficiencyController: Send {
    /// Takes in the length that the queue has had since the last call, until `now`.
    fn watch(&mut self, _now: Time, _queue: Backlog) {}
    /// Takes in a length that the queue has had, for the persistent queue.
    fn see(&mut self, queue: Backlog);
    /// Returns the aggregate feedback in bytes per second, at the end of an interval.
    fn aggregate(&mut self, interval: &ControlInterval, link: &LinkView<'_>) -> f64;
    /// Calls `see` with names and values of inner state, for plots.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// The router's half of XCP, with any law for the aggregate feedback.
///
/// Its timers are evaluated when the next packet arrives or leaves, since nothing changes at a link
/// between its events. ns-2 starts its timers at random, so that routers are not synchronised; here
/// all start with the run, and different mean RTTs desynchronise them.
#[derive(Clone, Debug)]
pub(crate) struct XcpRouter<L> {
    law: L,
    allocator: FairnessController,
    idle: IdleCapacity,
    /// Beginning and end of the control interval.
    from: Time,
    due: Time,
    rtt: f64,
    /// Bytes that should wait unless the queue has dropped some.
    expected: u64,
    dropped: u64,
    aggregate: f64,
    /// True if packets that arrive over a shared medium get feedback, too.
    inputs: bool,
}

impl<L: EfficiencyController> XcpRouter<L> {
    /// Returns a router before its first packet; `gamma` is the share of the traffic that is
    /// redistributed.
    pub(crate) fn new(law: L, gamma: f64) -> XcpRouter<L> {
        XcpRouter {
            law,
            allocator: FairnessController::new(gamma),
            idle: IdleCapacity::default(),
            from: Time::ZERO,
            due: Time::ZERO + Span::from_secs_f64(INITIAL_RTT),
            rtt: INITIAL_RTT,
            expected: 0,
            dropped: 0,
            aggregate: 0.0,
            inputs: false,
        }
    }

    /// Returns this router for half-duplex media: with `inputs`, data that arrives over the medium
    /// counts and gets feedback, too.
    pub(crate) fn with_inputs(mut self, inputs: bool) -> XcpRouter<L> {
        self.inputs = inputs;
        self
    }

    /// Evaluates the timers that were due by `now`; until then, `queue` has waited.
    fn catch_up(&mut self, now: Time, queue: Backlog, link: &LinkView<'_>) {
        self.dropped += self.expected.saturating_sub(queue.bytes);
        let mut intervals = 0;
        while self.due <= now {
            if intervals == SETTLED {
                let span = self.due.since(self.from);
                let more = now.since(self.due).as_nanos() / span.as_nanos().max(1) + 1;
                self.due += span * more;
                self.from = self.due - span;
                break;
            }
            self.conclude(queue, link);
            intervals += 1;
        }
        self.law.watch(now, queue);
    }

    /// Ends a control interval.
    #[cold]
    fn conclude(&mut self, queue: Backlog, link: &LinkView<'_>) {
        self.law.watch(self.due, queue);
        self.rtt = self.allocator.rtt().unwrap_or(INITIAL_RTT).max(SHORTEST.as_secs_f64());
        let span = self.due.since(self.from);
        let interval = ControlInterval {
            from: self.from,
            to: self.due,
            traffic: self.allocator.input() / span.as_secs_f64(),
            rtt: self.rtt,
            queue,
            dropped: std::mem::take(&mut self.dropped),
        };
        self.aggregate = self.law.aggregate(&interval, link);
        self.allocator.share_out(self.aggregate, span);
        self.from = self.due;
        self.due += Span::from_secs_f64(self.rtt).max(SHORTEST);
    }
}

impl<L: EfficiencyController> Router for XcpRouter<L> {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        let queue = Backlog::of(link);
        self.catch_up(now, queue, link);
        if self.idle.was_idle(now, link) {
            self.law.see(Backlog::default());
        }
        self.allocator.count(packet.size, header(packet).as_deref());
        self.expected = queue.with(packet.size).bytes;
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, _: Span, link: &LinkView<'_>) {
        // Until now this packet waited, too.
        let queue = Backlog::of(link).with(packet.size);
        self.catch_up(now, queue, link);
        self.law.see(queue);
        self.idle.on_departure(now, packet.size);
        let size = packet.size;
        if let Some(header) = header(packet) {
            self.allocator.grant(size, header);
        }
        self.expected = link.queue_bytes;
    }

    fn on_input(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        let size = packet.size;
        // Acknowledgements have no header, and are not processed (XCP-b paper, §5).
        let Some(header) = header(packet).filter(|_| self.inputs) else { return };
        self.catch_up(now, Backlog::of(link), link);
        self.allocator.count(size, Some(header));
        self.allocator.grant(size, header);
    }

    fn on_unused(&mut self, _now: Time, _bytes: u32) {
        self.idle.set_link_tells();
        self.law.see(Backlog::default());
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rtt_ms", self.rtt * 1e3);
        see("aggregate_mbps", self.aggregate * 8e-6);
        self.law.inspect(see);
    }
}

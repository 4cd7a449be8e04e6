//! Transports that come whole: with their own sending, acknowledgements and loss recovery.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{Body, Packet, Span, Spec, Stage, Stream, Time};
use paceline_flow::Workload;

use crate::outcome::SenderCounters;

/// One end of a transport: takes packets in and gives packets out, as every
/// [`Stage`] does. Packets that it gives out have a size, an ECN field, and a
/// [`Body::Opaque`] with a handle of their bytes, which the two ends keep between them; the
/// simulator fills in flow, route and time.
pub trait TransportEnd: Stage + Send {
    /// Bytes of the application's data that have arrived at this end, each counted once.
    fn received(&self) -> u64;
    /// An RTT that this end has measured since the last call.
    fn take_rtt(&mut self) -> Option<Span> {
        None
    }
    /// What this end has sent and lost since the start.
    fn counters(&self) -> SenderCounters {
        SenderCounters::default()
    }
    /// Why this end has stopped to work, such as a program that ended. The run has no outcome then:
    /// [`Simulation::outcome`](crate::Simulation::outcome) gives an error with this text.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Names and values of inner state, for plots: windows in packets, rates in Mbit/s, times in
    /// milliseconds.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// What the ends of a transport are made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransportSetup {
    /// The largest packet, in bytes on the wire.
    pub mss: u32,
    /// What is sent from the first end to the second.
    pub workload: Workload,
    /// When sending starts and stops.
    pub start: Time,
    /// See `start`.
    pub stop: Time,
    /// When the run ends.
    pub end: Time,
    seed: u64,
    flow: u32,
}

impl TransportSetup {
    pub(crate) fn new(seed: u64, flow: u32) -> TransportSetup {
        TransportSetup {
            mss: 1500,
            workload: Workload::Bulk,
            start: Time::ZERO,
            stop: Time::NEVER,
            end: Time::NEVER,
            seed,
            flow,
        }
    }

    /// The stream of random numbers called `name` of this flow.
    pub fn random(&self, name: &str) -> Stream {
        Stream::new(self.seed, &format!("flow {} {name}", self.flow))
    }
}

/// The two ends of a transport: the one that sends data, and the one that receives them.
pub type TransportEnds = (Box<dyn TransportEnd>, Box<dyn TransportEnd>);

/// Makes the ends of a transport; says what is wrong if it cannot.
pub type MakeTransport =
    Arc<dyn Fn(&TransportSetup) -> Result<TransportEnds, String> + Send + Sync>;

/// A transport that comes whole, as the scheme of a flow.
#[derive(Clone)]
pub struct CustomTransport {
    label: String,
    make: MakeTransport,
    queue: Option<Spec>,
    /// Its label is a name that its family reads.
    has_name: bool,
}

impl CustomTransport {
    /// A transport that `make` makes, once for each flow and run.
    pub fn new(
        label: impl Into<String>,
        make: impl Fn(&TransportSetup) -> Result<TransportEnds, String> + Send + Sync + 'static,
    ) -> CustomTransport {
        CustomTransport { label: label.into(), make: Arc::new(make), queue: None, has_name: false }
    }

    /// The same transport, for which a link that leaves its queue to its flows takes `queue`.
    #[must_use]
    pub fn with_queue(mut self, queue: Option<Spec>) -> CustomTransport {
        self.queue = queue;
        self
    }

    /// The same transport, whose label is a name that its family reads.
    pub(crate) fn with_name(mut self) -> CustomTransport {
        self.has_name = true;
        self
    }

    /// Returns true if its label is a name that scenario files have.
    pub(crate) fn has_name(&self) -> bool {
        self.has_name
    }

    /// The queue that it wants at the bottleneck.
    pub fn queue(&self) -> Option<&Spec> {
        self.queue.as_ref()
    }

    /// What it is called in outcomes and errors.
    pub fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn make(&self, setup: &TransportSetup) -> Result<TransportEnds, String> {
        (self.make)(setup)
    }

    pub(crate) fn is(&self, other: &CustomTransport) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl fmt::Debug for CustomTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transport made elsewhere: {}", self.label)
    }
}

/// An end of a transport in a world.
pub(crate) struct TransportEndpoint {
    end: Box<dyn TransportEnd>,
    flow: u32,
    route: u32,
    /// True if the flow's data arrive here.
    receives: bool,
    /// Packets that this end has given out and taken in.
    pub(crate) sent: u64,
    pub(crate) taken: u64,
}

impl TransportEndpoint {
    pub(crate) fn new(
        end: Box<dyn TransportEnd>,
        flow: u32,
        route: u32,
        receives: bool,
    ) -> TransportEndpoint {
        TransportEndpoint { end, flow, route, receives, sent: 0, taken: 0 }
    }

    pub(crate) fn flow(&self) -> u32 {
        self.flow
    }
    pub(crate) fn route(&self) -> u32 {
        self.route
    }
    /// A packet that comes from outside the world, with the route that packets from here have.
    pub(crate) fn stamp(&mut self, packet: &Packet) -> Packet {
        self.sent += 1;
        Packet { route: self.route, ..*packet }
    }
    pub(crate) fn receives(&self) -> bool {
        self.receives
    }
    pub(crate) fn end(&self) -> &dyn TransportEnd {
        &*self.end
    }
    pub(crate) fn end_mut(&mut self) -> &mut dyn TransportEnd {
        &mut *self.end
    }

    pub(crate) fn push(&mut self, now: Time, packet: &Packet) {
        self.taken += 1;
        self.end.push(now, packet);
    }

    pub(crate) fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        *place = Packet::opaque(0);
        if !self.end.pop_into(now, place) {
            return false;
        }
        self.sent += 1;
        (place.flow, place.route, place.sent) = (self.flow, self.route, now);
        if !matches!(place.body, Body::Opaque(_)) {
            place.body = Body::Opaque(0);
        }
        true
    }

    pub(crate) fn wake(&self) -> Time {
        self.end.wake()
    }
}

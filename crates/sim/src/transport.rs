//! Complete transports: with their own sending, acknowledgements and loss recovery.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{Body, Packet, Span, Spec, Stage, Stream, Time};
use paceline_flow::{SenderStats, Workload};

/// One end of a transport. It takes and gives packets as every [`Stage`] does. Packets that it
/// gives have a size, an ECN field, and a [`Body::Opaque`] with a handle of their bytes, which the
/// two ends share; the simulator sets flow, route and time.
pub trait TransportEnd: Stage + Send {
    /// Returns the bytes of application data that have arrived at this end, each counted once.
    fn received(&self) -> u64;
    /// Takes an RTT that this end has measured since the last call.
    fn take_rtt(&mut self) -> Option<Span> {
        None
    }
    /// Returns the counters of this end since the start.
    fn counters(&self) -> SenderStats {
        SenderStats::default()
    }
    /// Returns why this end has stopped working, for example because a program ended. The run then
    /// has no outcome: [`Simulation::outcome`](crate::Simulation::outcome) returns an error with
    /// this text.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Passes names and values of internal state to `see`, for plots: windows in packets, rates in
    /// Mbit/s, times in milliseconds.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// What the ends of a transport are built from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransportSetup {
    /// Maximum packet size in bytes on the wire.
    pub mss: u32,
    /// The data sent from the first end to the second.
    pub workload: Workload,
    /// When sending starts.
    pub start: Time,
    /// When sending stops.
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

    /// Returns this flow's random stream called `name`.
    pub fn random(&self, name: &str) -> Stream {
        Stream::new(self.seed, &format!("flow {} {name}", self.flow))
    }
}

/// The two ends of a transport: the one that sends data, and the one that receives it.
pub type TransportEnds = (Box<dyn TransportEnd>, Box<dyn TransportEnd>);

/// Builds the ends of a transport, or returns an error in words.
pub type MakeTransport =
    Arc<dyn Fn(&TransportSetup) -> Result<TransportEnds, String> + Send + Sync>;

/// A complete transport, as the scheme of a flow.
#[derive(Clone)]
pub struct CustomTransport {
    label: String,
    make: MakeTransport,
    queue: Option<Spec>,
    /// True if its label is a name that its family can read.
    has_name: bool,
}

impl CustomTransport {
    /// Creates a transport whose ends `make` builds, once for each flow and run.
    pub fn new(
        label: impl Into<String>,
        make: impl Fn(&TransportSetup) -> Result<TransportEnds, String> + Send + Sync + 'static,
    ) -> CustomTransport {
        CustomTransport { label: label.into(), make: Arc::new(make), queue: None, has_name: false }
    }

    /// Sets the queue for links that leave their queue to their flows.
    #[must_use]
    pub fn with_queue(mut self, queue: Option<Spec>) -> CustomTransport {
        self.queue = queue;
        self
    }

    /// Marks its label as a name that its family can read.
    pub(crate) fn with_name(mut self) -> CustomTransport {
        self.has_name = true;
        self
    }

    /// Returns true if its label is a name that scenario files can have.
    pub(crate) fn has_name(&self) -> bool {
        self.has_name
    }

    /// Returns the queue that it prefers at the bottleneck.
    pub fn queue(&self) -> Option<&Spec> {
        self.queue.as_ref()
    }

    /// Returns its name in outcomes and errors.
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
    /// True if this end receives the flow's data.
    receives: bool,
    /// Packets that this end has given, and those that it has taken.
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
    /// Returns a packet from outside of the world with the route of packets from here.
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

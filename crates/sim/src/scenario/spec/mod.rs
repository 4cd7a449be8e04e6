//! Scenarios as values.

mod choices;
mod medium;
mod wifi;

pub use choices::{
    CustomQueue, CustomRouter, CustomScheme, MakeQueue, QueueChoice, RouterChoice, SchemeChoice,
};
pub use medium::{Direction, Layer, MediumSpec, PortSpec, StationPort, StationUse};
pub use wifi::{McsSpec, StationSpec, WifiSpec};

use std::sync::Arc;

use paceline_cc::{AckPolicy, EcnFeedback, Rate, Span};
pub use paceline_flow::{LossRecovery, RttSamples, Video, Workload};
use paceline_path::{BufferSize, Impairments};
use paceline_trace::Trace;

use crate::runs::Runs;

/// A whole experiment: links in a row or side by side, and flows over them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How long it runs.
    pub duration: Span,
    /// Measurements begin after this time.
    pub warmup: Span,
    /// The seed of all random streams.
    pub seed: u64,
    /// How many runs its results rest on. [`run`](crate::run()) makes the first of them;
    /// [`Run`](crate::runs::Run) has the others.
    pub runs: Runs,
    /// The largest packet, in bytes on the wire.
    pub mss: u32,
    /// The longest time that a host takes to react to an acknowledgement; the time is drawn for each.
    /// `None` takes what several flows need to be out of step: see `host.rs`; a single flow takes none.
    /// Zero lets flows begin and answer in lockstep.
    pub host_jitter: Option<Span>,
    /// The links, each of which any flow may use.
    pub links: Vec<LinkSpec>,
    /// Shared 802.11 media, to which flows pass at their stations.
    pub media: Vec<MediumSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Short flows that arrive at random.
    pub arrivals: Vec<Arrivals>,
    /// How much of the run is recorded.
    pub record: Record,
    /// Whether the run has a digest, by which equal runs are known. It costs a few instructions for
    /// each hand-over of a packet.
    pub digest: bool,
}

/// How much of a run is recorded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record {
    /// What senders, receivers and links count anyway: for benchmarks. The links' throughput, delays,
    /// drops and marks are then those of the whole run, warm-up included.
    Counters,
    /// For each flow sums of bytes, delays and time as well, and nothing that grows with the run; of
    /// links as with `Counters`: see [`FlowSums`](crate::FlowSums).
    Sums,
    /// Every packet's delays as well.
    Metrics,
    /// Delays, and time series in bins of this length.
    Series(Span),
}

impl Record {
    /// The bins of time series where no length is stated.
    pub const BIN: Span = Span::from_millis(100);

    /// True if single packets are looked at, at links too.
    pub(crate) fn is_detailed(self) -> bool {
        matches!(self, Record::Metrics | Record::Series(_))
    }
}

/// Bytes that each opportunity of Mahimahi's traces offers.
pub(super) const MAHIMAHI_OPPORTUNITY: u32 = 1504;
/// Bytes that each packet costs there beside its own: the header of the TUN device.
pub(super) const MAHIMAHI_OVERHEAD: u32 = 4;

/// The rate of a link over time.
#[derive(Clone, Debug)]
pub enum Capacity {
    /// Always the same.
    Constant(Rate),
    /// Steps: from each offset on, that rate; begins anew after `period`.
    Schedule {
        /// Offsets and rates, in order, the first at zero.
        steps: Vec<(Span, Rate)>,
        /// When the steps repeat.
        period: Option<Span>,
    },
    /// Delivery opportunities, as Mahimahi's.
    Trace {
        /// The opportunities.
        trace: Trace,
        /// Bytes that each offers.
        opportunity: u32,
        /// Bytes that each packet costs beside its own.
        overhead: u32,
        /// True if the trace begins anew at its end.
        repeat: bool,
    },
    /// What an 802.11n access point gets of its channel.
    Wifi(Box<WifiSpec>),
}

impl Capacity {
    /// A repeating trace with Mahimahi's sizes: 1504 bytes an opportunity, of which 4 are the
    /// header of the TUN device.
    pub fn trace(trace: Trace) -> Capacity {
        Capacity::Trace {
            trace,
            opportunity: MAHIMAHI_OPPORTUNITY,
            overhead: MAHIMAHI_OVERHEAD,
            repeat: true,
        }
    }
}

/// One link with its queue and router.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkSpec {
    /// The name by which flows call it.
    pub name: String,
    /// Its rate.
    pub capacity: Capacity,
    /// Its queue.
    pub queue: QueueChoice,
    /// The limit of its queue.
    pub buffer: BufferSize,
    /// The RTT that bandwidth-delay products of `buffer` are computed with; `None` takes that of
    /// the link's flows, which must agree.
    pub rtt: Option<Span>,
    /// Its router.
    pub router: RouterChoice,
    /// Propagation delay and damage behind it.
    pub after: Stretch,
}

/// Delay and damage on a stretch of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// The fixed delay.
    pub delay: Span,
    /// Jitter, loss, reordering, duplication.
    pub impairments: Impairments,
}

/// One flow, or several alike.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowSpec {
    /// Its name; several alike are numbered.
    pub name: String,
    /// Its scheme.
    pub scheme: SchemeChoice,
    /// How many flows alike.
    pub count: u32,
    /// The links that its data takes, in order.
    pub path: Vec<String>,
    /// The links that its acknowledgements take, in order.
    pub back: Vec<String>,
    /// The station of a shared medium that it goes to or comes from. The medium comes behind the
    /// links of `path` on the way down, and before them on the way up.
    pub station: Option<StationUse>,
    /// The round-trip propagation delay, half of it each way, beside what links add.
    pub rtt: Span,
    /// Damage to its data on the way.
    pub data: Stretch,
    /// Damage to its acknowledgements on the way.
    pub acks: Stretch,
    /// When it starts.
    pub start: Span,
    /// When it stops.
    pub stop: Option<Span>,
    /// How much later each further one of several starts.
    pub stagger: Span,
    /// How much earlier each further one of several stops.
    pub stagger_stop: Span,
    /// What it sends.
    pub workload: Workload,
    /// True if its connections begin with a handshake, as TCP's do; without effect on schemes that send
    /// nothing again and on transports that come whole.
    pub handshake: bool,
    /// When its receiver acknowledges; `None` takes what its scheme prefers.
    pub ack: Option<AckPolicy>,
    /// The most bytes beyond the last in-order one that its ends hold; `None` for no limit.
    pub receive_window: Option<u64>,
    /// How congestion marks come back.
    pub ecn: EcnFeedback,
    /// How its sender finds out about losses and repairs them. Without selective acknowledgements its
    /// timer is RFC 6298's with a least timeout of 200 ms.
    pub recovery: LossRecovery,
}

/// Flows of a given size that arrive as a Poisson process.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// What each of them is like; its workload and start are replaced.
    pub flow: FlowSpec,
    /// Arrivals per second.
    pub per_second: f64,
    /// The size of each, in bytes.
    pub bytes: paceline_flow::Amount,
}

impl Scenario {
    /// The same with a change: `scenario.with(|scenario| scenario.seed = 8)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Scenario)) -> Scenario {
        change(&mut self);
        self
    }

    /// A scenario of one minute without links and flows.
    pub fn new(name: &str) -> Scenario {
        Scenario {
            name: name.to_string(),
            duration: Span::from_secs(60),
            warmup: Span::ZERO,
            seed: 1,
            runs: Runs::default(),
            mss: 1500,
            host_jitter: None,
            links: Vec::new(),
            media: Vec::new(),
            flows: Vec::new(),
            arrivals: Vec::new(),
            record: Record::Metrics,
            digest: true,
        }
    }
}

/// A copy, to be shared by several runs.
impl From<&Scenario> for Arc<Scenario> {
    fn from(scenario: &Scenario) -> Arc<Scenario> {
        Arc::new(scenario.clone())
    }
}

impl LinkSpec {
    /// The same with a change: `link.with(|link| link.queue = QueueChoice::droptail())`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut LinkSpec)) -> LinkSpec {
        change(&mut self);
        self
    }

    /// A droptail link with a buffer of 250 packets.
    pub fn new(name: &str, capacity: Capacity) -> LinkSpec {
        LinkSpec {
            name: name.to_string(),
            capacity,
            queue: QueueChoice::Auto,
            buffer: BufferSize::Packets(250),
            rtt: None,
            router: RouterChoice::Auto,
            after: Stretch::default(),
        }
    }
}

impl FlowSpec {
    /// The same with a change: `flow.with(|flow| flow.count = 8)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut FlowSpec)) -> FlowSpec {
        change(&mut self);
        self
    }

    /// The round-trip delay of flows that state none.
    pub const RTT: Span = Span::from_millis(100);

    /// A bulk flow over the given links, with a round-trip delay of [`FlowSpec::RTT`].
    pub fn bulk(scheme: impl Into<SchemeChoice>, path: &[&str]) -> FlowSpec {
        let scheme = scheme.into();
        FlowSpec {
            name: scheme.name().to_string(),
            scheme,
            count: 1,
            path: path.iter().map(|name| name.to_string()).collect(),
            back: Vec::new(),
            station: None,
            rtt: FlowSpec::RTT,
            data: Stretch::default(),
            acks: Stretch::default(),
            start: Span::ZERO,
            stop: None,
            stagger: Span::ZERO,
            stagger_stop: Span::ZERO,
            workload: Workload::Bulk,
            handshake: true,
            ack: None,
            receive_window: None,
            ecn: EcnFeedback::Accurate,
            recovery: LossRecovery::Sack,
        }
    }
}

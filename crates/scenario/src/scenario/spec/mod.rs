//! Scenarios as values.

mod channel;
mod choices;
mod medium;
mod programs;
mod wifi;

pub use channel::ChannelSpec;
pub use choices::{
    CustomQueue, CustomRouter, CustomScheme, MakeQueue, QueueChoice, RouterChoice, SchemeChoice,
};
pub use medium::{Direction, Layer, MediumSpec, PortSpec, StationPort, StationUse};
pub use programs::{Listens, Programs};
pub use wifi::{McsSpec, StationSpec, WifiSpec};

use std::sync::Arc;

use paceline_cc::{AckPolicy, EcnFeedback, Rate, Span};
pub use paceline_flow::{Audio, LossRecovery, RttSamples, Video, Workload};
use paceline_path::{BufferSize, Impairments, MAHIMAHI_OPPORTUNITY};
use paceline_trace::Trace;

use crate::capture::Capture;
use crate::connection_log::ConnectionLog;
use crate::runs::Runs;
use crate::tcp_probe::TcpProbe;

/// A whole experiment: links in a row or side by side, and flows over them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Simulated duration.
    pub duration: Span,
    /// Time at the beginning that is not measured.
    pub warmup: Span,
    /// Seed of all random streams.
    pub seed: u64,
    /// Number and spread of the runs. `paceline_sim::run` makes the first of them;
    /// [`Run`](crate::runs::Run) has the others.
    pub runs: Runs,
    /// True if the scenario's file states the number of runs. Otherwise a command may make another
    /// number of runs than `runs.count`, which is then 1.
    pub states_runs: bool,
    /// Maximum packet size in bytes on the wire.
    pub mss: u32,
    /// Maximum processing time of a host per acknowledgement; each time is drawn at random. `None`
    /// takes what several flows need to be out of step (see `host.rs`), and zero for a single flow.
    /// Zero lets flows begin and answer in lockstep.
    pub host_jitter: Option<Span>,
    /// The links. Any flow may use each of them.
    pub links: Vec<LinkSpec>,
    /// Shared 802.11 media, which flows use through stations.
    pub media: Vec<MediumSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Short flows that arrive at random.
    pub arrivals: Vec<Arrivals>,
    /// How much of the run is recorded.
    pub record: Record,
    /// True if the run has a digest, by which equal runs are recognized. It costs a few
    /// instructions per hand-over of a packet.
    pub digest: bool,
    /// Receives the packets of flows whose transports have bytes, such as those of Linux hosts.
    pub capture: Option<Capture>,
    /// Receives what the ends of flows do whose transports keep a log, such as QUIC stacks.
    pub log: Option<ConnectionLog>,
    /// Receives the events of the TCP sockets of Linux hosts.
    pub probe: Option<TcpProbe>,
}

/// How much of a run is recorded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record {
    /// Only counters that senders, receivers and links have anyway, for benchmarks. The links'
    /// throughput, delays, drops and marks are then those of the whole run, including the warm-up.
    Counters,
    /// Also sums of bytes, delays and time per flow, and nothing that grows with the run; links as
    /// with `Counters`: see `paceline_sim::FlowSums`.
    Sums,
    /// Also every packet's delays.
    Metrics,
    /// Also time series, in bins of this length.
    Series(Span),
}

impl Record {
    /// Default length of the time series' bins.
    pub const BIN: Span = Span::from_millis(100);

    /// Returns true if single packets are recorded, also at links.
    pub fn is_detailed(self) -> bool {
        matches!(self, Record::Metrics | Record::Series(_))
    }
}

/// Bytes that each packet needs there in addition to its own: the header of the TUN device.
pub(super) const MAHIMAHI_OVERHEAD: u32 = 4;

/// The rate of a link over time.
#[derive(Clone, Debug)]
pub enum Capacity {
    /// A constant rate.
    Constant(Rate),
    /// Steps: a rate from each offset on, repeated after `period`.
    Schedule {
        /// Offsets and rates, in order, the first at zero.
        steps: Vec<(Span, Rate)>,
        /// Time after which the steps repeat.
        period: Option<Span>,
    },
    /// Delivery opportunities, as in Mahimahi.
    Trace {
        /// The opportunities.
        trace: Trace,
        /// Bytes per opportunity.
        opportunity: u32,
        /// Bytes that each packet needs in addition to its own.
        overhead: u32,
        /// True if the trace repeats.
        repeat: bool,
    },
    /// The capacity of an 802.11n access point.
    Wifi(Box<WifiSpec>),
}

impl Capacity {
    /// Creates a repeating trace with Mahimahi's sizes: 1504 bytes per opportunity, of which 4 are
    /// the header of the TUN device.
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
    /// Name by which flows refer to it.
    pub name: String,
    /// Its rate.
    pub capacity: Capacity,
    /// Its queue.
    pub queue: QueueChoice,
    /// The limit of its queue.
    pub buffer: BufferSize,
    /// RTT for bandwidth-delay products in `buffer`; `None` takes that of the link's flows, which
    /// must be equal.
    pub rtt: Option<Span>,
    /// Its router.
    pub router: RouterChoice,
    /// Propagation delay and impairments after it.
    pub after: Stretch,
}

/// Delay and impairments of a part of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// The fixed delay.
    pub delay: Span,
    /// Jitter, loss, reordering, duplication.
    pub impairments: Impairments,
}

/// A flow, or several equal ones.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowSpec {
    /// Its name; several equal flows are numbered.
    pub name: String,
    /// Its scheme.
    pub scheme: SchemeChoice,
    /// Number of equal flows.
    pub count: u32,
    /// The links that its data passes, in order.
    pub path: Vec<String>,
    /// The links that its acknowledgements pass, in order.
    pub back: Vec<String>,
    /// The station of a shared medium that it uses. The medium comes after the links of `path` on
    /// the way down, and before them on the way up.
    pub station: Option<StationUse>,
    /// Round-trip propagation delay, half of it each way, in addition to that of links.
    pub rtt: Span,
    /// Delay and impairments of its data's path.
    pub data: Stretch,
    /// Delay and impairments of its acknowledgements' path.
    pub acks: Stretch,
    /// Start time.
    pub start: Span,
    /// Stop time; `None` for the end of the run.
    pub stop: Option<Span>,
    /// How much later each further flow starts than the one before.
    pub stagger: Span,
    /// How much earlier each further flow stops than the one before.
    pub stagger_stop: Span,
    /// The data that it sends.
    pub workload: Workload,
    /// Programs that run at its hosts; only for transports that run programs.
    pub programs: Option<Programs>,
    /// True if its connections begin with a handshake, as TCP's do. Ignored for schemes that
    /// retransmit nothing and for complete transports.
    pub handshake: bool,
    /// When its receiver acknowledges; `None` for the scheme's preference.
    pub ack: Option<AckPolicy>,
    /// Maximum number of bytes beyond the last in-order one that its ends buffer; `None` for no
    /// limit.
    pub receive_window: Option<u64>,
    /// How its receiver reports congestion marks.
    pub ecn: EcnFeedback,
    /// How its sender detects and repairs losses. Without selective acknowledgements its timer is
    /// that of RFC 6298, with a minimum timeout of 200 ms.
    pub recovery: LossRecovery,
    /// True if a pause of a retransmission timeout or more reduces its window (RFC 2861).
    pub slow_start_after_idle: bool,
}

/// Flows of a given size that arrive as a Poisson process.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Specification of each of them; its workload and start are replaced.
    pub flow: FlowSpec,
    /// Arrivals per second.
    pub per_second: f64,
    /// Size of each, in bytes.
    pub bytes: paceline_flow::Amount,
}

impl Scenario {
    /// Returns the scenario with a change: `scenario.with(|scenario| scenario.seed = 8)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Scenario)) -> Scenario {
        change(&mut self);
        self
    }

    /// Creates a scenario of one minute without links and flows.
    pub fn new(name: &str) -> Scenario {
        Scenario {
            name: name.to_string(),
            duration: Span::from_secs(60),
            warmup: Span::ZERO,
            seed: 1,
            runs: Runs::default(),
            states_runs: false,
            mss: 1500,
            host_jitter: None,
            links: Vec::new(),
            media: Vec::new(),
            flows: Vec::new(),
            arrivals: Vec::new(),
            record: Record::Metrics,
            digest: true,
            capture: None,
            log: None,
            probe: None,
        }
    }
}

/// Copies the scenario, to be shared by several runs.
impl From<&Scenario> for Arc<Scenario> {
    fn from(scenario: &Scenario) -> Arc<Scenario> {
        Arc::new(scenario.clone())
    }
}

impl LinkSpec {
    /// Returns the link with a change: `link.with(|link| link.queue = QueueChoice::droptail())`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut LinkSpec)) -> LinkSpec {
        change(&mut self);
        self
    }

    /// Creates a droptail link with a buffer of 250 packets.
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
    /// Returns the flow with a change: `flow.with(|flow| flow.count = 8)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut FlowSpec)) -> FlowSpec {
        change(&mut self);
        self
    }

    /// Default round-trip delay of flows.
    pub const RTT: Span = Span::from_millis(100);

    /// Creates a bulk flow over the given links, with a round-trip delay of [`FlowSpec::RTT`].
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
            programs: None,
            handshake: true,
            ack: None,
            receive_window: None,
            ecn: EcnFeedback::Accurate,
            recovery: LossRecovery::Sack,
            slow_start_after_idle: true,
        }
    }
}

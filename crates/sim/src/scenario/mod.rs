//! Scenarios: links, flows and how long; as Rust values or as TOML files.

mod error;
mod file;
mod limits;
mod link;
mod read;
mod reader;
mod video;
mod wifi;
mod write;

pub use error::ScenarioError;
pub use file::{load, parse};
pub use read::check_scheme;
pub use wifi::{McsSpec, StationSpec, WifiSpec};
pub use write::to_toml;

use paceline_cc::{AckPolicy, EcnFeedback, Rate, SchemeSpec, Span, Spec};
pub use paceline_flow::{Video, Workload};
use paceline_path::{BufferSize, Impairments};
use paceline_trace::Trace;

/// A whole experiment: links in a row or side by side, and flows over them.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How long it runs.
    pub duration: Span,
    /// Measurements begin after this time.
    pub warmup: Span,
    /// The seed of all random streams.
    pub seed: u64,
    /// The largest packet, in bytes on the wire.
    pub mss: u32,
    /// The links, each of which any flow may use.
    pub links: Vec<LinkSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Short flows that arrive at random.
    pub arrivals: Vec<Arrivals>,
    /// Which times of the run are recorded and how: see [`Record`].
    pub record: Record,
}

/// How much of a run is recorded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Counters and the digest only: for benchmarks.
    Counters,
    /// Every packet's delays as well.
    Metrics,
    /// Delays, and time series in bins of this length.
    Series(Span),
}

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
        Capacity::Trace { trace, opportunity: 1504, overhead: 4, repeat: true }
    }
}

/// The network's half of a scheme at a link.
#[derive(Clone, Debug, PartialEq)]
pub enum RouterChoice {
    /// That of the first flow over the link in whose scheme there is one.
    Auto,
    /// None.
    None,
    /// That of this scheme.
    Scheme(Spec),
}

/// One link with its queue and router.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// The name by which flows call it.
    pub name: String,
    /// Its rate.
    pub capacity: Capacity,
    /// Its queue; `None` takes the one that the first flow's scheme names, or droptail.
    pub queue: Option<Spec>,
    /// The limit of its queue.
    pub buffer: BufferSize,
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
pub struct FlowSpec {
    /// Its name; several alike are numbered.
    pub name: String,
    /// Its scheme.
    pub scheme: SchemeSpec,
    /// How many flows alike.
    pub count: u32,
    /// The links that its data takes, in order.
    pub path: Vec<String>,
    /// The links that its acknowledgements take, in order.
    pub back: Vec<String>,
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
    /// When its receiver acknowledges; `None` takes what its scheme prefers.
    pub ack: Option<AckPolicy>,
    /// The most bytes beyond the last in-order one that its ends hold; `None` for no limit.
    pub receive_window: Option<u64>,
    /// How congestion marks come back.
    pub ecn: EcnFeedback,
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
    /// A scenario of one minute without links and flows.
    pub fn new(name: &str) -> Scenario {
        Scenario {
            name: name.to_string(),
            duration: Span::from_secs(60),
            warmup: Span::ZERO,
            seed: 1,
            mss: 1500,
            links: Vec::new(),
            flows: Vec::new(),
            arrivals: Vec::new(),
            record: Record::Metrics,
        }
    }
}

impl LinkSpec {
    /// A droptail link with a buffer of 250 packets.
    pub fn new(name: &str, capacity: Capacity) -> LinkSpec {
        LinkSpec {
            name: name.to_string(),
            capacity,
            queue: None,
            buffer: BufferSize::Packets(250),
            router: RouterChoice::Auto,
            after: Stretch::default(),
        }
    }
}

impl FlowSpec {
    /// A bulk flow over the given links, 100 ms of round-trip delay.
    pub fn bulk(scheme: SchemeSpec, path: &[&str]) -> FlowSpec {
        FlowSpec {
            name: scheme.sender.name.clone(),
            scheme,
            count: 1,
            path: path.iter().map(|name| name.to_string()).collect(),
            back: Vec::new(),
            rtt: Span::from_millis(100),
            data: Stretch::default(),
            acks: Stretch::default(),
            start: Span::ZERO,
            stop: None,
            stagger: Span::ZERO,
            stagger_stop: Span::ZERO,
            workload: Workload::Bulk,
            ack: None,
            receive_window: None,
            ecn: EcnFeedback::Accurate,
        }
    }
}

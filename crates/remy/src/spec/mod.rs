//! Specifications: the networks and the objective for which a table is trained or scored, in a
//! file.
//!
//! ```toml
//! duration = "100s"
//!
//! [networks]
//! link = { from = "10Mbps", to = "20Mbps", steps = 3 }
//! rtt = { from = "100ms", to = "200ms", steps = 3, scale = "logarithmic" }
//! senders = { from = 1, to = 16, scale = "random" }
//! on = "5s"
//! off = "5s"
//! buffer = "inf"
//! loss = 0.0
//! draws = 4
//!
//! [objective]
//! alpha = 1.0
//! delta = 1.0
//! ```
//!
//! The networks are all combinations of the steps. Each combination is taken `draws` times, and its
//! random values are drawn each time. Instead of `link` there may be traces, and more:
//!
//! ```toml
//! [networks]
//! traces = ["lte-driving", "recorded.down"]  # instead of link; files are looked for beside this one
//! second_link = "20Mbps"                     # behind the first: a parking lot of three groups
//! on_bytes = "100kB"                         # instead of on: the mean size of a flow
//! on_icsi = "16kB"                           # instead of on: ICSI's flow lengths plus this
//! router = "abc"                             # of each link; or "none", or "auto": the senders' scheme
//! others = { scheme = "newreno", senders = { from = 0, to = 1, steps = 2 } }  # some of the senders
//!
//! [objective]
//! others_delta = 10.0                        # the others count, too, with a delta of their own
//! delay = "p95"                              # not the mean
//! repeats = 1.0                              # less log2(1 + packets sent in vain per packet)
//! worst = 0.25                               # the mean of the worst quarter of the networks
//! ```
//!
//! Instead of a scheme, `others` may have `file`, a table beside this file, or `trained = true`: a
//! second table that is trained in turn with the first. The objective may also be `metric =
//! "completion_time"`: how long flows of a given size take.

mod buffers;
mod length;
mod networks;
mod objective;
mod others;
mod parse;
mod quantity;
mod ranges;
mod traces;
mod words;

use std::path::Path;

use paceline_cc::{Span, Spec};
use paceline_path::BufferSize;
use paceline_schemes::remy::RemyParams;
use paceline_sim::scenario::RouterChoice;
use thiserror::Error;

pub use buffers::{BufferUnit, Buffers};
pub use length::RunLength;
pub use networks::{Origin, Specimen};
pub use objective::{Metric, Objective};
pub use others::OthersRange;
pub use paceline_remy_runs::DelayMeasure;
pub use ranges::{Range, Scale};
pub use traces::Traces;

/// Maximum size of a specification file in bytes.
const LARGEST: u64 = 1 << 20;

/// Why a specification is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SpecificationError {
    /// It is not TOML, lacks a key or has an unknown one.
    #[error("{0}")]
    Syntax(String),
    /// A value is invalid.
    #[error("{}{key}: {problem}", .line.map_or_else(String::new, |line| format!("line {line}: ")))]
    Value {
        /// The key.
        key: &'static str,
        /// The error.
        problem: String,
        /// Line of the key in the file, counted from 1, if it is there.
        line: Option<usize>,
    },
    /// Its file cannot be read.
    #[error("cannot be read: {0}")]
    File(String),
}

impl SpecificationError {
    /// Creates an error about the value of `key`.
    pub(crate) fn value(key: &'static str, problem: impl Into<String>) -> SpecificationError {
        SpecificationError::Value { key, problem: problem.into(), line: None }
    }

    /// Adds the line of `text` that has the key, or its table if the key is missing.
    pub(crate) fn in_text(mut self, text: &str) -> SpecificationError {
        if let SpecificationError::Value { key, line, .. } = &mut self {
            *line = line_of(text, key);
        }
        self
    }
}

/// Returns the line of a key such as `networks.others.scheme`, counted from 1; if the key has no
/// line, that of the nearest enclosing key.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let mut section = String::new();
    let mut best: Option<(usize, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let name = if let Some(head) = line.strip_prefix('[') {
            section = head.split(']').next().unwrap_or_default().trim().to_string();
            section.clone()
        } else {
            let Some((name, _)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let name = name.trim();
            if section.is_empty() { name.to_string() } else { format!("{section}.{name}") }
        };
        let around = key.strip_prefix(name.as_str());
        let fits = around.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if fits && best.is_none_or(|(length, _)| name.len() > length) {
            best = Some((name.len(), at + 1));
        }
    }
    best.map(|(_, line)| line)
}

/// The networks and the objective for which a table is trained or scored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Specification {
    /// The link's rate in Mbit/s; with traces, their indices.
    pub link_mbps: Range,
    /// Traces, if they are the links.
    pub traces: Traces,
    /// True if each network starts at a random position of its trace.
    pub random_trace_start: bool,
    /// The rate in Mbit/s of a second link behind the first, if there is one: see
    /// [`crate::Network::second`].
    pub second_mbps: Option<Range>,
    /// The RTT in milliseconds.
    pub rtt_ms: Range,
    /// [`crate::Network::jitter`] in milliseconds.
    pub jitter_ms: Range,
    /// Packets per acknowledgement, rounded to integers.
    pub acked_packets: Range,
    /// [`crate::Network::ack_slot`] in milliseconds.
    pub ack_slot_ms: Range,
    /// Resolution of the senders' clocks, if the file has it: see [`Specification::resolution`].
    pub resolution: Option<Span>,
    /// Number of senders.
    pub senders: Range,
    /// Senders of another scheme, if there are any.
    pub others: Option<OthersRange>,
    /// [`crate::Network::starts`] in milliseconds.
    pub starts_ms: Range,
    /// Mean duration of on-periods in seconds, or in the unit `on_unit`.
    pub on_s: Range,
    /// Unit of `on_s`.
    pub on_unit: OnUnit,
    /// Mean duration of off-periods in seconds.
    pub off_s: Range,
    /// Queues, each of which is the link's in some networks; empty for the queue that the senders'
    /// scheme names, otherwise droptail.
    pub queues: Vec<Spec>,
    /// Indices of `queues`.
    pub queue: Range,
    /// Buffer sizes.
    pub buffer: Buffers,
    /// Share of packets that are lost after the link.
    pub loss: Range,
    /// The router of each link; by default the one that the senders' scheme has, if any.
    pub router: RouterChoice,
    /// How often each combination is taken.
    pub draws: u32,
    /// Duration of each network's simulation.
    pub duration: RunLength,
    /// How senders are scored.
    pub objective: Objective,
}

/// Unit of an on-period's length.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum OnUnit {
    /// Seconds, exponentially distributed.
    #[default]
    Seconds,
    /// Bytes, exponentially distributed.
    Bytes,
    /// Bytes added to ICSI's flow lengths: [`paceline_flow::Amount::Icsi`].
    Icsi,
}

impl Specification {
    /// Returns the thesis' general-purpose networks: 36 of 10 to 20 Mbit/s, 100 to 200 ms and 1 to
    /// 16 senders, on and off for 5 s on average, with unlimited buffers, for 100 s.
    pub fn general_purpose() -> Specification {
        let range = Range::steps;
        Specification {
            link_mbps: range(10.0, 20.0, 3),
            traces: Traces::default(),
            random_trace_start: false,
            jitter_ms: Range::one(0.0),
            acked_packets: Range::one(1.0),
            ack_slot_ms: Range::one(0.0),
            resolution: None,
            starts_ms: Range::one(0.0),
            queues: Vec::new(),
            queue: Range::one(0.0),
            second_mbps: None,
            others: None,
            on_unit: OnUnit::Seconds,
            rtt_ms: range(100.0, 200.0, 3),
            senders: range(1.0, 16.0, 4),
            on_s: Range::one(5.0),
            off_s: Range::one(5.0),
            buffer: BufferSize::Unlimited.into(),
            loss: Range::one(0.0),
            router: RouterChoice::Auto,
            draws: 1,
            duration: Span::from_secs(100).into(),
            objective: Objective::default(),
        }
    }

    /// Returns true if a second table is trained in turn with the first.
    pub fn trains_two(&self) -> bool {
        self.others.as_ref().is_some_and(|others| others.schemes.is_empty())
    }

    /// Returns true if senders retransmit lost packets, which those of the published program do
    /// not: without it, flows of a given size would not finish.
    pub fn repairs(&self) -> bool {
        self.objective.metric == Metric::CompletionTime
    }

    /// Returns true if acknowledgements do not come exactly when packets leave the link: with
    /// jitter, delayed or aggregated acknowledgements in some network.
    pub fn disturbs_acks(&self) -> bool {
        self.jitter_ms.to > 0.0 || self.ack_slot_ms.to > 0.0 || self.acked_packets.to > 1.0
    }

    /// Returns the resolution of the senders' clocks: RTTs that exceed the minimum by at most this
    /// much count as the minimum. It is the file's value; otherwise 1 ms if
    /// [`Specification::disturbs_acks`], as in the kernel's program; otherwise 0, which leaves it to
    /// the table.
    pub fn resolution(&self) -> Span {
        match self.resolution {
            Some(resolution) => resolution,
            None if self.disturbs_acks() => Span::from_millis(1),
            None => Span::ZERO,
        }
    }

    /// Returns true if some value of the networks is drawn, so that other seeds give other
    /// networks.
    pub fn is_random(&self) -> bool {
        self.ranges().iter().any(|range| range.scale.is_random())
            || !self.traces.models.is_empty()
            || self.random_trace_start
            || self.others.as_ref().is_some_and(|others| others.share < 1.0)
    }

    /// Returns the parameters of senders that follow a table on these networks.
    pub fn params(&self) -> RemyParams {
        let (as_published, resolution) = (!self.repairs(), self.resolution());
        RemyParams { as_published, resolution, ..RemyParams::default() }
    }

    /// Reads a specification.
    ///
    /// # Errors
    /// The text is not a valid specification.
    pub fn parse(text: &str) -> Result<Specification, SpecificationError> {
        Specification::parse_in(text, None)
    }

    /// Reads a specification whose trace files are relative to `folder`.
    ///
    /// # Errors
    /// The text is not a valid specification, or a trace cannot be read.
    pub fn parse_in(
        text: &str,
        folder: Option<&Path>,
    ) -> Result<Specification, SpecificationError> {
        parse::read(text, folder)
    }

    /// Reads a specification from a file, with trace files relative to its folder.
    ///
    /// # Errors
    /// The file cannot be read or is not a valid specification.
    pub fn load(file: &Path) -> Result<Specification, SpecificationError> {
        let fail = |problem: String| SpecificationError::File(problem);
        let length = std::fs::metadata(file).map_err(|error| fail(error.to_string()))?.len();
        if length > LARGEST {
            return Err(fail(format!(
                "it has {length} bytes; specifications have {LARGEST} at most"
            )));
        }
        let text = std::fs::read_to_string(file).map_err(|error| fail(error.to_string()))?;
        Specification::parse_in(&text, file.parent())
    }
}

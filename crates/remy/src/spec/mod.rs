//! What a table is to be good at: networks and an objective, written in a file.
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
//! The networks are all combinations of the steps; each combination is taken `draws` times, with
//! its random values drawn anew. Instead of `link` there may be traces, and more:
//!
//! ```toml
//! [networks]
//! traces = ["lte-driving", "recorded.down"]  # instead of link; files are looked for beside this one
//! second_link = "20Mbps"                     # behind the first: a parking lot of three groups
//! on_bytes = "100kB"                         # instead of on: so many bytes in the mean
//! on_icsi = "16kB"                           # instead of on: ICSI's flow lengths, and so much more
//! router = "abc"                             # of each link; or "none", or "auto": the senders' scheme
//! others = { scheme = "newreno", senders = { from = 0, to = 1, steps = 2 } }  # some of the senders
//! ```

mod networks;
mod objective;
mod parse;
mod quantity;
mod ranges;

use std::path::Path;

use paceline_cc::{SchemeSpec, Span};
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::RouterChoice;
use paceline_sim::trace::Trace;
use thiserror::Error;

pub use networks::Specimen;
pub use objective::Objective;
pub use ranges::{Range, Scale};

/// The most bytes of a specification in a file.
const LARGEST: u64 = 1 << 20;

/// Why a specification makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SpecificationError {
    /// It is not TOML, lacks a key or has one that there is not.
    #[error("{0}")]
    Syntax(String),
    /// A value does not fit.
    #[error("{key}: {problem}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// Its file cannot be read.
    #[error("cannot be read: {0}")]
    File(String),
}

/// What a table is to be good at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Specification {
    /// The link's rate in Mbit/s, unless there are traces.
    pub link_mbps: Range,
    /// Traces, each of which is the link of some networks.
    pub traces: Vec<Trace>,
    /// The rate in Mbit/s of a second link behind the first, if there is one: see
    /// [`Network::second`].
    pub second_mbps: Option<Range>,
    /// The RTT in milliseconds.
    pub rtt_ms: Range,
    /// How many senders.
    pub senders: Range,
    /// Senders of another scheme, if there are any.
    pub others: Option<OthersRange>,
    /// How long senders are on in the mean: in seconds, unless `on_unit` says otherwise.
    pub on_s: Range,
    /// What `on_s` counts.
    pub on_unit: OnUnit,
    /// How long senders are off in the mean, in seconds.
    pub off_s: Range,
    /// The buffer.
    pub buffer: BufferSize,
    /// The share of packets that get lost behind the link.
    pub loss: Range,
    /// The router of each link; by default the one that the senders' scheme brings, if it does.
    pub router: RouterChoice,
    /// How often each combination is taken.
    pub draws: u32,
    /// How long each network is simulated.
    pub duration: Span,
    /// What counts.
    pub objective: Objective,
}

/// What the length of an on-period counts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum OnUnit {
    /// Seconds, exponentially distributed.
    #[default]
    Seconds,
    /// Bytes, exponentially distributed.
    Bytes,
    /// Bytes that are added to the flow lengths of ICSI: [`Amount::Icsi`].
    Icsi,
}

/// Senders of another scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct OthersRange {
    /// Their scheme.
    pub scheme: SchemeSpec,
    /// How many of the senders have it. Where that would be all senders, one is left that has not.
    pub senders: Range,
}

impl Specification {
    /// The thesis' general-purpose networks: 36 of 10 to 20 Mbit/s, 100 to 200 ms and 1 to 16
    /// senders, on and off for 5 s in the mean, with unlimited buffers, for 100 s.
    pub fn general_purpose() -> Specification {
        let range = |from, to, steps| Range { from, to, steps, scale: Scale::Linear };
        Specification {
            link_mbps: range(10.0, 20.0, 3),
            traces: Vec::new(),
            second_mbps: None,
            others: None,
            on_unit: OnUnit::Seconds,
            rtt_ms: range(100.0, 200.0, 3),
            senders: range(1.0, 16.0, 4),
            on_s: Range::one(5.0),
            off_s: Range::one(5.0),
            buffer: BufferSize::Unlimited,
            loss: Range::one(0.0),
            router: RouterChoice::Auto,
            draws: 1,
            duration: Span::from_secs(100),
            objective: Objective::default(),
        }
    }

    /// Reads a specification.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Specification, SpecificationError> {
        Specification::parse_in(text, None)
    }

    /// The same; traces in files are looked for in `folder`.
    ///
    /// # Errors
    /// If it is none, or a trace cannot be read.
    pub fn parse_in(
        text: &str,
        folder: Option<&Path>,
    ) -> Result<Specification, SpecificationError> {
        parse::read(text, folder)
    }

    /// Reads a specification from a file, and its traces from beside it.
    ///
    /// # Errors
    /// If the file cannot be read or is no specification.
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

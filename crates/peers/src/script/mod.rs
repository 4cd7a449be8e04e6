//! packetdrill's script language: the part that scripts about TCP senders use.

mod packet;
pub mod python;
mod read;

use std::collections::BTreeMap;

use paceline_cc::Span;

pub use read::read;

/// A parsed script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Settings of the commands before the first event, by the last part of their names: `tcp_ecn`.
    pub sysctls: BTreeMap<String, String>,
    /// Whether a command installs the queue discipline fq, which paces: then departure times are
    /// not compared.
    pub paced: bool,
    /// Smallest tolerance of departure times (`--tolerance_usecs`).
    pub tolerance: Span,
    /// Events, in order.
    pub events: Vec<Event>,
}

impl Script {
    /// Returns the value of a sysctl; empty if the script does not set it.
    pub fn sysctl(&self, name: &str) -> &str {
        self.sysctls.get(name).map_or("", String::as_str)
    }
}

/// One event of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// Line on which it begins, from 1.
    pub line: usize,
    /// Time of the event.
    pub when: When,
    /// Content of the event.
    pub what: What,
}

/// The time of an event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Time since the script began.
    At(Span),
    /// Time since the previous event. Two different times allow a range for a segment of the
    /// sender.
    After(Span, Span),
    /// At any time.
    Any,
}

/// Content of an event.
#[derive(Clone, Debug)]
pub enum What {
    /// A segment arrives at the sender.
    In(Segment),
    /// The sender must send a segment.
    Out(Segment),
    /// A system call of the application: name, arguments, result.
    Call(String, String, String),
    /// Python code that examines the sender's `tcp_info`.
    Python(String),
    /// A shell command.
    Shell(String),
}

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The ECN field as written: `ect0`, `ect1`, `ce`, `noecn`; empty for any.
    pub ecn: String,
    /// The flags as written: `S`, `SEW`, `P.`.
    pub flags: String,
    /// First sequence number, and last sequence number plus one.
    pub range: (u64, u64),
    /// The acknowledgement number.
    pub ack: Option<u64>,
    /// The window field, not scaled.
    pub window: Option<u64>,
    /// The options.
    pub options: Options,
}

impl Segment {
    /// True if the segment has the flag with this letter.
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// True if the segment opens or ends a connection.
    pub fn is_of_state(&self) -> bool {
        ['S', 'F', 'R'].into_iter().any(|flag| self.has(flag))
    }
}

/// The options of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest segment that the sender of this segment accepts.
    pub mss: Option<u64>,
    /// Shift of the window fields in later segments.
    pub window_scale: Option<u32>,
    /// Whether selective acknowledgements are permitted.
    pub sack_permitted: bool,
    /// Blocks of selective acknowledgements: first sequence number, and last sequence number plus
    /// one.
    pub sacks: Vec<(u64, u64)>,
    /// Timestamp: value and echo reply.
    pub timestamp: Option<(u64, u64)>,
}

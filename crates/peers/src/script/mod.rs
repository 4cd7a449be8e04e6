//! packetdrill's script language: the part that scripts about a TCP sender use.

mod packet;
pub mod python;
mod read;

use std::collections::BTreeMap;

use paceline_cc::Span;

pub use read::read;

/// A script that was read.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What the commands before the first event set, by the last part of the name: `tcp_ecn`.
    pub sysctls: BTreeMap<String, String>,
    /// True if a command installs the queue discipline fq, which paces: departure times are not compared.
    pub paced: bool,
    /// The least tolerance of departure times (`--tolerance_usecs`).
    pub tolerance: Span,
    /// What happens, in order.
    pub events: Vec<Event>,
}

impl Script {
    /// The value of a sysctl; empty if the script does not set it.
    pub fn sysctl(&self, name: &str) -> &str {
        self.sysctls.get(name).map_or("", String::as_str)
    }
}

/// One event of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// When it happens.
    pub when: When,
    /// What happens.
    pub what: What,
}

/// The time of an event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Since the script began.
    At(Span),
    /// Since the event before; a packet of the sender's may leave between the two.
    After(Span, Span),
    /// At any time.
    Any,
}

/// What happens in an event.
#[derive(Clone, Debug)]
pub enum What {
    /// A segment comes to the sender.
    In(Segment),
    /// A segment is expected of the sender.
    Out(Segment),
    /// The application calls the system: name, arguments, result.
    Call(String, String, String),
    /// Python code looks at the sender's `tcp_info`.
    Python(String),
    /// A command of the shell.
    Shell(String),
}

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The ECN field as written: `ect0`, `ect1`, `ce`, `noecn`; empty for any.
    pub ecn: String,
    /// The flags as written: `S`, `SEW`, `P.`.
    pub flags: String,
    /// The first sequence number, and the one after the last.
    pub range: (u64, u64),
    /// The acknowledgement number.
    pub ack: Option<u64>,
    /// The window field, not scaled.
    pub window: Option<u64>,
    /// The options.
    pub options: Options,
}

impl Segment {
    /// True if the segment has the flag of this letter.
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
    /// The largest segment that the sender of this segment takes.
    pub mss: Option<u64>,
    /// Shift of the window fields that follow.
    pub window_scale: Option<u32>,
    /// Selective acknowledgements are permitted.
    pub sack_permitted: bool,
    /// Blocks of selective acknowledgements: first sequence number, and the one after the last.
    pub sacks: Vec<(u64, u64)>,
    /// Timestamp: value and echo reply.
    pub timestamp: Option<(u64, u64)>,
}

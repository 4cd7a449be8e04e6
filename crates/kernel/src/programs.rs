//! The table of programs.

use crate::KernelError;

/// A congestion control for the kernel.
#[derive(Copy, Clone, Debug)]
pub struct Program {
    /// The name by which sockets choose it.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// The simulator's scheme to which it corresponds.
    pub scheme: &'static str,
    /// Whether its packets must leave as accelerates, which needs a filter on the device.
    pub accelerates: bool,
}

impl Program {
    /// Returns true if a connection uses the program only where both ends choose it before they connect: it needs ECN, and
    /// the router's marks.
    pub fn needs_both_ends(&self) -> bool {
        self.name.starts_with("abc")
    }
}

/// All programs.
pub const PROGRAMS: [Program; 5] = [
    Program {
        name: "abc",
        summary: "ABC over Accurate ECN: accelerate is ECT(1), brake is ECT(0)",
        scheme: "abc",
        accelerates: true,
    },
    Program {
        name: "abc_ecn",
        summary: "ABC over the ECN of RFC 3168: accelerate is ECT(0), brake is CE",
        scheme: "abc[proxied=true]",
        accelerates: false,
    },
    Program {
        name: "c2tcp",
        summary: "C2TCP over Cubic or NewReno: RTTs above a target for an interval count as a loss",
        scheme: "c2tcp[settle=0s,floor=100ms,prr=false]",
        accelerates: false,
    },
    Program {
        name: "remy",
        summary: "Remy: follows a table of rules, `general`, another built-in one or a file",
        scheme: "remy[per=packet,resolution=1ms]",
        accelerates: false,
    },
    Program {
        name: "vegas_ebpf",
        summary: "Vegas: keeps two to four packets in queues; an example for programs of one's own",
        scheme: "vegas[diff=paper]",
        accelerates: false,
    },
];

/// Names of a program's counters, each summed over all its sockets, in the order of
/// `bpf/sockets.h`.
pub const COUNTERS: [&str; 14] = [
    "sockets",
    "fallbacks",
    "acks",
    "accelerated_bytes",
    "braked_bytes",
    "ce_bytes",
    "losses",
    "marked_windows",
    "timeouts",
    "undone",
    "backoffs",
    "packets_sent_as_accelerates",
    "flushed_acks",
    "restarts",
];

/// Returns the program of this name.
///
/// # Errors
/// There is no program of this name.
pub fn find(name: &str) -> Result<&'static Program, KernelError> {
    PROGRAMS.iter().find(|program| program.name == name).ok_or_else(|| {
        let names: Vec<_> = PROGRAMS.iter().map(|program| program.name).collect();
        KernelError::Message(format!(
            "there is no program `{name}`; there are {}",
            names.join(", ")
        ))
    })
}

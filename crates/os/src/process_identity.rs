//! Processes by number and start.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process that is not mistaken for a later one with the same number: its number, and when it
/// was started, in the kernel's ticks since boot.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The number.
    pub pid: i32,
    /// Ticks from boot to its start.
    pub started: u64,
}

impl ProcessIdentity {
    /// The process of this number, if there is one.
    pub fn of(pid: i32) -> Option<ProcessIdentity> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may contain any character.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(ProcessIdentity { pid, started })
    }

    /// Whether it still runs. One that has ended and was not waited for does not.
    pub fn lives(self) -> bool {
        ProcessIdentity::of(self.pid) == Some(self)
    }
}

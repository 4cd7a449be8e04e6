//! Identifies processes by number and start.

use std::fs;

use serde::{Deserialize, Serialize};

/// Identifies a process: its number, which a later process may get again, and when it was started.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process number.
    pub pid: i32,
    /// Ticks of the kernel from boot to its start.
    pub started: u64,
}

impl ProcessIdentity {
    /// Returns the process of this number, if there is one.
    pub fn of(pid: i32) -> Option<ProcessIdentity> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may contain any character.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(ProcessIdentity { pid, started })
    }

    /// Returns true if it still runs. A zombie does not.
    pub fn lives(self) -> bool {
        ProcessIdentity::of(self.pid) == Some(self)
    }
}

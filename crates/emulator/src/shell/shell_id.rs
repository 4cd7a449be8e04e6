//! Which shell a process belongs to.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use paceline_os::process_identity::ProcessIdentity;
use serde::{Deserialize, Serialize};

/// The variable in the environment of every program of a shell, inside and outside.
pub(crate) const VARIABLE: &str = "PACELINE_SHELL";

/// A shell's name: its emulator, as numbered in one process namespace.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShellId {
    namespace: u64,
    pub(crate) emulator: ProcessIdentity,
}

/// Returns the inode of the process namespace whose numbers `/proc` shows to this process.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

impl fmt::Display for ShellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.namespace, self.emulator.pid, self.emulator.started)
    }
}

impl ShellId {
    /// Returns the identifier of the shell whose emulator is this process.
    pub(crate) fn own() -> Option<ShellId> {
        let emulator = ProcessIdentity::of(std::process::id().cast_signed())?;
        Some(ShellId { namespace: namespace(), emulator })
    }

    pub(crate) fn parse(text: &str) -> Option<ShellId> {
        let mut words = text.split('.');
        let namespace = words.next()?.parse().ok()?;
        let emulator = ProcessIdentity {
            pid: words.next()?.parse().ok()?,
            started: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(ShellId { namespace, emulator })
    }

    /// Returns the shell that the environment of a process names; `None` also for processes of other users, whose
    /// environment this process may not read.
    pub(crate) fn of(process: &Path) -> Option<ShellId> {
        let environment = fs::read(process.join("environ")).ok()?;
        let mut variables = environment.split(|&byte| byte == 0);
        let value = variables
            .find_map(|variable| variable.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="))?;
        ShellId::parse(OsStr::from_bytes(value).to_str()?)
    }

    /// Returns true if the emulator has ended; false if it is in another process namespace, of which nothing is known.
    pub(crate) fn is_over(self) -> bool {
        self.namespace == namespace() && !self.emulator.lives()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_back() {
        let own = ShellId::own().expect("this process");
        assert_eq!(ShellId::parse(&own.to_string()), Some(own));
        assert!(!own.is_over());
        for wrong in ["", "1.2", "1.2.3.4", "a.b.c"] {
            assert_eq!(ShellId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_later_process_of_the_same_number_is_another() {
        let own = ShellId::own().expect("this process");
        let earlier = ProcessIdentity { started: own.emulator.started - 1, ..own.emulator };
        assert!(own.emulator.lives() && !earlier.lives());
        assert!(ShellId { emulator: earlier, ..own }.is_over());
        let elsewhere = ShellId { namespace: own.namespace + 1, emulator: earlier };
        assert!(!elsewhere.is_over());
    }
}

//! The process that undoes what a tunnel has changed, however the tunnel's own process ends.

use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::sys::signal::SigSet;
use nix::unistd::{Pid, setpgid};
use paceline_os::LiveError;
use paceline_os::process::{self, Process};

use super::record::undo_leftovers;

/// The guard of a tunnel, as the tunnel's process sees it.
#[derive(Debug)]
pub(super) struct Guard {
    process: Process,
    socket: OwnedFd,
}

impl Guard {
    /// Starts the guard of the tunnel `name`.
    ///
    /// # Errors
    /// The system has no room for a process.
    pub(super) fn start(name: &str) -> Result<Guard, LiveError> {
        let watch = |socket: OwnedFd| attend(name, &socket);
        let (process, socket) =
            process::copy(watch).map_err(LiveError::system("starting the tunnel's guard"))?;
        Ok(Guard { process, socket })
    }

    /// Tells the guard that the tunnel is over, and waits until it has undone everything.
    pub(super) fn end(self) {
        drop(self.socket);
        let _ = self.process.wait();
    }
}

/// The whole life of the guard: it waits until the other end of `socket` is closed, which the kernel does if the tunnel's
/// process is killed.
fn attend(name: &str, socket: &OwnedFd) -> i32 {
    // Signals that end the tunnel, from a terminal or from systemd, come to both: the guard still has something to do then.
    let _ = SigSet::all().thread_set_mask();
    let own = Pid::from_raw(0);
    let _ = setpgid(own, own);
    while process::receive(socket.as_fd()).is_ok() {}
    match undo_leftovers(name) {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "paceline: tunnel {name}: {error}");
            1
        }
    }
}

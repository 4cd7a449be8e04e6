//! The guard: a process that undoes a tunnel's changes after the tunnel's own process has ended for
//! any reason.

use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::sys::signal::SigSet;
use nix::unistd::{Pid, setpgid};
use paceline_os::RealTimeError;
use paceline_os::process::{self, Process};

use super::record::undo_leftovers;

/// The tunnel process's handle of its guard.
#[derive(Debug)]
pub(super) struct Guard {
    process: Process,
    socket: OwnedFd,
}

impl Guard {
    /// Starts the guard of the tunnel `name`.
    ///
    /// # Errors
    /// The system cannot create a process.
    pub(super) fn start(name: &str) -> Result<Guard, RealTimeError> {
        let watch = |socket: OwnedFd| attend(name, &socket);
        let (process, socket) =
            process::copy(watch).map_err(RealTimeError::system("starting the tunnel's guard"))?;
        Ok(Guard { process, socket })
    }

    /// Tells the guard that the tunnel is over, and waits until the guard has undone all changes.
    pub(super) fn end(self) {
        drop(self.socket);
        let _ = self.process.wait();
    }
}

/// The guard's main function. Waits until the other end of `socket` is closed, which the kernel
/// also does when the tunnel's process is killed.
fn attend(name: &str, socket: &OwnedFd) -> i32 {
    // Signals that end the tunnel, from a terminal or from systemd, reach both processes. Block
    // them: the guard must still undo the changes.
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

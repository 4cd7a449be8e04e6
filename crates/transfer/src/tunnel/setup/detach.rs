//! A tunnel in the background: its process goes there once it is connected.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid, setsid};
use paceline_os::LiveError;
use paceline_os::process;

/// How [`detach`] has ended in the foreground.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Detached {
    /// The tunnel runs in the background, as this process.
    Background(i32),
    /// It has ended with this exit status.
    Ended(i32),
}

/// The connection of the process in the background to the one that waits in the foreground.
#[derive(Debug)]
pub struct Foreground {
    socket: OwnedFd,
}

/// Runs `body` in a process of its own, and waits until that leaves the foreground or ends; `body` returns the exit status.
/// Ends with the foreground's process until then. Call it before this process has threads.
///
/// # Errors
/// The system has no room for a process.
pub fn detach(body: impl FnOnce(Foreground) -> i32) -> Result<Detached, LiveError> {
    let foreground = getpid();
    let run = |socket: OwnedFd| {
        if set_pdeathsig(Signal::SIGTERM).is_err() || getppid() != foreground {
            return 1;
        }
        body(Foreground { socket })
    };
    let (process, socket) =
        process::copy(run).map_err(LiveError::system("starting a process in the background"))?;
    match process::receive(socket.as_fd()) {
        Ok(_) => Ok(Detached::Background(process.id())),
        Err(_) => process.wait().map(Detached::Ended).map_err(LiveError::system("waiting")),
    }
}

impl Foreground {
    /// Leaves the foreground: terminal, input and output.
    ///
    /// # Errors
    /// The system refuses, or the foreground's process has ended.
    pub fn leave(self) -> Result<(), LiveError> {
        let fail = |error: io::Error| LiveError::system("going into the background")(error);
        setsid().map_err(|error| fail(error.into()))?;
        set_pdeathsig(None::<Signal>).map_err(|error| fail(error.into()))?;
        process::send(self.socket.as_fd(), b"up", None).map_err(fail)?;
        process::forget_output().map_err(fail)
    }
}

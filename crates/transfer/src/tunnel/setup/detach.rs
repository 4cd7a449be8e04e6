//! A tunnel in the background: its process leaves the foreground once it is connected.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid, setsid};
use paceline_os::RealTimeError;
use paceline_os::process;

/// The result of [`detach`] in the foreground.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Detached {
    /// The tunnel runs in the background, as the process with this id.
    Background(i32),
    /// The tunnel has ended with this exit status.
    Ended(i32),
}

/// The background process's connection to the process that waits in the foreground.
#[derive(Debug)]
pub struct Foreground {
    socket: OwnedFd,
}

/// Runs `body`, which returns the exit status, in a new process, and waits until that process
/// leaves the foreground or ends. Until then it ends when the foreground process ends. Call it
/// before this process has threads.
///
/// # Errors
/// The system cannot create a process.
pub fn detach(body: impl FnOnce(Foreground) -> i32) -> Result<Detached, RealTimeError> {
    let foreground = getpid();
    let run = |socket: OwnedFd| {
        if set_pdeathsig(Signal::SIGTERM).is_err() || getppid() != foreground {
            return 1;
        }
        body(Foreground { socket })
    };
    let (process, socket) = process::copy(run)
        .map_err(RealTimeError::system("starting a process in the background"))?;
    match process::receive(socket.as_fd()) {
        Ok(_) => Ok(Detached::Background(process.id())),
        Err(_) => process.wait().map(Detached::Ended).map_err(RealTimeError::system("waiting")),
    }
}

impl Foreground {
    /// Leaves the foreground: detaches from terminal, input and output.
    ///
    /// # Errors
    /// The system refuses something, or the foreground process has ended.
    pub fn leave(self) -> Result<(), RealTimeError> {
        let fail = |error: io::Error| RealTimeError::system("going into the background")(error);
        setsid().map_err(|error| fail(error.into()))?;
        set_pdeathsig(None::<Signal>).map_err(|error| fail(error.into()))?;
        process::send(self.socket.as_fd(), b"up", None).map_err(fail)?;
        process::forget_output().map_err(fail)
    }
}

//! Signals that ask this process to end.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::LiveError;

/// Signals that ask this process to end, as a file.
#[derive(Debug)]
pub struct Interrupts {
    file: SignalFd,
}

impl Interrupts {
    /// From now on SIGINT and SIGTERM no longer end this process; they are told here.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch() -> Result<Interrupts, LiveError> {
        let mut set = SigSet::empty();
        set.add(Signal::SIGINT);
        set.add(Signal::SIGTERM);
        set.thread_block().map_err(LiveError::system("blocking signals"))?;
        let file = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(LiveError::system("watching for signals"))?;
        Ok(Interrupts { file })
    }

    /// True if one has come since this was asked last.
    pub fn came(&self) -> bool {
        matches!(self.file.read_signal(), Ok(Some(_)))
    }
}

impl AsFd for Interrupts {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

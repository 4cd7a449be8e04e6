//! The signal by which one of several loops ends all of them.

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// How one loop asks all loops to end.
pub(super) struct StopSignal {
    /// Stays readable once a byte was written to the other end.
    asked: PipeReader,
    ask: PipeWriter,
    /// True if the reason is a signal, which senders are then told.
    interrupted: AtomicBool,
}

impl StopSignal {
    pub(super) fn new() -> io::Result<StopSignal> {
        let (asked, ask) = io::pipe()?;
        Ok(StopSignal { asked, ask, interrupted: AtomicBool::new(false) })
    }

    /// Returns the file that is readable once all loops are to end.
    pub(super) fn asked(&self) -> BorrowedFd<'_> {
        self.asked.as_fd()
    }

    /// Asks all loops to end.
    pub(super) fn ask(&self) {
        // Loops never read the byte, and the pipe has room for one byte of each loop.
        let _ = (&self.ask).write_all(&[0]);
    }

    /// Asks all loops to end because a signal has come.
    pub(super) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
        self.ask();
    }

    /// Returns true if a signal is the reason.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }
}

/// Asks all loops to end when it is dropped, also during a panic.
pub(super) struct AskAtEnd<'a>(pub(super) &'a StopSignal);

impl Drop for AskAtEnd<'_> {
    fn drop(&mut self) {
        self.0.ask();
    }
}

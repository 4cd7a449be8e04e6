//! Signals that ask this process to end or to read its files again, and requests of its other threads.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::getpid;

use crate::RealTimeError;

/// Signals that ask this process to end, and wake-ups by other threads, as one file that becomes readable.
#[derive(Debug)]
pub struct Interrupts {
    signals: SignalFd,
    wake_ups: Arc<EventFd>,
    /// Readable if one of the above is.
    all: Epoll,
    /// SIGHUP has come.
    hung_up: AtomicBool,
}

/// Wakes the loop that waits for [`Interrupts`].
#[derive(Clone, Debug)]
pub struct Waker(Arc<EventFd>);

impl Waker {
    /// Has the loop look at what there is to do.
    pub fn wake(&self) {
        // It fails only if the counter is full, and then the loop wakes up anyway.
        let _ = self.0.write(1);
    }
}

/// A file that becomes readable when another thread wakes the loop that waits for it.
#[derive(Debug)]
pub struct WakeUps(Arc<EventFd>);

impl WakeUps {
    /// No wake-up yet.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn new() -> Result<WakeUps, RealTimeError> {
        Ok(WakeUps(Arc::new(wake_ups()?)))
    }

    /// Returns what wakes the loop that waits for this.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.0))
    }

    /// Takes back all wake-ups so far: the file is readable again after the next one. The loop calls this before it looks for
    /// work, so that a wake-up during the work is not lost.
    pub fn clear(&self) {
        let _ = self.0.read();
    }
}

impl AsFd for WakeUps {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn wake_ups() -> Result<EventFd, RealTimeError> {
    let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
    EventFd::from_value_and_flags(0, flags)
        .map_err(RealTimeError::system("making a file for wake-ups"))
}

impl Interrupts {
    /// Blocks SIGINT and SIGTERM and returns a descriptor that reports them.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch() -> Result<Interrupts, RealTimeError> {
        Interrupts::of(&[Signal::SIGINT, Signal::SIGTERM])
    }

    /// As [`Interrupts::watch`], and SIGHUP asks this process to read its files again:
    /// [`Interrupts::take_reload`].
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch_with_reload() -> Result<Interrupts, RealTimeError> {
        Interrupts::of(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])
    }

    /// As [`Interrupts::watch_with_reload`] or as [`Interrupts::watch`].
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch_for(reloads: bool) -> Result<Interrupts, RealTimeError> {
        if reloads { Interrupts::watch_with_reload() } else { Interrupts::watch() }
    }

    fn of(signals: &[Signal]) -> Result<Interrupts, RealTimeError> {
        let set: SigSet = signals.iter().copied().collect();
        set.thread_block().map_err(RealTimeError::system("blocking signals"))?;
        let cannot = || RealTimeError::system("watching for signals");
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(cannot())?;
        let wake_ups = wake_ups()?;
        let all = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(cannot())?;
        all.add(&signals, EpollEvent::new(EpollFlags::EPOLLIN, 0)).map_err(cannot())?;
        all.add(&wake_ups, EpollEvent::new(EpollFlags::EPOLLIN, 1)).map_err(cannot())?;
        let hung_up = AtomicBool::new(false);
        Ok(Interrupts { signals, wake_ups: Arc::new(wake_ups), all, hung_up })
    }

    /// Returns true if a signal that asks this process to end has come since the last call. Notes SIGHUP, and takes
    /// wake-ups back: whoever wakes the loop leaves what is to be done where the loop looks at each turn.
    pub fn came(&self) -> bool {
        let _ = self.wake_ups.read();
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if signal.ssi_signo != Signal::SIGHUP as u32 {
                return true;
            }
            self.hung_up.store(true, Ordering::Release);
        }
        false
    }

    /// Asks this process to end in good order, as SIGTERM does. It must be watching for signals.
    ///
    /// # Errors
    /// The system refuses.
    pub fn request_end() -> Result<(), RealTimeError> {
        // To the process and not to this thread: any of its loops may be watching.
        kill(getpid(), Signal::SIGTERM).map_err(RealTimeError::system("asking this process to end"))
    }

    /// Returns true if SIGHUP has come since the last call: files are to be read again.
    pub fn take_reload(&self) -> bool {
        self.hung_up.swap(false, Ordering::AcqRel)
    }

    /// Returns what wakes the loop that waits for this.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake_ups))
    }
}

impl AsFd for Interrupts {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    fn is_readable(interrupts: &Interrupts) -> bool {
        let mut files = [PollFd::new(interrupts.as_fd(), PollFlags::POLLIN)];
        poll(&mut files, PollTimeout::ZERO).is_ok_and(|count| count > 0)
    }

    #[test]
    fn a_wake_up_is_readable_once_and_no_interrupt() {
        let interrupts = Interrupts::watch().expect("signals");
        assert!(!is_readable(&interrupts) && !interrupts.came());
        let waker = interrupts.waker();
        std::thread::spawn(move || waker.wake()).join().expect("a thread");
        assert!(is_readable(&interrupts));
        assert!(!interrupts.came() && !interrupts.take_reload());
        assert!(!is_readable(&interrupts));
    }
}

//! The clock of connections, and waiting for a time or for input.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use paceline_cc::{Span, Time};
use paceline_os::{Interrupts, RealTimeError};

/// Timer slack of this thread in nanoseconds: how late the kernel may wake it.
const SLACK: u64 = 1_000;
/// Maximum age of a kernel time stamp. An older one is replaced by the current time.
const OLDEST_STAMP: Span = Span::from_millis(100);
/// Maximum lateness of an event that is still handled as on time.
const LATENESS: Span = Span::from_millis(1);
/// The system clock in use. It runs on while the machine sleeps, so that a connection that has
/// timed out meanwhile ends at once.
const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
/// Maximum duration of a wait.
const LONGEST: Span = Span::from_millis(3_600_000);

/// Returns a system clock's time in nanoseconds; 0 if the clock does not exist.
fn nanos(clock: ClockId) -> u64 {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    (time.tv_sec() as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec() as u64)
}

/// Measures the time since [`Clock::start`].
#[derive(Debug)]
pub(crate) struct Clock {
    zero: u64,
    /// The latest time that [`Clock::now`] has returned.
    last: Time,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        // If the system refuses, waits end about 50 µs later.
        let _ = nix::sys::prctl::set_timerslack(SLACK);
        Clock { zero: nanos(CLOCK), last: Time::ZERO }
    }

    #[inline]
    pub(crate) fn now(&mut self) -> Time {
        let now = nanos(CLOCK).saturating_sub(self.zero);
        self.last = self.last.max(Time::from_nanos(now));
        self.last
    }

    /// Returns the time to use for an event scheduled at `due`: `due` itself if it lies at most [`LATENESS`] in the past
    /// and not before `last_time`, the latest time that the connection was given, so that a late wake-up does not lower
    /// the pacing rate; otherwise the current time.
    #[inline]
    pub(super) fn on_time(&mut self, due: Time, last_time: Time) -> Time {
        let now = self.now();
        if due >= last_time && due <= now && now.since(due) <= LATENESS { due } else { now }
    }

    /// Returns how far the clock of the kernel's time stamps is ahead of this one, in nanoseconds.
    pub(crate) fn ahead(&mut self) -> u64 {
        nanos(ClockId::CLOCK_REALTIME).saturating_sub(self.now().as_nanos())
    }

    /// Converts a time stamp of the kernel to a time of this clock: at least `last_time`, the latest time that the
    /// connections were given, so that their time never goes back, and at most `now`.
    #[inline]
    pub(crate) fn of_stamp(
        &self,
        stamp: Option<u64>,
        ahead: u64,
        last_time: Time,
        now: Time,
    ) -> Time {
        let Some(stamp) = stamp else { return now };
        let at = Time::from_nanos(stamp.saturating_sub(ahead));
        if now.since(at) > OLDEST_STAMP {
            return now;
        }
        at.clamp(last_time.min(now), now)
    }
}

/// Which files a wait has found ready.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub(crate) socket: bool,
    pub(crate) input: bool,
    /// True if the second file passed to [`wait_for_all`] is readable.
    pub(crate) second_input: bool,
    pub(crate) interrupted: bool,
}

/// Waits until `until`, until one of the files has input, or until a signal arrives.
pub(crate) fn wait(
    clock: &mut Clock,
    until: Time,
    socket: BorrowedFd<'_>,
    input: Option<BorrowedFd<'_>>,
    interrupts: &Interrupts,
) -> Result<Readiness, RealTimeError> {
    wait_for_all(clock, until, socket, [input, None], interrupts)
}

/// Waits as [`wait`] does, for two files beside the socket.
pub(crate) fn wait_for_all(
    clock: &mut Clock,
    until: Time,
    socket: BorrowedFd<'_>,
    inputs: [Option<BorrowedFd<'_>>; 2],
    interrupts: &Interrupts,
) -> Result<Readiness, RealTimeError> {
    let readable = |file| PollFd::new(file, PollFlags::POLLIN);
    let mut files =
        [readable(socket), readable(interrupts.as_fd()), readable(socket), readable(socket)];
    let mut count = 2;
    let places = inputs.map(|input| {
        let (place, input) = (files.get_mut(count)?, input?);
        *place = readable(input);
        count += 1;
        Some(count - 1)
    });
    let span = until.since(clock.now()).min(LONGEST).as_nanos();
    let span = TimeSpec::new((span / 1_000_000_000) as i64, (span % 1_000_000_000) as i64);
    let files = files.get_mut(..count).unwrap_or(&mut []);
    match ppoll(files, Some(span), None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(RealTimeError::system("waiting for packets")(error)),
    }
    let is_ready = |index: usize| files.get(index).is_some_and(|file| file.any() == Some(true));
    let [input, second_input] = places.map(|place| place.is_some_and(is_ready));
    let interrupted = is_ready(1) && interrupts.came();
    Ok(Readiness { socket: is_ready(0), input, second_input, interrupted })
}

/// Waits until the socket has room, for at most 10 ms.
pub(crate) fn wait_for_room(socket: BorrowedFd<'_>) {
    let mut files = [PollFd::new(socket, PollFlags::POLLOUT)];
    let _ = ppoll(&mut files, Some(TimeSpec::new(0, 10_000_000)), None);
}

//! Time, and waiting for it or for something to read.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use paceline_cc::{Span, Time};
use paceline_os::{Interrupts, LiveError};

/// The kernel may wake this thread so much later than asked, in nanoseconds.
const SLACK: u64 = 1_000;
/// A time of the kernel's that lies further back than this is not believed.
const OLDEST_STAMP: Span = Span::from_millis(100);
/// What is done so much later than it was due still counts as done in time.
const LATENESS: Span = Span::from_millis(1);
/// The clock of connections. It goes on while the machine sleeps, so that a connection that has ended
/// meanwhile is found out at once.
const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
/// No wait is longer.
const LONGEST: Span = Span::from_millis(3_600_000);

/// A clock of the system in nanoseconds; 0 if there is none.
fn nanos(clock: ClockId) -> u64 {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    (time.tv_sec() as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec() as u64)
}

/// The time since the start of this process' work.
#[derive(Debug)]
pub(crate) struct Clock {
    zero: u64,
    /// The latest time that anybody was told.
    last: Time,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        // Where it is refused, waits are some 50 µs longer.
        let _ = nix::sys::prctl::set_timerslack(SLACK);
        Clock { zero: nanos(CLOCK), last: Time::ZERO }
    }

    #[inline]
    pub(crate) fn now(&mut self) -> Time {
        let now = nanos(CLOCK).saturating_sub(self.zero);
        self.last = self.last.max(Time::from_nanos(now));
        self.last
    }

    /// The time at which something is done that was due at `due`: that time, if it is over but not
    /// for long and not before `told`, the latest time that anybody was told; else now.
    #[inline]
    pub(super) fn on_time(&mut self, due: Time, told: Time) -> Time {
        let now = self.now();
        if due >= told && due <= now && now.since(due) <= LATENESS { due } else { now }
    }

    /// How far the clock of the kernel's stamps is ahead of this one.
    pub(crate) fn ahead(&mut self) -> u64 {
        nanos(ClockId::CLOCK_REALTIME).saturating_sub(self.now().as_nanos())
    }

    /// The time of a stamp of the kernel's: not before a time that was told already, so that time
    /// never goes back, and not after `now`.
    #[inline]
    pub(crate) fn of_stamp(&self, stamp: Option<u64>, ahead: u64, told: Time, now: Time) -> Time {
        let Some(stamp) = stamp else { return now };
        let at = Time::from_nanos(stamp.saturating_sub(ahead));
        if now.since(at) > OLDEST_STAMP {
            return now;
        }
        at.clamp(told.min(now), now)
    }
}

/// What a wait has found.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub(crate) socket: bool,
    pub(crate) input: bool,
    /// The second one of [`wait_for_all`].
    pub(crate) second_input: bool,
    pub(crate) interrupted: bool,
}

/// Waits until `until`, or until something can be read.
pub(crate) fn wait(
    clock: &mut Clock,
    until: Time,
    socket: BorrowedFd<'_>,
    input: Option<BorrowedFd<'_>>,
    interrupts: &Interrupts,
) -> Result<Readiness, LiveError> {
    wait_for_all(clock, until, socket, [input, None], interrupts)
}

/// Waits until `until`, or until something can be read.
pub(crate) fn wait_for_all(
    clock: &mut Clock,
    until: Time,
    socket: BorrowedFd<'_>,
    inputs: [Option<BorrowedFd<'_>>; 2],
    interrupts: &Interrupts,
) -> Result<Readiness, LiveError> {
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
        Err(error) => return Err(LiveError::system("waiting for packets")(error)),
    }
    let is_ready = |index: usize| files.get(index).is_some_and(|file| file.any() == Some(true));
    let [input, second_input] = places.map(|place| place.is_some_and(is_ready));
    let interrupted = is_ready(1) && interrupts.came();
    Ok(Readiness { socket: is_ready(0), input, second_input, interrupted })
}

/// Waits until the socket has room, but not for long.
pub(crate) fn wait_for_room(socket: BorrowedFd<'_>) {
    let mut files = [PollFd::new(socket, PollFlags::POLLOUT)];
    let _ = ppoll(&mut files, Some(TimeSpec::new(0, 10_000_000)), None);
}

//! Waits for packets, for the next release, and for other files that the caller watches.

use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use paceline_cc::{Span, Time};
use paceline_os::RealTimeError;

use super::clock::{Clock, Monotonic, cpu_time};
use super::rest::Rest;

/// The most ready files that one wait returns.
const MOST_EVENTS: usize = 16;
/// How long a thread that has slept too little sleeps before each wait.
const PAUSE: std::time::Duration = std::time::Duration::from_micros(20);
/// The number of the timer among the files.
const TIMER: u64 = u64::MAX;

/// Epoll, and a timer in absolute time.
///
/// The kernel wakes a sleeping thread some ten microseconds late. The timer is therefore set
/// earlier by a lead, and the time that is left is spent looking at the files again and again. A thread of
/// real-time priority sleeps now and then in any case: see [`Rest`].
pub(super) struct Reactor {
    epoll: Epoll,
    timer: TimerFd,
    /// The deadline for which the timer is set.
    set: Time,
    lead: Span,
    /// For a thread of real-time priority.
    rest: Option<Rest>,
    events: [EpollEvent; MOST_EVENTS],
    ready: usize,
}

impl Reactor {
    /// Creates a reactor that wakes `lead` before each deadline.
    pub(super) fn new(lead: Span) -> Result<Reactor, RealTimeError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(RealTimeError::system("making an epoll instance"))?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)
            .map_err(RealTimeError::system("making a timer"))?;
        let events = [EpollEvent::empty(); MOST_EVENTS];
        let rest = paceline_os::priority::is_real_time().then(Rest::default);
        let reactor = Reactor { epoll, timer, set: Time::ZERO, lead, rest, events, ready: 0 };
        // Edge-triggered: told once, it need not be read.
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER);
        let added = reactor.epoll.add(&reactor.timer, event);
        added.map_err(RealTimeError::system("watching a timer with epoll"))?;
        Ok(reactor)
    }

    /// Watches a file for input; [`Reactor::ready`] returns it as `number`.
    pub(super) fn watch(&self, file: BorrowedFd<'_>, number: u64) -> Result<(), RealTimeError> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, number);
        self.epoll.add(file, event).map_err(RealTimeError::system("watching a file with epoll"))
    }

    /// Waits until a file is ready or the deadline has come.
    pub(super) fn wait(&mut self, deadline: Time, clock: &Monotonic) -> Result<(), RealTimeError> {
        let mut now = clock.now();
        if self.rest.as_mut().is_some_and(|rest| rest.is_due(now, cpu_time)) {
            std::thread::sleep(PAUSE);
            now = clock.now();
        }
        if deadline.since(now) > self.lead {
            self.arm(deadline - self.lead, clock)?;
            self.poll(EpollTimeout::NONE)?;
            if self.ready > 0 {
                return Ok(());
            }
            now = clock.now();
            if deadline.since(now) > self.lead {
                return Ok(());
            }
        }
        loop {
            self.poll(EpollTimeout::ZERO)?;
            if self.ready > 0 || now >= deadline {
                return Ok(());
            }
            now = clock.now();
        }
    }

    /// Returns the numbers of the files that the last wait found ready.
    pub(super) fn ready(&self) -> impl Iterator<Item = u64> + '_ {
        self.events.iter().take(self.ready).map(EpollEvent::data)
    }

    fn arm(&mut self, time: Time, clock: &Monotonic) -> Result<(), RealTimeError> {
        if time == self.set {
            return Ok(());
        }
        self.set = time;
        let result = if time >= Time::NEVER - self.lead {
            self.timer.unset()
        } else {
            let nanos = clock.absolute(time).min(i64::MAX as u64);
            let at = TimeSpec::new((nanos / 1_000_000_000) as i64, (nanos % 1_000_000_000) as i64);
            self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
        };
        // The words are made only if they are needed.
        result.map_err(|error| RealTimeError::system("setting a timer")(error))
    }

    /// Finds the files that are ready, the timer excepted.
    fn poll(&mut self, timeout: EpollTimeout) -> Result<(), RealTimeError> {
        let found = match self.epoll.wait(&mut self.events, timeout) {
            Err(Errno::EINTR) => 0,
            found => found.map_err(|error| RealTimeError::system("waiting with epoll")(error))?,
        };
        self.ready = found;
        let mut kept = 0;
        for index in 0..found {
            if let Some(&event) = self.events.get(index) {
                if event.data() == TIMER {
                    // Whatever comes next, it must be set anew.
                    self.set = Time::ZERO;
                } else if let Some(place) = self.events.get_mut(kept) {
                    *place = event;
                    kept += 1;
                }
            }
        }
        self.ready = kept;
        Ok(())
    }
}

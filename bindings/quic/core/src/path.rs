//! A scheme for one path, with the calls of stacks that use instants.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use paceline_cc::{Rate, Time};

use crate::controller::{LossReport, QuicController};
use crate::scheme::QuicScheme;

/// A scheme for one path of a connection, for stacks that express time as [`Instant`]s and read
/// windows and rates through `&self`, as quinn and its relatives do.
pub struct PathController {
    scheme: QuicScheme,
    /// Zero of Paceline's time.
    start: Instant,
    /// Time of the stack's last call, for calls without a time.
    last: Time,
    mtu: u16,
    /// Never contended, because stacks change a controller only through `&mut`. The mutex is needed
    /// because schemes need not be `Sync`.
    inner: Mutex<QuicController>,
    /// Values that stacks read without changing the controller.
    window: u64,
    initial: u64,
    pacing: Option<Rate>,
    burst: u64,
}

impl PathController {
    /// Returns a controller of `scheme` for a path with packets of up to `mtu` bytes; time counts
    /// from `start`.
    pub fn new(scheme: QuicScheme, start: Instant, mtu: u16) -> PathController {
        let inner = scheme.controller(mtu);
        PathController {
            start,
            last: Time::ZERO,
            mtu,
            window: inner.window(),
            initial: inner.window(),
            pacing: inner.pacing_rate(),
            burst: inner.burst(),
            inner: Mutex::new(inner),
            scheme,
        }
    }

    /// Returns a fresh controller of this scheme for this path, for stacks that want a copy: a
    /// scheme's state cannot be copied.
    #[must_use]
    pub fn anew(&self) -> PathController {
        PathController::new(self.scheme.clone(), self.start, self.mtu)
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> &QuicScheme {
        &self.scheme
    }

    /// Returns the bytes that may be in flight; see [`QuicController::window`].
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the window before the first packet.
    pub fn initial_window(&self) -> u64 {
        self.initial
    }

    /// Returns the scheme's pacing rate; `None` if it has none.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    /// Returns the bytes that may leave back to back under the pacing rate.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Calls `see` with names and values of the scheme's inner state, such as `cwnd` in packets.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).inspect(see);
    }

    /// See [`QuicController::on_sent`].
    pub fn on_sent(&mut self, now: Instant, bytes: u64) {
        let now = self.time(now);
        self.tell(|inner| inner.on_sent(now, bytes));
    }

    /// See [`QuicController::on_acked`].
    pub fn on_acked(&mut self, now: Instant, sent: Instant, bytes: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        let size = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.tell(|inner| inner.on_acked(now, sent, size));
    }

    /// See [`QuicController::on_acks_end`].
    pub fn on_acks_end(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        let now = self.time(now);
        self.tell(|inner| inner.on_acks_end(now, in_flight, app_limited));
    }

    /// Processes the loss of `bytes`, the newest of them sent at `sent`; see
    /// [`QuicController::on_lost`].
    pub fn on_lost(&mut self, now: Instant, sent: Instant, bytes: u64, persistent: bool) {
        let (now, newest_sent) = (self.time(now), self.time(sent));
        self.tell(|inner| inner.on_lost(now, LossReport { bytes, newest_sent, persistent }));
    }

    /// See [`QuicController::on_marked`].
    pub fn on_marked(&mut self, now: Instant, sent: Instant, packets: u32) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.tell(|inner| inner.on_marked(now, sent, packets));
    }

    /// See [`QuicController::on_spurious`].
    pub fn on_spurious(&mut self) {
        let now = self.last;
        self.tell(|inner| inner.on_spurious(now));
    }

    /// See [`QuicController::on_mtu`].
    pub fn on_mtu(&mut self, mtu: u16) {
        self.mtu = mtu;
        self.tell(|inner| inner.on_mtu(u32::from(mtu)));
    }

    /// Converts an instant of the stack to Paceline's time.
    fn time(&mut self, at: Instant) -> Time {
        let nanos = at.saturating_duration_since(self.start).as_nanos();
        let time = Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2));
        self.last = self.last.max(time);
        time
    }

    fn tell(&mut self, event: impl FnOnce(&mut QuicController)) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        event(inner);
        self.window = inner.window();
        self.pacing = inner.pacing_rate();
        self.burst = inner.burst();
    }
}

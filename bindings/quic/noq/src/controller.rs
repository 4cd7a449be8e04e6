//! noq's trait, on top of a [`QuicController`].

use std::any::Any;
use std::fmt;
use std::sync::Mutex;
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use paceline_cc::Time;
use paceline_quic::{Losses, QuicController, QuicScheme};

/// A scheme of Paceline's under a path of a connection of noq's.
pub struct Controller {
    scheme: QuicScheme,
    /// Paceline counts time from here on.
    start: Instant,
    /// The time of noq's last call, for the calls that do not tell it.
    last: Time,
    mtu: u16,
    /// Never contended: noq changes a controller through `&mut` only. It is there since schemes need
    /// not be `Sync`.
    inner: Mutex<QuicController>,
    /// What noq asks for without changing anything.
    window: u64,
    initial: u64,
    pacing: Option<u64>,
    burst: u64,
}

impl Controller {
    pub(crate) fn new(scheme: QuicScheme, start: Instant, mtu: u16) -> Controller {
        let inner = scheme.controller(mtu);
        let window = inner.window();
        let mut controller = Controller {
            scheme,
            start,
            last: Time::ZERO,
            mtu,
            inner: Mutex::new(inner),
            window,
            initial: window,
            pacing: None,
            burst: 0,
        };
        controller.tell(|_| ());
        controller
    }

    /// Names and values of the scheme's inner state, such as `cwnd` in packets.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match self.inner.lock() {
            Ok(inner) => inner.inspect(see),
            Err(poisoned) => poisoned.into_inner().inspect(see),
        }
    }

    /// An instant of noq's on Paceline's clock.
    fn time(&mut self, at: Instant) -> Time {
        let nanos = at.saturating_duration_since(self.start).as_nanos();
        let time = Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2));
        self.last = self.last.max(time);
        time
    }

    fn tell(&mut self, event: impl FnOnce(&mut QuicController)) {
        let inner = match self.inner.get_mut() {
            Ok(inner) => inner,
            Err(poisoned) => poisoned.into_inner(),
        };
        event(inner);
        self.window = inner.window();
        self.pacing = inner.pacing_rate().map(|rate| (rate.as_bps() / 8).max(1));
        self.burst = inner.burst();
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = self.scheme.spec();
        f.debug_struct("Controller").field("scheme", &spec).field("window", &self.window).finish()
    }
}

impl congestion::Controller for Controller {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, _pn: u64) {
        let now = self.time(now);
        self.tell(|inner| inner.on_sent(now, u64::from(bytes)));
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        _pn: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        let size = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.tell(|inner| inner.on_acked(now, sent, size));
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let now = self.time(now);
        self.tell(|inner| inner.on_acks_end(now, in_flight, app_limited));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let (now, newest_sent) = (self.time(now), self.time(sent));
        let losses =
            Losses { bytes: lost_bytes, newest_sent, persistent: is_persistent_congestion };
        self.tell(|inner| match is_ecn {
            true => inner.on_marked(now, newest_sent, 0),
            false => inner.on_lost(now, losses),
        });
    }

    fn on_spurious_congestion_event(&mut self) {
        let now = self.last;
        self.tell(|inner| inner.on_spurious(now));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
        self.tell(|inner| inner.on_mtu(u32::from(new_mtu)));
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics.pacing_rate = self.pacing;
        metrics.send_quantum = self.pacing.map(|_| self.burst);
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Controller::new(self.scheme.clone(), self.start, self.mtu))
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

//! quinn's trait, on top of a [`QuicController`].

use std::any::Any;
use std::sync::Mutex;
use std::time::Instant;

use paceline_cc::Time;
use paceline_quic::{Losses, QuicController, QuicScheme};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerMetrics};

/// A scheme of Paceline's under a connection of quinn's.
pub struct Controller {
    scheme: QuicScheme,
    /// Paceline counts time from here on.
    start: Instant,
    mtu: u16,
    /// Never contended: quinn changes a controller through `&mut` only. It is there since schemes
    /// need not be `Sync`.
    inner: Mutex<QuicController>,
    /// What quinn asks for without changing anything.
    window: u64,
    initial: u64,
    pacing_bps: Option<u64>,
}

impl Controller {
    pub(crate) fn new(scheme: QuicScheme, start: Instant, mtu: u16) -> Controller {
        let inner = scheme.controller(mtu);
        let (window, pacing) = (inner.window(), inner.pacing_rate());
        Controller {
            scheme,
            start,
            mtu,
            inner: Mutex::new(inner),
            window,
            initial: window,
            pacing_bps: pacing.map(|rate| rate.as_bps()),
        }
    }

    /// Names and values of the scheme's inner state, such as `cwnd` in packets.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match self.inner.lock() {
            Ok(inner) => inner.inspect(see),
            Err(poisoned) => poisoned.into_inner().inspect(see),
        }
    }

    /// An instant of quinn's on Paceline's clock.
    fn time(&self, at: Instant) -> Time {
        let nanos = at.saturating_duration_since(self.start).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2))
    }

    fn tell(&mut self, event: impl FnOnce(&mut QuicController)) {
        let inner = match self.inner.get_mut() {
            Ok(inner) => inner,
            Err(poisoned) => poisoned.into_inner(),
        };
        event(inner);
        self.window = inner.window();
        self.pacing_bps = inner.pacing_rate().map(|rate| rate.as_bps());
    }
}

impl congestion::Controller for Controller {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.time(now);
        self.tell(|inner| inner.on_sent(now, bytes));
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
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
        lost_bytes: u64,
    ) {
        let (now, newest_sent) = (self.time(now), self.time(sent));
        let losses =
            Losses { bytes: lost_bytes, newest_sent, persistent: is_persistent_congestion };
        // quinn tells of marks as of a loss of no bytes.
        self.tell(|inner| match lost_bytes {
            0 => inner.on_marked(now, newest_sent, 0),
            _ => inner.on_lost(now, losses),
        });
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
        metrics.pacing_rate = self.pacing_bps;
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

//! noq's trait, on top of a [`PathController`].

use std::any::Any;
use std::fmt;
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use paceline_quic::PathController;

/// A scheme of Paceline for a path of a noq connection.
pub struct Controller(pub(crate) PathController);

impl Controller {
    /// Calls `see` with names and values of the scheme's inner state, such as `cwnd` in packets.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.0.inspect(see);
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spec, window) = (self.0.scheme().spec(), self.0.window());
        f.debug_struct("Controller").field("scheme", &spec).field("window", &window).finish()
    }
}

impl congestion::Controller for Controller {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, _pn: u64) {
        self.0.on_sent(now, u64::from(bytes));
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
        self.0.on_acked(now, sent, bytes);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        self.0.on_acks_end(now, in_flight, app_limited);
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
        match is_ecn {
            true => self.0.on_marked(now, sent, 0),
            false => self.0.on_lost(now, sent, lost_bytes, is_persistent_congestion),
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.0.on_spurious();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.on_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.0.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.0.window();
        // noq expresses the rate in bytes per second.
        metrics.pacing_rate = self.0.pacing_rate().map(|rate| (rate.as_bps() / 8).max(1));
        metrics.send_quantum = metrics.pacing_rate.map(|_| self.0.burst());
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Controller(self.0.anew()))
    }

    fn initial_window(&self) -> u64 {
        self.0.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

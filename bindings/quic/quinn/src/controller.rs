//! quinn's trait, on top of a [`PathController`].

use std::any::Any;
use std::time::Instant;

use paceline_quic::PathController;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerMetrics};

/// A scheme of Paceline for a quinn connection.
pub struct Controller(pub(crate) PathController);

impl Controller {
    /// Calls `see` with names and values of the scheme's inner state, such as `cwnd` in packets.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.0.inspect(see);
    }
}

impl congestion::Controller for Controller {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.0.on_sent(now, bytes);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
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
        lost_bytes: u64,
    ) {
        // quinn reports marks as a loss of zero bytes.
        match lost_bytes {
            0 => self.0.on_marked(now, sent, 0),
            _ => self.0.on_lost(now, sent, lost_bytes, is_persistent_congestion),
        }
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
        metrics.pacing_rate = self.0.pacing_rate().map(|rate| rate.as_bps());
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

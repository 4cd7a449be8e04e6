//! The congestion window, for which the encoder leaves out frames (libwebrtc
//! `congestion_window_pushback_controller.cc`, and `UpdateCongestionWindowSize` of
//! `goog_cc_network_control.cc`).

use std::collections::VecDeque;

use paceline_cc::Span;

/// The smallest window: two packets of 1500 bytes (`kMinCwnd`), in bytes.
const LEAST_WINDOW: f64 = 3000.0;
/// Reports over which the shortest RTT is taken (`kMaxFeedbackRttWindow`).
const REPORTS: usize = 32;
/// Least rate in bits per second to which a full window lowers the target (`MinBitrate` of
/// `WebRTC-CongestionWindow`).
const LEAST_RATE: f64 = 30_000.0;

/// Compares the bytes that are out with the window.
#[derive(Clone, Debug)]
pub(super) struct Pushback {
    /// Time of media that may be out beside the RTT; zero for no window.
    time: Span,
    rtts: VecDeque<Span>,
    /// In bytes; `None` before the first report.
    window: Option<f64>,
    /// Bytes sent that no report tells of yet.
    outstanding: f64,
    /// Share of the target that the encoder is to make.
    ratio: f64,
}

impl Pushback {
    pub(super) fn new(time: Span) -> Pushback {
        let rtts = VecDeque::with_capacity(REPORTS + 1);
        Pushback { time, rtts, window: None, outstanding: 0.0, ratio: 1.0 }
    }

    pub(super) fn on_send(&mut self, bytes: u32) {
        self.outstanding += f64::from(bytes);
        self.update();
    }

    /// A report has come: its oldest packet took `rtt`, `in_flight` bytes are still out, and the target
    /// is `target` bits per second.
    pub(super) fn on_report(&mut self, rtt: Span, in_flight: u64, target: f64) {
        self.outstanding = in_flight as f64;
        self.rtts.push_back(rtt);
        if self.rtts.len() > REPORTS {
            self.rtts.pop_front();
        }
        let least = self.rtts.iter().copied().min().unwrap_or(rtt);
        let window = target / 8.0 * (least + self.time).as_secs_f64();
        let window = self.window.map_or(window, |before| (before + window) / 2.0);
        self.window = (!self.time.is_zero()).then_some(window.max(LEAST_WINDOW));
        self.update();
    }

    /// Packets have arrived at unknown times, so that no report comes about them: `in_flight` bytes are still out.
    pub(super) fn on_untimed_arrivals(&mut self, in_flight: u64) {
        self.outstanding = in_flight as f64;
        self.update();
    }

    fn update(&mut self) {
        let Some(window) = self.window else { return };
        let fill = self.outstanding / window;
        if fill > 1.5 {
            self.ratio *= 0.9;
        } else if fill > 1.0 {
            self.ratio *= 0.95;
        } else if fill < 0.1 {
            self.ratio = 1.0;
        } else {
            self.ratio = (self.ratio * 1.05).min(1.0);
        }
        // Below any share that the least rate can be of a target, more reductions have no effect but
        // to take longer to grow back.
        self.ratio = self.ratio.max(1e-9);
    }

    /// Returns what the encoder is to make of a `target`, in bits per second.
    pub(super) fn rate(&self, target: f64) -> f64 {
        let lowered = target * self.ratio;
        if lowered < LEAST_RATE { target.min(LEAST_RATE) } else { lowered }
    }

    /// The window in bytes, if there is one.
    pub(super) fn window(&self) -> Option<f64> {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_window_lowers_the_encoders_rate() {
        let mut pushback = Pushback::new(Span::from_millis(350));
        pushback.on_report(Span::from_millis(150), 10_000, 1e6);
        // 1 Mbit/s for half a second.
        assert_eq!(pushback.window(), Some(62_500.0));
        assert_eq!(pushback.rate(1e6), 1e6);
        pushback.on_send(60_000);
        assert!((pushback.rate(1e6) / 0.95e6 - 1.0).abs() < 1e-12);
        pushback.on_send(30_000);
        assert!((pushback.rate(1e6) / (0.95 * 0.9e6) - 1.0).abs() < 1e-12);
        for _ in 0..100 {
            pushback.on_send(1200);
        }
        assert_eq!(pushback.rate(1e6), 30_000.0);
        assert_eq!(pushback.rate(20_000.0), 20_000.0);
        // All is acknowledged: at once.
        pushback.on_report(Span::from_millis(150), 0, 1e6);
        assert_eq!(pushback.rate(1e6), 1e6);
    }

    #[test]
    fn packets_that_arrive_at_unknown_times_leave_the_window() {
        let mut pushback = Pushback::new(Span::from_millis(350));
        pushback.on_report(Span::from_millis(150), 0, 1e6);
        for _ in 0..100 {
            pushback.on_send(1200);
        }
        assert_eq!(pushback.rate(1e6), 30_000.0);
        pushback.on_untimed_arrivals(0);
        assert_eq!(pushback.rate(1e6), 1e6);
    }

    #[test]
    fn the_shortest_rtt_counts_and_no_time_is_no_window() {
        let mut pushback = Pushback::new(Span::from_millis(350));
        pushback.on_report(Span::from_millis(50), 0, 1e6);
        for _ in 0..20 {
            pushback.on_report(Span::from_secs(2), 0, 1e6);
        }
        assert_eq!(pushback.window(), Some(50_000.0));
        let mut without = Pushback::new(Span::ZERO);
        without.on_report(Span::from_millis(50), 1 << 30, 1e6);
        without.on_send(1 << 30);
        assert_eq!(without.rate(1e6), 1e6);
    }
}

//! Pacing rate, bursts and window, computed from model and state.

use paceline_cc::{Feedback, Rate, Span};

use super::BbrSender;
use super::states::Mode;

/// Below this rate packets leave one by one (Linux `bbr_min_tso_rate`).
const SINGLE_RATE: Rate = Rate::from_bps(1_200_000);

impl BbrSender {
    /// Paces at the bandwidth times `gain`.
    pub(super) fn pace(&mut self, gain: f64) {
        let bw = self.bw();
        self.pacing.follow(bw, gain, self.states.is_full());
    }

    /// Sets the pacing rate on an acknowledgement.
    pub(super) fn set_pacing(&mut self, srtt: Span) {
        self.pacing.begin_measured(self.cwnd, srtt, self.params.high_gain);
        self.pace(self.pacing_gain());
    }

    /// Returns the bytes that leave back to back.
    pub(super) fn quantum(&self) -> u64 {
        let is_slow = self.pacing.rate() < SINGLE_RATE;
        self.pacing.burst(if is_slow { 1 } else { u64::from(self.params.min_quantum) })
    }

    /// Returns the smallest window.
    pub(super) fn min_window(&self) -> u64 {
        u64::from(self.params.min_window) * u64::from(self.mss)
    }

    /// Returns a window increased by the three bursts that the hosts themselves hold back. Rounds
    /// up to an even number of packets, so that delayed acknowledgements do not wait, and adds two
    /// packets in the phase whose flight is to exceed the path.
    fn with_quanta(&self, bytes: u64) -> u64 {
        let mss = u64::from(self.mss);
        let packets = bytes.div_ceil(mss) + 3 * (self.quantum() / mss);
        let packets = packets.next_multiple_of(2);
        (packets + if self.states.is_probing() { 2 } else { 0 }) * mss
    }

    fn bdp(&self, bw: Rate, gain: f64) -> u64 {
        let initial = (self.params.initial_window * f64::from(self.mss)) as u64;
        self.model.bdp(bw, gain).unwrap_or(initial)
    }

    /// Returns the flight that fills the path `gain` times.
    pub(super) fn inflight(&self, bw: Rate, gain: f64) -> u64 {
        self.with_quanta(self.bdp(bw, gain))
    }

    /// Sets the window after an acknowledgement of data.
    pub(super) fn set_window(&mut self, feedback: &Feedback<'_>) {
        let entered = self.recovery.take_entry();
        if entered {
            self.model.begin_round(feedback.delivered);
        }
        let (mut cwnd, conserving) = self.recovery.modulate(self.cwnd, feedback, entered);
        if !conserving {
            let bw = self.bw();
            let mut target = self.bdp(bw, self.cwnd_gain());
            if self.params.aggregation && self.states.is_full() {
                target += self.aggregation.extra(bw);
            }
            let target = self.with_quanta(target);
            let initial = (self.params.initial_window * f64::from(self.mss)) as u64;
            if self.states.is_full() {
                cwnd = (cwnd + feedback.acked).min(target);
            } else if cwnd < target || feedback.delivered < initial {
                cwnd += feedback.acked;
            }
            cwnd = cwnd.max(self.min_window());
        }
        if self.states.mode() == Mode::ProbeRtt {
            cwnd = cwnd.min(self.min_window());
        }
        self.cwnd = cwnd.max(u64::from(self.mss));
    }
}

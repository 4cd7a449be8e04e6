//! ABC's sender, as in `bpf/abc.h`: the simulator's `AbcSender` with its default parameters.

use super::WholeFeedback;
use super::cubic::Cubic;
use super::fixed::{MOST_ACKED, MOST_WINDOW, ONE, scale};
use super::reno::INITIAL_WINDOW;

const MIN_WINDOW: u64 = 2 * ONE;
/// Packets by which a window may exceed twice the packets in flight.
const SLACK: u64 = 5 * ONE;

/// ABC's sender: a window that follows accelerates and brakes, and Cubic's, which follows drops and
/// CE.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Abc {
    w: u64,
    cubic: Cubic,
    /// Most packets in flight in this round trip and in the previous one.
    flight: [u64; 2],
    rtt: u64,
}

impl Default for Abc {
    fn default() -> Abc {
        Abc { w: INITIAL_WINDOW, cubic: Cubic::default(), flight: [0; 2], rtt: 0 }
    }
}

impl Abc {
    /// Processes an acknowledgement or the expiry of the loss timer.
    pub(crate) fn on_feedback(&mut self, feedback: &WholeFeedback) {
        if feedback.rtt > 0 {
            self.rtt = feedback.rtt.min(feedback.srtt);
        }
        if feedback.acked > 0 || feedback.accelerates > 0 || feedback.brakes > 0 {
            self.obey(feedback);
        }
        self.cubic.on_feedback(feedback);
        self.cap(feedback);
    }

    fn obey(&mut self, feedback: &WholeFeedback) {
        let more = scale(feedback.acked.min(MOST_ACKED), ONE, self.w).min(ONE);
        let sum = (self.w + feedback.accelerates + more).saturating_sub(feedback.brakes);
        self.w = sum.clamp(MIN_WINDOW, MOST_WINDOW);
    }

    fn cap(&mut self, feedback: &WholeFeedback) {
        if feedback.round_start {
            self.flight = [feedback.prior_in_flight, self.flight[0]];
        }
        self.flight[0] = self.flight[0].max(feedback.prior_in_flight);
        let most = 2 * self.flight[0].max(self.flight[1]) + SLACK;
        self.cubic.cap(most);
        self.w = self.w.min(most);
    }

    /// Resumes sending after `idle` microseconds with nothing in flight.
    pub(crate) fn on_idle(&mut self, now: u64, idle: u64, rto: u64) {
        self.cubic.on_idle(now, idle, rto);
    }

    /// Returns the window that accelerates and brakes move, in packets.
    pub(crate) fn w(&self) -> u64 {
        self.w
    }

    /// Returns Cubic's window, which drops and CE move.
    pub(crate) fn cubic(&self) -> &Cubic {
        &self.cubic
    }

    /// Returns the window in use, in packets: the smaller of the two.
    pub(crate) fn window(&self) -> u64 {
        self.w.min(self.cubic.cwnd())
    }

    /// Returns the pacing rate in bytes per second: two windows per round trip; 0 before the first
    /// RTT sample.
    pub(crate) fn pacing(&self, mss: u64) -> u64 {
        let bytes = (self.window() * mss.min(65_536)) >> 16;
        (bytes.min(1 << 42) * 2_000_000).checked_div(self.rtt).unwrap_or(0)
    }
}

//! Linux' HyStart, as in `bpf/hystart.h`.

use super::WholeFeedback;
use super::fixed::{NEVER, ONE};

const LOW_WINDOW: u64 = 16 * ONE;
/// Longest gap between two acknowledgements of one train, in microseconds.
const TRAIN_GAP: u64 = 2000;
const MIN_SAMPLES: u64 = 8;

/// State of HyStart, which decides when slow start ends.
#[derive(Copy, Clone, Debug)]
pub(crate) struct HyStart {
    found: bool,
    /// Minimum RTT in slow start in microseconds; 0 if unknown.
    delay_min: u64,
    round_start: u64,
    /// Count of delivered packets beyond which the round trip is over.
    round_end: u64,
    last_ack: u64,
    round_min: u64,
    samples: u64,
}

impl Default for HyStart {
    fn default() -> HyStart {
        HyStart {
            found: false,
            delay_min: 0,
            round_start: 0,
            round_end: NEVER,
            last_ack: 0,
            round_min: NEVER,
            samples: 0,
        }
    }
}

impl HyStart {
    fn begin_round(&mut self, now: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_min = NEVER;
        self.samples = 0;
    }

    /// Forgets the path after a timeout, and begins a round trip.
    pub(crate) fn time_out(&mut self, feedback: &WholeFeedback) {
        self.found = false;
        self.delay_min = 0;
        self.round_end = feedback.delivered + feedback.prior_in_flight;
        self.begin_round(feedback.now);
    }

    /// Processes an acknowledgement in slow start. Returns true if slow start ends here.
    pub(crate) fn observe(&mut self, feedback: &WholeFeedback, cwnd: u64) -> bool {
        let rtt = feedback.rtt;
        if self.found || rtt == 0 {
            return false;
        }
        self.delay_min = if self.delay_min > 0 { self.delay_min.min(rtt) } else { rtt };
        if self.round_end == NEVER || feedback.delivered > self.round_end {
            self.round_end = feedback.delivered + feedback.in_flight;
            self.begin_round(feedback.now);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        self.found = self.train_is_long(feedback, cwnd) || self.delay_has_risen(rtt);
        self.found
    }

    fn train_is_long(&mut self, feedback: &WholeFeedback, cwnd: u64) -> bool {
        let bytes = (cwnd * feedback.mss.min(65_536)) >> 16;
        let cushion = (feedback.srtt.min(1 << 40) * 131_072 / bytes.max(1)).min(1000);
        if feedback.now > self.last_ack + TRAIN_GAP {
            return false;
        }
        self.last_ack = feedback.now;
        feedback.now > self.round_start + (self.delay_min + cushion) / 2
    }

    fn delay_has_risen(&mut self, rtt: u64) -> bool {
        self.round_min = self.round_min.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_min > self.delay_min + (self.delay_min / 8).clamp(4000, 16_000)
    }
}

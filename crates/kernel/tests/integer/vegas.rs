//! Vegas, as in `bpf/vegas.h`: the simulator's `VegasSender` with its default parameters.

use super::fixed::{NEVER, ONE, scale};
use super::reno::Reno;
use super::{Congestion, WholeFeedback};

/// Packets in the path's queues: below `ALPHA` the window opens, above `BETA` it closes, above
/// `GAMMA` slow start ends.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
const GAMMA: u64 = 1;
/// Minimum number of RTT samples in a round trip for Vegas to change the window.
const MIN_SAMPLES: u64 = 3;

/// Vegas' sender: changes its window once per round trip, by the queueing that RTTs show.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Vegas {
    window: Reno,
    /// Minimum RTT of the connection and of this round trip in microseconds; [`NEVER`] if unknown.
    base: u64,
    round_min: u64,
    samples: u64,
    /// The window at the start of this round trip, in whole packets.
    begun: u64,
    /// Whether Vegas controls the window; otherwise NewReno does.
    active: bool,
}

impl Default for Vegas {
    fn default() -> Vegas {
        let window = Reno::default();
        let begun = window.cwnd() / ONE;
        Vegas { window, base: NEVER, round_min: NEVER, samples: 0, begun, active: true }
    }
}

impl Vegas {
    /// Returns the window in packets.
    pub(crate) fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    /// Returns the slow-start threshold in packets; [`NEVER`] before the first congestion.
    pub(crate) fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn next_round(&mut self) {
        self.round_min = NEVER;
        self.samples = 0;
        self.begun = self.window.cwnd() / ONE;
    }

    /// Reduces the window to `packets`, and the threshold below it, which ends slow start.
    fn shrink(&mut self, packets: u64) {
        let packets = packets.max(2);
        self.window.set_cwnd(packets * ONE);
        let threshold = self.window.ssthresh().min((packets - 1) * ONE).max(2 * ONE);
        self.window.set_ssthresh(threshold);
    }

    /// Adjusts the window; called once per round trip.
    fn adjust(&mut self, may_grow: bool, acked: u64) {
        let cwnd = self.window.cwnd() / ONE;
        // Packets that fit into the path without a queue, and packets beyond them, in whole
        // packets.
        let target = self.begun * self.base.min(1 << 40) / self.round_min.max(1);
        let diff = self.begun.saturating_sub(target);
        if self.window.in_slow_start() {
            if diff > GAMMA {
                self.shrink(cwnd.min(target + 1));
            } else if may_grow {
                self.window.slow_start(acked);
            }
        } else if diff > BETA {
            self.shrink(cwnd - 1);
        } else if diff < ALPHA && may_grow {
            self.window.set_cwnd((cwnd + 1) * ONE);
        }
        let raised = scale(self.window.cwnd(), 3, 4);
        self.window.set_ssthresh(self.window.ssthresh().max(raised));
    }

    /// Processes an acknowledgement or the expiry of the loss timer.
    pub(crate) fn on_feedback(&mut self, feedback: &WholeFeedback) {
        if feedback.rtt > 0 {
            self.base = self.base.min(feedback.rtt);
            self.round_min = self.round_min.min(feedback.rtt);
            self.samples += 1;
        }
        if self.window.react(feedback.congestion) {
            self.active = false;
            if feedback.congestion != Congestion::Timeout {
                self.window.may_grow(feedback);
            }
            return;
        }
        let may_grow = self.window.may_grow(feedback);
        if feedback.in_recovery {
            self.active = false;
        } else if !self.active {
            self.active = true;
            self.next_round();
        }
        let ends = self.active && feedback.round_start;
        if ends && self.samples >= MIN_SAMPLES {
            self.adjust(may_grow, feedback.acked);
        } else if may_grow && (ends || !self.active) {
            self.window.grow(feedback.acked);
        } else if may_grow {
            self.window.slow_start(feedback.acked);
        }
        if ends {
            self.next_round();
        }
    }

    /// Sending resumes after `idle` microseconds with nothing in flight.
    pub(crate) fn on_idle(&mut self, idle: u64, rto: u64) {
        self.window.on_idle(idle, rto);
        if idle > rto {
            self.base = NEVER;
            self.next_round();
        }
    }
}

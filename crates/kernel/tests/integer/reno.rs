//! NewReno's window, as in `bpf/reno.h`: the simulator's `RenoWindow`.

use super::fixed::{MOST_WINDOW, NEVER, ONE, scale};
use super::{Congestion, WholeFeedback};

/// Window of a connection that begins (RFC 6928).
pub(crate) const INITIAL_WINDOW: u64 = 10 * ONE;

/// Returns a window of `cwnd` packets after `idle` microseconds with nothing in flight: halved once
/// per timeout, down to the initial window (Linux `tcp_cwnd_restart`).
pub(crate) fn after_idle(mut cwnd: u64, idle: u64, rto: u64) -> u64 {
    let floor = INITIAL_WINDOW.min(cwnd);
    let mut left = idle;
    // The largest window reaches the initial one after 17 halvings.
    for _ in 0..24 {
        if left <= rto || cwnd <= floor {
            break;
        }
        left -= rto;
        cwnd = (cwnd / 2).max(floor);
    }
    cwnd
}

/// NewReno's congestion window and the state that moves it. Windows and thresholds are in packets.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Reno {
    cwnd: u64,
    /// Part of the window below its 16 fraction bits, in units of 2^-32 packets.
    fraction: u64,
    ssthresh: u64,
    /// Packets acknowledged in congestion avoidance that have not yet opened the window.
    credit: u64,
    /// The window and threshold before the last reduction.
    before: Option<(u64, u64)>,
    repairing: bool,
    timed_out: bool,
}

impl Default for Reno {
    fn default() -> Reno {
        Reno {
            cwnd: INITIAL_WINDOW,
            fraction: 0,
            ssthresh: NEVER,
            credit: 0,
            before: None,
            repairing: false,
            timed_out: false,
        }
    }
}

impl Reno {
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub(crate) fn set_cwnd(&mut self, packets: u64) {
        self.cwnd = packets.clamp(ONE, MOST_WINDOW);
    }

    /// Opens the window by `counts / cwnd` packets; `counts` is below 2^15. Keeps the part below 16
    /// fraction bits in `fraction`: rounding errors of many acknowledgements would add up.
    pub(crate) fn add_share(&mut self, counts: u64) {
        self.fraction += (counts << 48) / self.cwnd;
        self.set_cwnd(self.cwnd + (self.fraction >> 16));
        self.fraction &= 0xffff;
    }

    pub(crate) fn set_ssthresh(&mut self, packets: u64) {
        self.ssthresh = packets;
    }

    fn halve(&mut self) {
        let halved = (self.cwnd >> 17) << 16;
        self.before = Some((self.cwnd, self.ssthresh.max(scale(self.cwnd, 3, 4))));
        self.ssthresh = halved.max(2 * ONE);
        self.cwnd = self.ssthresh.min(self.cwnd);
        self.fraction = 0;
        self.credit = 0;
    }

    fn time_out(&mut self) {
        if !self.repairing || (self.timed_out && self.cwnd > ONE) {
            self.halve();
        }
        self.cwnd = ONE;
        self.credit = 0;
        self.repairing = true;
        self.timed_out = true;
    }

    /// Reacts as NewReno does. Returns true if it has reduced the window.
    pub(crate) fn react(&mut self, congestion: Congestion) -> bool {
        match congestion {
            Congestion::None => false,
            Congestion::Loss | Congestion::Ecn => {
                self.halve();
                true
            }
            Congestion::Timeout => {
                self.time_out();
                true
            }
            Congestion::Undo => {
                if let Some((cwnd, ssthresh)) = self.before.take() {
                    self.cwnd = self.cwnd.max(cwnd);
                    self.ssthresh = self.ssthresh.max(ssthresh);
                }
                false
            }
        }
    }

    /// True if this feedback may open the window.
    pub(crate) fn may_grow(&mut self, feedback: &WholeFeedback) -> bool {
        self.repairing = feedback.in_recovery;
        self.timed_out &= feedback.in_recovery;
        if (self.repairing && !self.timed_out) || !feedback.may_raise_cwnd {
            return false;
        }
        let half_used = self.cwnd < 2 * feedback.max_in_flight;
        feedback.cwnd_limited || (self.in_slow_start() && half_used)
    }

    /// Opens the window by `acked` packets up to the threshold; returns the packets left over.
    pub(crate) fn slow_start(&mut self, acked: u64) -> u64 {
        if !self.in_slow_start() {
            return acked;
        }
        let opened = (self.cwnd + acked).min(self.ssthresh);
        let rest = acked - (opened - self.cwnd);
        self.set_cwnd(opened);
        rest
    }

    /// Opens the window: slow start up to the threshold, then one packet per window acknowledged.
    pub(crate) fn grow(&mut self, acked: u64) {
        self.credit += self.slow_start(acked);
        if self.credit >= self.cwnd {
            let more = self.credit / self.cwnd;
            self.credit -= more * self.cwnd;
            self.set_cwnd(self.cwnd + more * ONE);
        }
    }

    /// Processes an acknowledgement or the expiry of the loss timer.
    pub(crate) fn on_feedback(&mut self, feedback: &WholeFeedback) {
        let reduced = self.react(feedback.congestion);
        if feedback.congestion == Congestion::Timeout {
            return;
        }
        let grows = self.may_grow(feedback);
        if grows && !reduced {
            self.grow(feedback.acked);
        }
    }

    /// Halves the window once per timeout within `idle` microseconds with nothing in flight, down to
    /// the initial window (Linux `tcp_cwnd_restart`).
    pub(crate) fn on_idle(&mut self, idle: u64, rto: u64) {
        let cwnd = self.cwnd;
        self.cwnd = after_idle(cwnd, idle, rto);
        if self.cwnd < cwnd {
            self.ssthresh = self.ssthresh.max(scale(cwnd, 3, 4));
            self.credit = 0;
        }
    }

    /// Reacts as to a loss, and then reduces the window to one packet; no undo is possible (C2TCP).
    pub(crate) fn back_off(&mut self) {
        self.halve();
        self.before = None;
        self.cwnd = ONE;
    }
}

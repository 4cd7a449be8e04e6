//! Cubic's window, as in `bpf/cubic.h`: the simulator's `CubicWindow` with its default parameters
//! and without HyStart, which C2TCP adds.

use super::fixed::{MOST_ACKED, MOST_WINDOW, NEVER, ONE, cube, cube_root, scale, seconds};
use super::reno::{INITIAL_WINDOW, after_idle};
use super::{Congestion, WholeFeedback};

/// One congestion epoch.
#[derive(Copy, Clone, Debug)]
struct Curve {
    /// The window at which congestion is expected; 0 while unknown.
    w_max: u64,
    /// Window before the last reduction.
    prior: u64,
    /// Start of the epoch in microseconds; [`NEVER`] outside of one.
    epoch: u64,
    /// Seconds from the epoch's start to the plateau, and the window there (Q16).
    k: u64,
    origin: u64,
    /// Window of the Reno-friendly region (RFC 9438 §4.3).
    w_est: u64,
}

impl Curve {
    const NEW: Curve = Curve { w_max: 0, prior: 0, epoch: NEVER, k: 0, origin: 0, w_est: 0 };

    fn reduce(&mut self, cwnd: u64) -> u64 {
        self.w_max = if cwnd < self.w_max { scale(cwnd, 17, 20) } else { cwnd };
        self.prior = cwnd;
        self.epoch = NEVER;
        scale(cwnd, 7, 10)
    }

    fn stand_still(&mut self, now: u64, span: u64) {
        if self.epoch != NEVER {
            self.epoch = self.epoch.saturating_add(span).min(now);
        }
    }

    fn at(&self, t: u64) -> u64 {
        let x = seconds(t);
        if x >= self.k {
            self.origin + scale(cube(x - self.k), 2, 5)
        } else {
            self.origin.saturating_sub(scale(cube(self.k - x), 2, 5))
        }
    }

    fn advance(&mut self, now: u64, srtt: u64, cwnd: u64, acked: u64) -> u64 {
        if self.epoch == NEVER {
            self.epoch = now;
            self.w_est = cwnd;
            self.origin = self.w_max.max(cwnd);
            self.k = cube_root(scale(self.origin - cwnd, 5, 2));
        }
        let acked = acked.min(MOST_ACKED);
        let aim = self.at(now.saturating_sub(self.epoch).saturating_add(srtt));
        let mut grown = cwnd;
        if aim > cwnd {
            grown += scale(acked, (aim - cwnd).min(cwnd / 2), cwnd);
        }
        if self.w_max == 0 {
            grown = grown.max(cwnd + scale(acked, 1, 20));
        }
        self.w_est += if self.w_est < self.prior {
            scale(9 * acked, ONE, 17 * cwnd)
        } else {
            scale(acked, ONE, cwnd)
        };
        grown.max(self.w_est)
    }
}

/// Cubic's congestion window and the state that moves it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Cubic {
    cwnd: u64,
    ssthresh: u64,
    /// The window and threshold before the last reduction.
    before: Option<(u64, u64)>,
    curve: Curve,
    curve_before: Curve,
    last: u64,
    repairing: bool,
    timed_out: bool,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic {
            cwnd: INITIAL_WINDOW,
            ssthresh: NEVER,
            before: None,
            curve: Curve::NEW,
            curve_before: Curve::NEW,
            last: 0,
            repairing: false,
            timed_out: false,
        }
    }
}

impl Cubic {
    /// Returns the window in packets.
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn set_cwnd(&mut self, packets: u64) {
        self.cwnd = packets.clamp(ONE, MOST_WINDOW);
    }

    /// Processes an acknowledgement or the expiry of the loss timer.
    pub(crate) fn on_feedback(&mut self, feedback: &WholeFeedback) {
        let reduced = self.react(feedback.congestion);
        let since = feedback.now.saturating_sub(self.last);
        let grows = self.may_grow(feedback);
        self.last = feedback.now;
        if reduced {
            return;
        }
        if grows {
            self.grow(feedback);
        } else if feedback.may_raise_cwnd {
            self.curve.stand_still(feedback.now, since);
        }
    }

    fn react(&mut self, congestion: Congestion) -> bool {
        match congestion {
            Congestion::None => false,
            Congestion::Loss | Congestion::Ecn => {
                self.congested();
                true
            }
            Congestion::Timeout => {
                self.time_out();
                true
            }
            Congestion::Undo => {
                self.undo();
                false
            }
        }
    }

    fn congested(&mut self) {
        self.curve_before = self.curve;
        let packets = self.curve.reduce(self.cwnd);
        self.before = Some((self.cwnd, self.ssthresh.max(scale(self.cwnd, 3, 4))));
        self.ssthresh = packets.max(2 * ONE);
        self.cwnd = self.ssthresh.min(self.cwnd);
    }

    fn time_out(&mut self) {
        if !self.repairing || (self.timed_out && self.cwnd > ONE) {
            self.congested();
        }
        self.curve.w_max = 0;
        self.curve.epoch = NEVER;
        self.cwnd = ONE;
        self.repairing = true;
        self.timed_out = true;
    }

    fn undo(&mut self) {
        let Some((cwnd, ssthresh)) = self.before.take() else { return };
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        self.curve = self.curve_before;
    }

    fn may_grow(&mut self, feedback: &WholeFeedback) -> bool {
        self.repairing = feedback.in_recovery;
        self.timed_out &= feedback.in_recovery;
        if (self.repairing && !self.timed_out) || !feedback.may_raise_cwnd {
            return false;
        }
        let half_used = self.cwnd < 2 * feedback.max_in_flight;
        feedback.cwnd_limited || (self.cwnd < self.ssthresh && half_used)
    }

    fn grow(&mut self, feedback: &WholeFeedback) {
        let mut rest = feedback.acked;
        if self.cwnd < self.ssthresh {
            let opened = (self.cwnd + rest).min(self.ssthresh);
            rest -= opened - self.cwnd;
            self.set_cwnd(opened);
        }
        if rest > 0 {
            let cwnd = self.curve.advance(feedback.now, feedback.srtt, self.cwnd, rest);
            self.set_cwnd(cwnd);
        }
    }

    /// Resumes sending after `idle` microseconds with nothing in flight.
    pub(crate) fn on_idle(&mut self, now: u64, idle: u64, rto: u64) {
        self.curve.stand_still(now, idle);
        self.last = self.last.max(now);
        let cwnd = self.cwnd;
        self.cwnd = after_idle(cwnd, idle, rto);
        if self.cwnd < cwnd {
            self.ssthresh = self.ssthresh.max(scale(cwnd, 3, 4));
            self.curve.epoch = NEVER;
        }
    }

    /// True below the slow-start threshold.
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Ends slow start: sets the threshold to the window.
    pub(crate) fn leave_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Opens the window by `packets` beside Cubic's own growth (C2TCP).
    pub(crate) fn add(&mut self, packets: u64) {
        self.set_cwnd(self.cwnd + packets);
    }

    /// Reacts as to a loss, and then reduces the window to one packet; no undo is possible.
    pub(crate) fn back_off(&mut self) {
        let before = self.curve_before;
        self.congested();
        self.curve_before = before;
        self.before = None;
        self.cwnd = ONE;
    }

    /// Lowers the window to at most `packets`.
    pub(crate) fn cap(&mut self, packets: u64) {
        if packets < self.cwnd {
            self.cwnd = packets.max(ONE);
            self.curve.w_est = self.curve.w_est.min(self.cwnd);
        }
    }
}

//! Cubic's window: what Cubic, ABC's second window and C2TCP share.

use super::CubicParams;
use super::curve::Curve;
use super::hystart::HyStart;
use crate::control::{Congestion, Established, Feedback};
use crate::parts::RenoWindow;
use crate::units::{Span, Time};

/// Cubic's congestion window and all that moves it.
#[derive(Clone, Debug)]
pub struct CubicWindow {
    pub(super) base: RenoWindow,
    curve: Curve,
    /// The curve before the last reduction, for its undoing.
    before: Curve,
    hystart: HyStart,
    initial: f64,
    /// The time of the last feedback.
    last: Time,
}

impl CubicWindow {
    /// A window before the first packet.
    pub fn new(params: &CubicParams) -> CubicWindow {
        let curve = Curve::new(params);
        CubicWindow {
            base: RenoWindow::new(params.initial_window),
            curve,
            before: curve,
            hystart: HyStart::new(params.hystart),
            initial: params.initial_window,
            last: Time::ZERO,
        }
    }

    /// The window in packets; at least 1.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.base.cwnd()
    }
    /// The slow-start threshold in packets; infinite before the first congestion.
    #[inline]
    pub fn ssthresh(&self) -> f64 {
        self.base.ssthresh()
    }
    /// True below the slow-start threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.base.in_slow_start()
    }
    /// The whole packets of the window, in bytes.
    #[inline]
    pub fn bytes(&self, mss: u32) -> u64 {
        self.base.bytes(mss)
    }
    /// Tells HyStart whether packets leave at a pacing rate; they do not unless said.
    pub fn set_paced(&mut self, paced: bool) {
        self.hystart.set_paced(paced);
    }

    /// The handshake is over. HyStart starts without an RTT, as in Linux, whose `bictcp_init` forgets
    /// that of the handshake.
    pub fn begin_connection(&mut self, established: &Established) {
        self.base.begin_connection(established);
    }

    /// An acknowledgement came, or a loss timer expired.
    #[inline]
    pub fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if self.base.in_slow_start() && self.hystart.observe(feedback, self.cwnd()) {
            self.base.leave_slow_start();
        }
        let reduced = match feedback.congestion {
            None => false,
            Some(congestion) => self.react(congestion, feedback),
        };
        let since_last = feedback.now.since(self.last);
        self.last = feedback.now;
        let grows = self.base.may_grow(feedback);
        if reduced {
            // The window has just shrunk; `may_grow` noted the state of the repair.
        } else if grows {
            self.grow(feedback);
        } else if feedback.may_raise_cwnd {
            self.curve.stand_still(feedback.now, since_last);
        }
    }

    /// Returns whether the window was reduced.
    fn react(&mut self, congestion: Congestion, feedback: &Feedback<'_>) -> bool {
        let curve = self.curve;
        match congestion {
            Congestion::Loss | Congestion::Ecn => {
                let packets = self.curve.reduce(self.cwnd());
                self.base.reduce(packets);
                self.hystart.on_congestion();
                self.before = curve;
            }
            Congestion::Timeout => {
                let packets = self.curve.reduce(self.cwnd());
                if self.base.time_out(packets) {
                    self.before = curve;
                } else {
                    self.curve = curve;
                }
                self.curve.forget();
                self.hystart.on_timeout(feedback);
            }
            Congestion::Undo => {
                if self.base.undo() {
                    self.curve = self.before;
                }
                return false;
            }
            // The mark has reduced the window.
            Congestion::LossAfterMark => return false,
        }
        true
    }

    #[inline]
    fn grow(&mut self, feedback: &Feedback<'_>) {
        let mut acked = RenoWindow::acked(feedback);
        if self.base.in_slow_start() {
            acked = self.slow_start(feedback, acked);
        }
        if acked > 0.0 {
            let cwnd = self.curve.advance(feedback, self.cwnd(), acked);
            self.base.set_cwnd(cwnd);
        }
    }

    /// Returns the packets acknowledged that are left for congestion avoidance.
    fn slow_start(&mut self, feedback: &Feedback<'_>, acked: f64) -> f64 {
        match self.hystart.on_ack(feedback, acked) {
            Some(opened) => self.base.slow_start(opened),
            None => {
                self.base.leave_slow_start();
                acked
            }
        }
    }

    /// Sending resumes after `idle` without anything in flight: the epoch does not count that
    /// time, and the window halves per timeout as in Linux.
    pub fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.curve.stand_still(now, idle);
        self.last = self.last.max(now);
        if self.base.restart(self.initial, idle, rto) {
            self.curve.end_epoch();
        }
    }

    /// Lowers the window to at most `packets` (but not below 1): ABC keeps both of its windows
    /// within twice what is in flight.
    pub fn cap(&mut self, packets: f64) {
        if packets < self.cwnd() {
            self.base.cap(packets);
            self.curve.cap(self.cwnd());
        }
    }

    /// Opens the window by `packets` beside Cubic's own growth (C2TCP).
    pub fn add(&mut self, packets: f64) {
        self.base.set_cwnd(self.cwnd() + packets.max(0.0));
    }

    /// Reacts as to a loss, and then sets the window to `packets` (C2TCP's back-off to 1): slow
    /// start leads back to where the loss would have left it. It cannot be undone.
    pub fn back_off(&mut self, packets: f64) {
        let reduced = self.curve.reduce(self.cwnd());
        self.base.reduce(reduced);
        self.base.commit();
        self.base.set_cwnd(packets.min(self.cwnd()));
    }

    /// Names and values of inner state, for plots.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.cwnd());
        if self.ssthresh().is_finite() {
            see("ssthresh", self.ssthresh());
        }
        see("w_max", self.curve.w_max());
        see("w_est", self.curve.w_est());
        see("k", 1e3 * self.curve.k());
    }
}

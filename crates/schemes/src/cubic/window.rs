//! Cubic's window, shared by Cubic, ABC's second window and C2TCP.

use paceline_cc::{Congestion, Established, Feedback, Span, Time};

use super::CubicParams;
use super::curve::{Curve, Growth};
use super::hystart::HyStart;
use super::whole::WholeCurve;
use crate::parts::RenoWindow;

/// Cubic's congestion window with its rules.
#[derive(Clone, Debug)]
pub struct CubicWindow {
    pub(super) base: RenoWindow,
    rule: Rule,
    /// The curve before the last reduction, to undo it.
    before: Rule,
    hystart: HyStart,
    initial: f64,
    /// Time of the last feedback.
    last: Time,
}

/// How the window grows in congestion avoidance.
#[derive(Copy, Clone, Debug)]
enum Rule {
    /// By fractions of packets.
    Fractions(Curve),
    /// By whole packets, as Linux does.
    Whole(WholeCurve),
}

impl Rule {
    fn new(params: &CubicParams) -> Rule {
        match params.growth == Growth::Linux && params.whole_packets {
            true => Rule::Whole(WholeCurve::new(params)),
            false => Rule::Fractions(Curve::new(params)),
        }
    }

    /// Handles congestion at a window of `cwnd`; returns the reduced window.
    fn reduce(&mut self, cwnd: f64) -> f64 {
        match self {
            Rule::Fractions(curve) => curve.reduce(cwnd),
            Rule::Whole(curve) => curve.reduce(cwnd as u64) as f64,
        }
    }

    /// Forgets the path.
    fn forget(&mut self) {
        match self {
            Rule::Fractions(curve) => curve.forget(),
            Rule::Whole(curve) => curve.forget(),
        }
    }
}

impl CubicWindow {
    /// Returns a window before the first packet.
    pub fn new(params: &CubicParams) -> CubicWindow {
        let rule = Rule::new(params);
        CubicWindow {
            base: RenoWindow::new(params.initial_window),
            rule,
            before: rule,
            hystart: HyStart::new(params.hystart),
            initial: params.initial_window,
            last: Time::ZERO,
        }
    }

    /// Returns the window in packets; at least 1.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.base.cwnd()
    }
    /// Returns the slow-start threshold in packets; infinite before the first congestion.
    #[inline]
    pub fn ssthresh(&self) -> f64 {
        self.base.ssthresh()
    }
    /// Returns true below the slow-start threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.base.in_slow_start()
    }
    /// Returns the whole packets of the window, in bytes.
    #[inline]
    pub fn bytes(&self, mss: u32) -> u64 {
        self.base.bytes(mss)
    }
    /// Sets whether packets leave at a pacing rate; the default is that they do not.
    pub fn set_paced(&mut self, paced: bool) {
        self.hystart.set_paced(paced);
    }

    /// Takes in the result of the handshake. HyStart starts without an RTT, as in Linux, whose
    /// `bictcp_init` discards that of the handshake.
    pub fn begin_connection(&mut self, established: &Established) {
        self.base.begin_connection(established);
    }

    /// Takes in an acknowledgement, or the expiry of a loss timer.
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
            // The window was just reduced, so it does not grow; `may_grow` was called to note the
            // state of the repair.
        } else if grows {
            self.grow(feedback);
        } else if let Rule::Fractions(curve) = &mut self.rule
            && feedback.may_raise_cwnd
        {
            curve.stand_still(feedback.now, since_last);
        }
    }

    /// Reacts to congestion. Returns whether the window was reduced.
    fn react(&mut self, congestion: Congestion, feedback: &Feedback<'_>) -> bool {
        let rule = self.rule;
        match congestion {
            Congestion::Loss | Congestion::Ecn => {
                let packets = self.rule.reduce(self.cwnd());
                self.base.reduce(packets);
                self.hystart.on_congestion();
                self.before = rule;
            }
            Congestion::Timeout => {
                let packets = self.rule.reduce(self.cwnd());
                if self.base.time_out(packets) {
                    self.before = rule;
                } else {
                    self.rule = rule;
                }
                self.rule.forget();
                self.hystart.on_timeout(feedback);
            }
            Congestion::Undo => {
                // Linux raises the window and leaves the curve as the mistaken reduction set it.
                if self.base.undo() && matches!(self.rule, Rule::Fractions(_)) {
                    self.rule = self.before;
                }
                return false;
            }
            // The mark has reduced the window already.
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
        if acked <= 0.0 {
            return;
        }
        let cwnd = self.cwnd();
        match &mut self.rule {
            Rule::Fractions(curve) => {
                let cwnd = curve.advance(feedback, cwnd, acked);
                self.base.set_cwnd(cwnd);
            }
            Rule::Whole(curve) => {
                let pace = curve.pace(feedback, cwnd, acked);
                self.base.open_by_one_per(pace, acked);
            }
        }
    }

    /// Grows the window in slow start. Returns the packets acknowledged that are left for
    /// congestion avoidance.
    fn slow_start(&mut self, feedback: &Feedback<'_>, acked: f64) -> f64 {
        match self.hystart.on_ack(feedback, acked) {
            Some(opened) => self.base.slow_start(opened),
            None => {
                self.base.leave_slow_start();
                acked
            }
        }
    }

    /// Resumes after `idle` without anything in flight: the epoch excludes that time, and the
    /// window halves once per timeout, as in Linux.
    pub fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.last = self.last.max(now);
        let restarts = self.base.restart(self.initial, idle, rto);
        match &mut self.rule {
            Rule::Whole(curve) => curve.stand_still(now, idle),
            Rule::Fractions(curve) if restarts => curve.end_epoch(),
            Rule::Fractions(curve) => curve.stand_still(now, idle),
        }
    }

    /// Limits the window to `packets` (but not below 1): ABC limits both of its windows to twice
    /// the flight.
    pub fn cap(&mut self, packets: f64) {
        if packets < self.cwnd() {
            self.base.cap(packets);
            let cwnd = self.cwnd();
            match &mut self.rule {
                Rule::Fractions(curve) => curve.cap(cwnd),
                Rule::Whole(curve) => curve.cap(cwnd as u64),
            }
        }
    }

    /// Opens the window by `packets`, in addition to Cubic's own growth (C2TCP).
    pub fn add(&mut self, packets: f64) {
        self.base.set_cwnd(self.cwnd() + packets.max(0.0));
    }

    /// Reacts as to a loss, and then sets the window to `packets` (C2TCP's back-off to 1). Slow
    /// start leads back to the window after a loss. Cannot be undone.
    pub fn back_off(&mut self, packets: f64) {
        let reduced = self.rule.reduce(self.cwnd());
        self.base.reduce(reduced);
        self.base.commit();
        self.base.set_cwnd(packets.min(self.cwnd()));
    }

    /// Calls `see` with names and values of inner state, for plots.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.cwnd());
        if self.ssthresh().is_finite() {
            see("ssthresh", self.ssthresh());
        }
        let (w_max, w_est, k) = match &self.rule {
            Rule::Fractions(curve) => (curve.w_max(), curve.w_est(), curve.k()),
            Rule::Whole(curve) => (curve.w_max() as f64, curve.reno() as f64, curve.k()),
        };
        see("w_max", w_max);
        see("w_est", w_est);
        see("k", 1e3 * k);
    }
}

//! TCP Prague: DCTCP made fit for the Internet (L4S).
//!
//! # What it does
//! As DCTCP, it reduces its window by half the average share of packets that routers mark, at most
//! once per round trip. What makes it fit: packets leave as ECT(1), which dual queues send to
//! their shallow side; they are paced, a little faster than the window, so that shallow thresholds
//! are not tripped by bursts; and flows of short RTTs behave as if theirs were `rtt_target`, so
//! that they do not push others aside. To losses it reacts as Reno, also in the round trip after a mark.
//!
//! # Signals it needs
//! Counts of CE (AccECN); packets leave as ECT(1).
//!
//! # Parameters
//! The window moves in whole packets and is never below two; Prague's fractional windows for very
//! short RTTs are not needed where one packet may always leave. There is no fallback for routers
//! that mark ECT(1) as a classic AQM does.
//!
//! # Where it fails
//! Over a single queue that marks late it takes more than its share from Reno and Cubic, since it
//! reduces less. Where nobody marks it is Reno, and fills the buffer. Over links whose rate falls
//! within a round trip, the shallow queue it relies on is gone before its marks have come back.
//!
//! # Source
//! K. De Schepper, O. Tilmans, B. Briscoe, V. Goel: Prague Congestion Control,
//! draft-briscoe-iccrg-prague-congestion-control; RFC 9330 and RFC 9331 §4.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{
    Congestion, Controller, Ecn, Established, Feedback, Halves, Params, Plan, Rate, Signals, Span,
    Time,
};

use crate::parts::{INITIAL_WINDOW, MarkEcho, MarkShare, RenoWindow, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{BulkSetting, Scheme};

paceline_cc::params! {
    /// Parameters of TCP Prague.
    pub struct PragueParams {
        /// Weight of a new round trip in the average share of marks.
        g: f64 = 0.0625, in above(0.0).up_to(1.0), source "draft §2.4.2";
        /// The average until the first mark, as in Linux (`saw_ce`).
        alpha0: f64 = 1.0, in 0.0..=1.0, source "draft §2.4.2";
        /// Share of the window that is left after a loss.
        loss_beta: f64 = 0.5, in above(0.0).below(1.0), source "draft §2.4.3";
        /// The RTT that flows of shorter ones behave as if they had.
        rtt_target: Span = Span::from_millis(25), source "draft §2.4.4";
        /// Pacing rate; twice this in slow start.
        pacing: f64 = 1.2, in 1.0..=100.0, unit "windows per RTT", source "draft §2.4.5";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
    }
}

/// The receiver's half of TCP Prague: DCTCP's.
pub type PragueReceiver = MarkEcho;

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "prague",
    summary: "DCTCP for the Internet: paced, independent of short RTTs, on ECT(1)",
    source: "draft-briscoe-iccrg-prague-congestion-control",
    params: PragueParams::infos,
    plot_style: PlotStyle::new(Hue::Ochre, Dash::Dotted, Shape::Square),
    bulk: Some(BulkSetting {
        spec: "prague+step",
        reason: "it needs a queue that marks; this one marks above 20 packets",
    }),
    note: Some(
        "it is made for a queue that marks, as in prague+step; without marks it is Reno, \
         which adds a packet per RTT",
    ),
    build: |spec| {
        let params: PragueParams = spec.params()?;
        Ok(Halves {
            reporter: Some(Arc::new(|| Box::new(PragueReceiver::default()))),
            ..Halves::sender(move |setup| PragueSender::new(&params, setup.mss))
        })
    },
};

/// The sender's half of TCP Prague.
#[derive(Clone, Debug)]
pub struct PragueSender {
    window: RenoWindow,
    params: PragueParams,
    mss: u32,
    marks: MarkShare,
    /// When the average share of marks was last moved.
    since: Time,
    srtt: Span,
    /// Growth of congestion avoidance that is not yet a whole packet.
    growth: f64,
}

impl PragueSender {
    /// A sender of packets of `mss` bytes.
    pub fn new(params: &PragueParams, mss: u32) -> PragueSender {
        PragueSender {
            window: RenoWindow::new(params.initial_window),
            params: params.clone(),
            mss: mss.max(1),
            marks: MarkShare::new(params.alpha0, params.g).from_first_mark(),
            since: Time::ZERO,
            srtt: Span::ZERO,
            growth: 0.0,
        }
    }

    /// The RTT that the flow behaves as if it had.
    fn virtual_rtt(&self) -> Span {
        self.srtt.max(self.params.rtt_target)
    }

    /// Moves the average of marks once per virtual round trip.
    fn count(&mut self, feedback: &Feedback<'_>) {
        self.marks.count(feedback);
        let over = feedback.now.since(self.since) >= self.virtual_rtt();
        if over && self.marks.end_window() {
            self.since = feedback.now;
        }
    }

    /// Packets by which a round trip's acknowledgements grow the window: 1 at or above the target
    /// RTT, and below it so much less that window over virtual RTT grows as it would there.
    fn increase(&self) -> f64 {
        let (real, as_if) = (self.srtt.as_secs_f64(), self.virtual_rtt().as_secs_f64());
        if as_if > 0.0 { (real / as_if) * (real / as_if) } else { 1.0 }
    }
}

impl Controller for PragueSender {
    fn needs(&self) -> Signals {
        Signals::ECN
    }

    fn on_established(&mut self, established: &Established) {
        self.window.begin_connection(established);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        self.count(feedback);
        let cwnd = self.window.cwnd();
        match feedback.congestion {
            None => {}
            Some(Congestion::Ecn) => {
                self.window.reduce(cwnd * (1.0 - self.marks.alpha() / 2.0));
                self.window.may_grow(feedback);
                return;
            }
            Some(Congestion::Loss | Congestion::LossAfterMark) => {
                self.window.reduce(cwnd * self.params.loss_beta);
                self.window.may_grow(feedback);
                return;
            }
            Some(Congestion::Timeout) => {
                self.window.time_out(cwnd * self.params.loss_beta);
                return;
            }
            Some(Congestion::Undo) => {
                self.window.undo();
            }
        }
        if self.window.may_grow(feedback) {
            let rest = self.window.slow_start(RenoWindow::acked(feedback));
            // Grow as the real round trips of a flow of the target RTT would.
            self.growth += rest * self.increase();
            let whole = libm::floor(self.growth);
            self.growth -= whole;
            self.window.avoid_congestion(whole);
        }
    }

    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.window.restart(self.params.initial_window, idle, rto);
    }

    fn plan(&self) -> Plan {
        let bytes = self.window.bytes(self.mss);
        let plan = Plan::window(bytes).ecn(Ecn::Ect1);
        if self.srtt.is_zero() {
            return plan;
        }
        let faster = if self.window.in_slow_start() { 2.0 } else { 1.0 };
        let rate = self.params.pacing * faster * bytes as f64 / self.srtt.as_secs_f64();
        plan.paced(Rate::from_bytes_per_sec(rate), self.mss)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window.cwnd());
        see("alpha", self.marks.alpha());
    }
}

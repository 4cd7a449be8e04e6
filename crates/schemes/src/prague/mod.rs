//! TCP Prague: DCTCP adapted to the Internet (L4S).
//!
//! # What it does
//! As DCTCP, it reduces its window by half the average share of packets that routers mark, at most
//! once per round trip. Three things adapt it to the Internet. Packets leave as ECT(1), which dual
//! queues put into their shallow queue. They are paced slightly faster than the window, so that
//! bursts do not exceed shallow thresholds. Flows of short RTTs behave as if their RTT were
//! `rtt_target`, so that they do not displace others. To losses it reacts as Reno, also in the
//! round trip after a mark.
//!
//! # Signals it needs
//! Counts of CE (AccECN); packets leave as ECT(1).
//!
//! # Parameters
//! The window changes in whole packets and is never below two. Prague's fractional windows for very
//! short RTTs are not needed here, since one packet may always leave. There is no fallback for
//! routers that mark ECT(1) as a classic AQM does.
//!
//! # Where it fails
//! On a single queue that marks late it takes more than its share from Reno and Cubic, since it
//! reduces less. On a path without marks it is Reno, and fills the buffer. On links whose rate
//! falls within a round trip, the shallow queue is gone before its marks have returned.
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
use crate::scheme::{BulkSetting, Note, Scheme};

paceline_cc::params! {
    /// Parameters of TCP Prague.
    pub struct PragueParams {
        /// Weight of a new round trip in the average share of marks.
        g: f64 = 0.0625, in above(0.0).up_to(1.0), source "draft §2.4.2";
        /// The average until the first mark, as in Linux (`saw_ce`).
        alpha0: f64 = 1.0, in 0.0..=1.0, source "draft §2.4.2";
        /// Share of the window that remains after a loss.
        loss_beta: f64 = 0.5, in above(0.0).below(1.0), source "draft §2.4.3";
        /// RTT as which flows of shorter RTTs behave.
        rtt_target: Span = Span::from_millis(25), source "draft §2.4.4";
        /// Pacing rate; twice this in slow start.
        pacing: f64 = 1.2, in 1.0..=100.0, unit "windows per RTT", source "draft §2.4.5";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
    }
}

/// The receiver's half of TCP Prague: DCTCP's.
pub type PragueReceiver = MarkEcho;

/// Entry in the table of schemes.
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
    note: Some(Note::new(
        "it is made for a queue that marks, as in prague+step; without marks it is Reno, \
         which adds a packet per RTT",
    )),
    build: |spec| {
        let params: PragueParams = spec.params()?;
        Ok(Halves {
            reporter: Some(Arc::new(|_| Box::new(PragueReceiver::default()))),
            adds_to_stock_receiver: true,
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
    /// When the average share of marks was last updated.
    since: Time,
    srtt: Span,
    /// Growth in congestion avoidance that is not yet a whole packet.
    growth: f64,
}

impl PragueSender {
    /// Returns a sender of packets of `mss` bytes.
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

    /// Returns the RTT as which the flow behaves.
    fn virtual_rtt(&self) -> Span {
        self.srtt.max(self.params.rtt_target)
    }

    /// Updates the average of marks once per virtual round trip.
    fn count(&mut self, feedback: &Feedback<'_>) {
        self.marks.count(feedback);
        let over = feedback.now.since(self.since) >= self.virtual_rtt();
        if over && self.marks.end_window() {
            self.since = feedback.now;
        }
    }

    /// Returns the packets by which the acknowledgements of a round trip grow the window: 1 at or
    /// above the target RTT. Below it the number is smaller, so that window divided by virtual RTT
    /// grows as for a flow of the target RTT.
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
            // Grows as a flow of the target RTT would in its real round trips.
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

//! DCTCP: Reno that reduces its window by the share of packets that routers mark.
//!
//! # What it does
//! Routers mark packets while more than a few wait. The sender counts the share of packets that
//! were marked in each window, and keeps a moving average of it, `alpha`. A mark reduces the window
//! by the factor `1 - alpha / 2`, at most once per round trip: slightly when few packets are
//! marked, by half when all are. Otherwise, and upon losses, it is Reno; a loss halves the window
//! also in the round trip after a mark (RFC 8257 §3.5). When marks begin or end, the receiver
//! acknowledges the waiting packets at once, so that no acknowledgement covers both marked and
//! unmarked packets.
//!
//! # Signals it needs
//! Counts of CE; packets leave as ECT(0). The share is computed from the exact counter of marked
//! packets in acknowledgements (AccECN), not from one flag per acknowledgement as in RFC 8257. The
//! two are equal unless acknowledgements are lost, which does not affect the counter. With classic
//! ECN, whose flag stays set for a round trip whatever the number of marks, `alpha` carries little
//! information.
//!
//! # Parameters
//! With `reduces=always`, as in htsim, the window is reduced by `alpha / 2` at the end of every
//! window of observation while `alpha` is above zero, whether its packets were marked or not, and
//! grows like Reno's meanwhile. After a single mark the window is so reduced in each of the next
//! dozens of round trips, by a share that decays by a sixteenth. The queue empties, and more than a
//! tenth of 12 Mbit/s with 100 ms stays unused. A first mark ends slow start there and does not
//! reduce the window before `alpha` is next computed; it begins at zero (`alpha0=0`).
//! `variant=htsim` has both. htsim's first timeout is 10 ms. If the path's RTT is longer, the SYN times
//! out, which leaves a window and a threshold of two packets: `initial_window=2,slow_start=false`.
//!
//! The window keeps fractions of packets. Linux rounds the reduction down, so that it does not
//! reduce at all while `alpha` times the window is below two packets. Shares count packets where
//! the RFC counts bytes, which is equivalent for packets of one size.
//!
//! # Where it fails
//! It needs routers that mark by a shallow threshold of the queue's present length. Where they mark
//! like an ordinary AQM, it takes more than its share from Reno flows; where they drop, it is Reno.
//! The threshold must be about a seventh of the path's bandwidth-delay product, which is unknown in
//! advance for a wireless link. `alpha` needs 16 round trips to adapt.
//!
//! # Source
//! RFC 8257; M. Alizadeh et al.: Data Center TCP (DCTCP), SIGCOMM 2010.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{
    Congestion, Controller, Ecn, Established, Feedback, Halves, Params, Plan, Signals, Span, Time,
};

use crate::parts::{INITIAL_WINDOW, MarkEcho, MarkShare, RenoWindow, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{BulkSetting, Note, Scheme};

paceline_cc::choices! {
    /// When the window is reduced by the share of marks.
    pub enum Reduces {
        /// When a packet sent after the last reduction was marked (RFC 8257 section 3.3).
        Marked = "marked",
        /// At the end of every window of observation, whether packets were marked or not (htsim).
        Always = "always",
    }
}

paceline_cc::params! {
    /// Parameters of DCTCP.
    pub struct DctcpParams {
        /// Weight of a new window in the average.
        g: f64 = 0.0625, in above(0.0).up_to(1.0), source "RFC 8257 §4.2";
        /// The average at the start.
        alpha0: f64 = 1.0, in 0.0..=1.0, source "RFC 8257 §3.3";
        /// Share of the window that remains after a loss.
        loss_beta: f64 = 0.5, in above(0.0).below(1.0), source "RFC 8257 §3.5";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Whether a connection begins in slow start, or with Reno's growth by a packet per round
        /// trip.
        slow_start: bool = true, source "RFC 5681 §3.1; htsim after a timeout of its SYN: false";
        /// When the average reduces the window: when packets were marked, or at the end of every
        /// window of observation.
        reduces: Reduces = Reduces::Marked, source "RFC 8257 §3.3; htsim: always";
    }
    variants {
        /// RFC 8257, as in Linux.
        "rfc8257" => {},
        /// htsim.
        "htsim" => { alpha0: 0.0, reduces: Reduces::Always },
    }
}

/// The receiver's half of DCTCP: the state machine of RFC 8257 §3.2.
pub type DctcpReceiver = MarkEcho;

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "dctcp",
    summary: "Reduces the window by the share of packets that routers mark",
    source: "RFC 8257",
    params: DctcpParams::infos,
    plot_style: PlotStyle::new(Hue::Blue, Dash::Dotted, Shape::Star),
    bulk: Some(BulkSetting {
        spec: "dctcp+step",
        reason: "it needs a queue that marks; this one marks above 20 packets",
    }),
    note: Some(Note::new(
        "it is made for a queue that marks, as in dctcp+step; without marks it is Reno, \
         which adds a packet per RTT",
    )),
    build: |spec| {
        let params: DctcpParams = spec.params()?;
        Ok(Halves {
            // RFC 8257's state machine: packets are CE or ECT(0), and ABC's echo distinguishes
            // these as well as its own marks.
            reporter: Some(Arc::new(|_| Box::new(DctcpReceiver::default()))),
            adds_to_stock_receiver: true,
            ..Halves::sender(move |setup| DctcpSender::new(&params, setup.mss))
        })
    },
};

/// The sender's half of DCTCP.
#[derive(Clone, Debug)]
pub struct DctcpSender {
    window: RenoWindow,
    params: DctcpParams,
    mss: u32,
    marks: MarkShare,
    /// True if the last congestion signal was a mark, and nothing is being repaired.
    marked: bool,
}

impl DctcpSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &DctcpParams, mss: u32) -> DctcpSender {
        let mut window = RenoWindow::new(params.initial_window);
        if !params.slow_start {
            window.leave_slow_start();
        }
        DctcpSender {
            window,
            params: params.clone(),
            mss: mss.max(1),
            marks: MarkShare::new(params.alpha0, params.g),
            marked: false,
        }
    }

    /// Reacts as htsim: the end of every window of observation reduces the window, and a mark only
    /// ends slow start. Returns whether the window may grow.
    fn reduce_always(&mut self, feedback: &Feedback<'_>) -> bool {
        self.marked |= feedback.congestion == Some(Congestion::Ecn);
        if feedback.marked_packets > 0 && self.window.in_slow_start() {
            self.window.leave_slow_start();
        }
        if feedback.round_start && self.marks.alpha() > 0.0 {
            self.window.set_cwnd(self.window.cwnd() * (1.0 - self.marks.alpha() / 2.0));
            self.window.leave_slow_start();
        }
        // For this rule, the round trip after a mark, which the connection reports as recovery,
        // does not stop growth.
        let limited = feedback.cwnd_limited && feedback.may_raise_cwnd;
        self.window.may_grow(feedback) || (self.marked && limited)
    }

    /// Counts marks, and averages them at the end of a window, before any reaction.
    fn count(&mut self, feedback: &Feedback<'_>) {
        self.marks.count(feedback);
        if feedback.round_start {
            self.marks.end_window();
        }
    }
}

impl Controller for DctcpSender {
    fn needs(&self) -> Signals {
        Signals::ECN
    }

    fn on_established(&mut self, established: &Established) {
        self.window.begin_connection(established);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.count(feedback);
        let lost = matches!(
            feedback.congestion,
            Some(Congestion::Loss | Congestion::LossAfterMark | Congestion::Timeout)
        );
        self.marked &= !lost;
        if self.params.reduces == Reduces::Always && !lost {
            if self.reduce_always(feedback) {
                let rest = self.window.slow_start(RenoWindow::acked(feedback));
                self.window.avoid_congestion(rest);
            }
            return;
        }
        let cwnd = self.window.cwnd();
        let reduced = match feedback.congestion {
            Some(Congestion::Ecn) => cwnd * (1.0 - self.marks.alpha() / 2.0),
            _ => libm::floor(cwnd * self.params.loss_beta),
        };
        match feedback.congestion {
            None => {}
            // RFC 8257 §3.5: a loss halves the window, even if a mark has reduced it before.
            Some(Congestion::Loss | Congestion::LossAfterMark | Congestion::Ecn) => {
                self.window.reduce(reduced);
                self.window.may_grow(feedback);
                return;
            }
            Some(Congestion::Timeout) => {
                self.window.time_out(reduced);
                return;
            }
            Some(Congestion::Undo) => {
                self.window.undo();
            }
        }
        if self.window.may_grow(feedback) {
            let rest = self.window.slow_start(RenoWindow::acked(feedback));
            self.window.avoid_congestion(rest);
        }
    }

    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.window.restart(self.params.initial_window, idle, rto);
    }

    fn plan(&self) -> Plan {
        let plan = Plan::window(self.window.bytes(self.mss)).ecn(Ecn::Ect0);
        match self.params.reduces {
            Reduces::Marked => plan,
            Reduces::Always => plan.without_prr(),
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window.cwnd());
        if self.window.ssthresh().is_finite() {
            see("ssthresh", self.window.ssthresh());
        }
        see("alpha", self.marks.alpha());
    }
}

//! NewReno: the standard of loss-based congestion control, and the yardstick of the others.
//!
//! # What it does
//! Slow start adds a packet per packet acknowledged. Above the threshold the window grows by one
//! packet per round trip. A loss or a mark halves it once per window; a timeout sets it to one
//! packet. What RFC 6582 says about partial acknowledgements is the sender's loss recovery and
//! holds for every scheme.
//!
//! # Signals it needs
//! None beyond acknowledged and lost bytes; CE counts with `ecn=true`.
//!
//! # Parameters
//! The threshold after congestion is a share of the window, as in Linux, and not of the bytes in
//! flight, as RFC 5681 has it. The two agree for a flow that the window limits, and the window
//! of any other flow does not grow; the window needs no correction for packets known to be lost.
//!
//! Packets that were acknowledged selectively while losses were repaired do not open the window, as
//! in Linux. ns-3 counts them when the acknowledgement comes that covers all of them and ends the
//! recovery, and so gains two packets in each cycle (`after_recovery=covered`). With `prr=false` the
//! flow is silent for half a window when losses begin. A queue drains at once then, and a managed
//! queue drops fewer packets that would reduce the window a second time; ns-3's own PRR falls silent,
//! too, after a quarter of a window.
//!
//! With `counts=acks` an acknowledgement opens the window as one packet does, however many it covers.
//! Then windows grow more slowly where acknowledgements are lost, as at the access point of a shared
//! medium.
//!
//! # Where it fails
//! It takes every loss for congestion, so that random loss on a wireless link starves it; it
//! fills whatever buffer there is; and it needs a round trip per packet to find new capacity.
//!
//! # Source
//! RFC 5681, RFC 6582, RFC 6928, RFC 7661.

#[cfg(test)]
mod tests;

use paceline_cc::params::above;
use paceline_cc::{
    Congestion, Controller, Ecn, Established, Feedback, Halves, Params, Plan, Signals, Span, Time,
};

use crate::parts::{INITIAL_WINDOW, RenoWindow, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::choices! {
    /// What the acknowledgement counts for that ends a recovery.
    pub enum AfterRecovery {
        /// The packets that arrived last (Linux; RFC 3465 with selective acknowledgements).
        Delivered = "delivered",
        /// All packets that it covers, also those that arrived during the recovery and were
        /// acknowledged selectively then (ns-3).
        Covered = "covered",
    }
}

paceline_cc::choices! {
    /// What opens the window.
    pub enum Counts {
        /// The packets that are acknowledged (RFC 3465, Linux).
        Packets = "packets",
        /// Acknowledgements, each as one packet at most (RFC 5681, ns-2).
        Acks = "acks",
    }
}

paceline_cc::params! {
    /// Parameters of NewReno.
    pub struct NewRenoParams {
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Share of the window that is left after congestion.
        beta: f64 = 0.5, in above(0.0).below(1.0), source "RFC 5681";
        /// Packets by which one acknowledgement may open the window in slow start (RFC 3465's L);
        /// 0 for no limit.
        abc_limit: f64 = 0.0, in 0.0.., unit "packets", source "Linux; RFC 3465: 2";
        /// What the acknowledgement counts for in congestion avoidance that ends a recovery.
        after_recovery: AfterRecovery = AfterRecovery::Delivered, source "Linux; ns-3: covered";
        /// What opens the window: packets that are acknowledged, or acknowledgements.
        counts: Counts = Counts::Packets, source "Linux, RFC 3465; ns-2, RFC 5681: acks";
        /// Whether the flow sends a share of what arrives while it repairs losses, or nothing until
        /// no more than the smaller window is in flight.
        prr: bool = true, source "RFC 6937, Linux; RFC 6675: false";
        /// Whether packets are ECN-capable, so that routers mark instead of dropping.
        ecn: bool = false, source "RFC 3168";
    }
    variants {
        /// Linux.
        "linux" => {},
        /// ns-3.
        "ns3" => { after_recovery: AfterRecovery::Covered, prr: false },
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "newreno",
    summary: "Adds a packet per round trip, halves the window upon loss",
    source: "RFC 5681, RFC 6582",
    params: NewRenoParams::infos,
    plot_style: PlotStyle::new(Hue::Slate, Dash::Solid, Shape::Cross),
    bulk: None,
    note: Some(
        "it adds a packet per RTT, so that a long, fast path takes it minutes to fill \
         after a loss",
    ),
    build: |spec| {
        let params: NewRenoParams = spec.params()?;
        Ok(Halves::sender(move |setup| NewRenoSender::new(&params, setup.mss)))
    },
};

/// The sender's half of NewReno.
#[derive(Clone, Debug)]
pub struct NewRenoSender {
    window: RenoWindow,
    params: NewRenoParams,
    /// `abc_limit`, with infinity for none.
    limit: f64,
    mss: u32,
    /// Packets that arrived while losses were repaired and have not opened the window.
    arrived: f64,
}

impl NewRenoSender {
    /// A sender of packets of `mss` bytes.
    pub fn new(params: &NewRenoParams, mss: u32) -> NewRenoSender {
        let limit = if params.abc_limit > 0.0 { params.abc_limit } else { f64::INFINITY };
        let window = RenoWindow::new(params.initial_window);
        NewRenoSender { window, params: params.clone(), limit, mss: mss.max(1), arrived: 0.0 }
    }

    fn reduced(&self) -> f64 {
        libm::floor(self.window.cwnd() * self.params.beta)
    }
}

impl Controller for NewRenoSender {
    fn needs(&self) -> Signals {
        if self.params.ecn { Signals::ECN } else { Signals::NONE }
    }

    fn on_established(&mut self, established: &Established) {
        self.window.begin_connection(established);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        match feedback.congestion {
            None | Some(Congestion::LossAfterMark) => {}
            Some(Congestion::Loss | Congestion::Ecn) => {
                self.window.reduce(self.reduced());
                self.window.may_grow(feedback);
                return;
            }
            Some(Congestion::Timeout) => {
                self.window.time_out(self.reduced());
                return;
            }
            Some(Congestion::Undo) => {
                self.window.undo();
            }
        }
        let arrived = std::mem::take(&mut self.arrived);
        if feedback.in_recovery {
            self.arrived = arrived + RenoWindow::acked(feedback);
        }
        if !self.window.may_grow(feedback) {
            return;
        }
        let mut acked = RenoWindow::acked(feedback);
        if self.params.after_recovery == AfterRecovery::Covered {
            acked += arrived;
        }
        if self.params.counts == Counts::Acks {
            acked = acked.min(1.0);
        }
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked.min(self.limit));
        }
        self.window.avoid_congestion(acked);
    }

    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.window.restart(self.params.initial_window, idle, rto);
    }

    fn plan(&self) -> Plan {
        let ecn = if self.params.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        let plan = Plan::window(self.window.bytes(self.mss)).ecn(ecn);
        if self.params.prr { plan } else { plan.without_prr() }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window.cwnd());
        if self.window.ssthresh().is_finite() {
            see("ssthresh", self.window.ssthresh());
        }
    }
}

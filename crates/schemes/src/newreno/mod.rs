//! NewReno: the standard of loss-based congestion control, with which the other schemes are
//! compared.
//!
//! # What it does
//! Slow start adds a packet per packet acknowledged. Above the threshold the window grows by one
//! packet per round trip. A loss or a mark halves it once per window; a timeout sets it to one
//! packet. RFC 6582's partial acknowledgements are part of the sender's loss recovery, which all
//! schemes share.
//!
//! # Signals it needs
//! None besides acknowledged and lost bytes; CE counts with `ecn=true`.
//!
//! # Parameters
//! As in Linux, the threshold after congestion is a share of the window, not of the bytes in flight
//! as in RFC 5681. The two are equal for a flow that the window limits, and the window of other
//! flows does not grow. The window then needs no correction for packets known to be lost.
//!
//! As in Linux, packets acknowledged selectively while losses are repaired do not open the window.
//! ns-3 counts them with the acknowledgement that covers all of them and ends the recovery, and so
//! gains two packets in each cycle (`after_recovery=covered`). With `prr=false` the flow is silent
//! for half a window when losses begin. A queue then drains at once, and a managed queue drops
//! fewer packets that would reduce the window a second time; ns-3's own PRR falls silent, too,
//! after a quarter of a window.
//!
//! With `counts=acks` an acknowledgement opens the window like one packet, however many packets it
//! covers. Windows then grow more slowly where acknowledgements are lost, as at the access point of
//! a shared medium.
//!
//! # Where it fails
//! It takes every loss for congestion, so that random loss on a wireless link starves it. It fills
//! any buffer. To find new capacity, it needs a round trip per packet.
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
use crate::scheme::{BulkPath, Note, Scheme};

paceline_cc::choices! {
    /// How the acknowledgement that ends a recovery counts.
    pub enum AfterRecovery {
        /// By the packets that arrived last (Linux; RFC 3465 with selective acknowledgements).
        Delivered = "delivered",
        /// By all packets that it covers, including those that arrived during the recovery and were
        /// acknowledged selectively then (ns-3).
        Covered = "covered",
    }
}

paceline_cc::choices! {
    /// What opens the window.
    pub enum Counts {
        /// Acknowledged packets (RFC 3465, Linux).
        Packets = "packets",
        /// Acknowledgements, each counting as at most one packet (RFC 5681, ns-2).
        Acks = "acks",
    }
}

paceline_cc::params! {
    /// Parameters of NewReno.
    pub struct NewRenoParams {
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Share of the window that remains after congestion.
        beta: f64 = 0.5, in above(0.0).below(1.0), source "RFC 5681";
        /// Largest number of packets by which one acknowledgement opens the window in slow start
        /// (RFC 3465's L); 0 for no limit.
        abc_limit: f64 = 0.0, in 0.0.., unit "packets", source "Linux; RFC 3465: 2";
        /// How the acknowledgement that ends a recovery counts in congestion avoidance.
        after_recovery: AfterRecovery = AfterRecovery::Delivered, source "Linux; ns-3: covered";
        /// What opens the window: acknowledged packets, or acknowledgements.
        counts: Counts = Counts::Packets, source "Linux, RFC 3465; ns-2, RFC 5681: acks";
        /// Whether the flow, while it repairs losses, sends a share of the packets that arrive;
        /// otherwise it sends nothing until the flight is no larger than the reduced window.
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

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "newreno",
    summary: "Adds a packet per round trip, halves the window upon loss",
    source: "RFC 5681, RFC 6582",
    params: NewRenoParams::infos,
    plot_style: PlotStyle::new(Hue::Slate, Dash::Solid, Shape::Cross),
    bulk: None,
    note: Some(Note::on(
        BulkPath::is_long_and_fast,
        "it adds a packet per RTT, so that a long, fast path takes it minutes to fill \
         after a loss",
    )),
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
    /// `abc_limit`, or infinity for no limit.
    limit: f64,
    mss: u32,
    /// Number of packets that arrived while losses were repaired and have not opened the window.
    arrived: f64,
}

impl NewRenoSender {
    /// Returns a sender of packets of `mss` bytes.
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

//! Compound: Reno plus a second window that uses free capacity fast and shrinks when a queue builds
//! up.
//!
//! # What it does
//! The limit of the flight is the sum of two windows. The loss window is Reno's. After slow start,
//! the delay window is adjusted once per round trip by the RTT: while fewer than `gamma` packets
//! wait in queues it grows by `alpha * win^k - 1`, which for a large window is far more than Reno's
//! one packet; when more wait, it shrinks by their number times `zeta`. A loss halves the sum (by
//! `beta`). So Compound is fast where there is free capacity, and Reno where there is none.
//!
//! # Signals it needs
//! RTTs; CE counts with `ecn=true`.
//!
//! # Parameters
//! The number of packets in queues is `win * (1 - base / rtt)`, with the smallest RTT of all and
//! the smallest of the round trip, as for Vegas. A round trip with fewer than three samples does
//! not change the delay window. The delay window is zero in slow start, after a timeout and after
//! idleness. Later versions adapt `gamma` between 5 and 30; this one does not.
//!
//! # Where it fails
//! Once the delay window is zero, Compound is Reno: it fills the buffer, and random loss starves
//! it. Where capacity varies, every dip looks like a queue of more than `gamma` packets and costs
//! the delay window. On paths that hold fewer than `gamma` packets it is Reno with a larger window
//! from the start. A path that becomes longer looks like a permanent queue.
//!
//! # Source
//! K. Tan, J. Song, Q. Zhang, M. Sridharan: A Compound TCP Approach for High-Speed and Long
//! Distance Networks, INFOCOM 2006; draft-sridharan-tcpm-ctcp.

#[cfg(test)]
mod tests;

use paceline_cc::params::above;
use paceline_cc::{
    Congestion, Controller, Ecn, Established, Feedback, Halves, Params, Plan, Signals, Span, Time,
};

use crate::parts::{INITIAL_WINDOW, RenoWindow, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of Compound.
    pub struct CompoundParams {
        /// How fast the delay window grows.
        alpha: f64 = 0.125, in 0.0..=10.0, source "paper §III, §IV";
        /// Share of the sum that a loss removes.
        beta: f64 = 0.5, in above(0.0).below(1.0), source "paper §III, §IV";
        /// Exponent of the delay window's growth.
        k: f64 = 0.75, in 0.0..1.0, source "paper §III, §IV";
        /// Number of packets in queues above which the delay window shrinks.
        gamma: f64 = 30.0, in 0.0.., unit "packets", source "paper §III";
        /// Number of packets by which it shrinks per packet in queues.
        zeta: f64 = 1.0, in 0.0.., source "paper §III";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Whether packets are ECN-capable, so that routers mark instead of dropping.
        ecn: bool = false, source "RFC 3168";
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "compound",
    summary: "Reno plus a window that grows while the queue is short and shrinks with it",
    source: "Compound TCP, INFOCOM 2006",
    params: CompoundParams::infos,
    plot_style: PlotStyle::new(Hue::Slate, Dash::Dashed, Shape::Square),
    bulk: None,
    note: None,
    build: |spec| {
        let params: CompoundParams = spec.params()?;
        Ok(Halves::sender(move |setup| CompoundSender::new(&params, setup.mss)))
    },
};

/// Minimum number of RTT samples in a round trip for an adjustment of the delay window.
const MIN_SAMPLES: u32 = 3;

/// The sender's half of Compound.
#[derive(Clone, Debug)]
pub struct CompoundSender {
    /// The loss window.
    loss: RenoWindow,
    /// The delay window in packets.
    delay: f64,
    /// The delay window before the last reduction, to undo it.
    before: f64,
    params: CompoundParams,
    mss: u32,
    /// The smallest RTT of all.
    base: Span,
    /// The smallest RTT of this round trip.
    round_min: Span,
    /// Number of RTT samples of this round trip.
    samples: u32,
}

impl CompoundSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &CompoundParams, mss: u32) -> CompoundSender {
        CompoundSender {
            loss: RenoWindow::new(params.initial_window),
            delay: 0.0,
            before: 0.0,
            params: params.clone(),
            mss: mss.max(1),
            base: Span::MAX,
            round_min: Span::MAX,
            samples: 0,
        }
    }

    /// Returns the sum of the windows.
    fn win(&self) -> f64 {
        self.loss.cwnd() + self.delay
    }

    /// Returns the number of packets in queues, by this round trip's RTT.
    fn backlog(&self) -> f64 {
        let (base, rtt) = (self.base.as_nanos() as f64, self.round_min.as_nanos() as f64);
        self.win() * (1.0 - base / rtt.max(1.0)).max(0.0)
    }

    /// Adjusts the delay window, once per round trip in congestion avoidance.
    fn adjust(&mut self, may_grow: bool) {
        let backlog = self.backlog();
        if backlog >= self.params.gamma {
            self.delay = (self.delay - self.params.zeta * backlog).max(0.0);
        } else if may_grow {
            let growth = self.params.alpha * libm::pow(self.win(), self.params.k) - 1.0;
            self.delay += growth.max(0.0);
        }
    }

    fn next_round(&mut self) {
        self.round_min = Span::MAX;
        self.samples = 0;
    }

    /// Reduces both windows after a loss or mark, so that the sum shrinks by `beta`.
    fn reduce(&mut self) {
        let left = self.win() * (1.0 - self.params.beta);
        self.before = self.delay;
        self.loss.reduce(libm::floor(self.loss.cwnd() / 2.0));
        self.delay = (left - self.loss.cwnd()).max(0.0);
    }
}

impl Controller for CompoundSender {
    fn needs(&self) -> Signals {
        if self.params.ecn { Signals::ECN } else { Signals::NONE }
    }

    fn on_established(&mut self, established: &Established) {
        self.loss.begin_connection(established);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt.filter(|rtt| !rtt.is_zero()) {
            self.base = self.base.min(rtt);
            self.round_min = self.round_min.min(rtt);
            self.samples += 1;
        }
        match feedback.congestion {
            None | Some(Congestion::LossAfterMark) => {}
            Some(Congestion::Loss | Congestion::Ecn) => {
                self.reduce();
                self.loss.may_grow(feedback);
                return;
            }
            Some(Congestion::Timeout) => {
                if self.loss.time_out(libm::floor(self.win() / 2.0)) {
                    self.before = self.delay;
                }
                self.delay = 0.0;
                return;
            }
            Some(Congestion::Undo) if self.loss.undo() => {
                self.delay = self.delay.max(self.before);
            }
            Some(Congestion::Undo) => {}
        }
        let may_grow = self.loss.may_grow(feedback);
        let slow = self.loss.in_slow_start();
        if may_grow {
            let rest = self.loss.slow_start(RenoWindow::acked(feedback));
            self.loss.set_cwnd(self.loss.cwnd() + rest / self.win());
        }
        if feedback.round_start {
            if !slow && !feedback.in_recovery && self.samples >= MIN_SAMPLES {
                self.adjust(may_grow);
            }
            self.next_round();
        }
    }

    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.loss.restart(self.params.initial_window, idle, rto);
        if idle > rto {
            self.delay = 0.0;
            self.next_round();
        }
    }

    fn plan(&self) -> Plan {
        let ecn = if self.params.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Plan::window(self.win() as u32 as u64 * self.mss as u64).ecn(ecn)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.win());
        see("loss_window", self.loss.cwnd());
        see("delay_window", self.delay);
        if self.loss.ssthresh().is_finite() {
            see("ssthresh", self.loss.ssthresh());
        }
    }
}

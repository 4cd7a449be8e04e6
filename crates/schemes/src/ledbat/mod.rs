//! LEDBAT: yields to other flows by keeping the queueing delay, measured by the receiver's clock,
//! at a target.
//!
//! # What it does
//! From each acknowledgement it takes the one-way delay of the newest packet. The minimum over the
//! last minutes is the delay of the path without a queue; the minimum over the last few samples
//! minus that is the queueing delay. Below `target` the window grows in proportion to the
//! difference, at most by `gain` packets per round trip; above the target it shrinks likewise. A
//! loss halves it, at most once per round trip, and a timeout sets it to one packet.
//!
//! # Signals it needs
//! The fate of packets with receive times. Offsets of the clocks cancel; a difference of their
//! speed does not.
//!
//! # Parameters
//! The congestion timeout is the sender's retransmission timeout, which doubles as RFC 6817
//! demands. Slow start ends at a loss, or when the queueing delay reaches three quarters of the
//! target, as in LEDBAT++; libutp has nine tenths, and ns-3 waits for the loss. While losses are
//! repaired the window may shrink but does not grow.
//!
//! # Where it fails
//! A flow that starts while other flows fill the queue takes their delay for the path's, and adds
//! its target to it: late-comers starve earlier flows, until pauses show the path's real delay.
//! With buffers shorter than the target it is a slow Reno. A path that becomes longer looks like a
//! queue for ten minutes. A hundred milliseconds of queue are far too much for interactive traffic,
//! and jitter on a wireless link hides a part of them.
//!
//! # Source
//! RFC 6817. draft-irtf-iccrg-ledbat-plus-plus for the end of slow start.

mod delays;
#[cfg(test)]
mod tests;

use paceline_cc::params::above;
use paceline_cc::{Congestion, Controller, Feedback, Halves, Params, Plan, Signals, Span, Time};

use crate::parts::{RenoWindow, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
use delays::{Delays, one_way};

paceline_cc::params! {
    /// Parameters of LEDBAT.
    pub struct LedbatParams {
        /// Queueing delay to keep.
        target: Span = Span::from_millis(100), in above(Span::ZERO), source "RFC 6817 §2.5: at most 100 ms";
        /// Growth of the window without a queue.
        gain: f64 = 1.0, in above(0.0).up_to(100.0), unit "packets per RTT",
            source "RFC 6817 §2.5: at most 1";
        /// Number of packets by which the window may exceed the flight.
        allowed_increase: f64 = 1.0, in above(0.0).up_to(10_000.0), unit "packets",
            source "RFC 6817 §2.5";
        /// Time over which the minimum is the path's base delay.
        base_history: u32 = 10, in 1..=1000, unit "minutes", source "RFC 6817 §2.5";
        /// Number of samples whose minimum is the current delay.
        current_filter: u32 = 4, in 1..=1000, unit "samples", source "RFC 6817 §2.5";
        /// Initial window.
        initial_window: f64 = 2.0, in WINDOWS, unit "packets", source "RFC 6817 §2.5";
        /// Smallest window, except after a timeout.
        min_window: f64 = 2.0, in WINDOWS, unit "packets", source "RFC 6817 §2.5";
        /// Whether it begins with slow start, up to three quarters of the target.
        slow_start: bool = true, source "libutp, ns-3; RFC 6817: false";
    }
    variants {
        /// Begins with slow start, as BitTorrent's library does.
        "libutp" => {},
        /// RFC 6817: grows by a packet per round trip from the start.
        "rfc6817" => { slow_start: false },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "ledbat",
    summary: "Yields to others: keeps the one-way queueing delay at 100 ms",
    source: "RFC 6817",
    params: LedbatParams::infos,
    plot_style: PlotStyle::new(Hue::Ochre, Dash::Dashed, Shape::Cross),
    bulk: None,
    note: Some(Note::new(
        "where the buffer holds less than its target of 100 ms it lives by losses, and \
         adds at most a packet per RTT",
    )),
    build: |spec| {
        let params: LedbatParams = spec.params()?;
        Ok(Halves::sender(move |setup| LedbatSender::new(&params, setup.mss)))
    },
};

/// Share of the target at which slow start ends.
const SLOW_START_END: f64 = 0.75;

/// The sender's half of LEDBAT.
#[derive(Clone, Debug)]
pub struct LedbatSender {
    window: RenoWindow,
    delays: Delays,
    params: LedbatParams,
    mss: u32,
}

impl LedbatSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &LedbatParams, mss: u32) -> LedbatSender {
        let mut window = RenoWindow::new(params.initial_window);
        if !params.slow_start {
            window.leave_slow_start();
        }
        let delays = Delays::new(params.base_history, params.current_filter);
        LedbatSender { window, delays, params: params.clone(), mss: mss.max(1) }
    }

    /// Returns the queueing delay relative to the target: 1 without a queue, 0 at the target,
    /// negative above.
    fn off_target(&self) -> f64 {
        let Some(queueing) = self.delays.queueing() else { return 0.0 };
        1.0 - queueing.as_secs_f64() / self.params.target.as_secs_f64()
    }

    /// Returns true if the queue is long enough to end slow start.
    fn is_near_target(&self) -> bool {
        let end = self.params.target.mul_f64(SLOW_START_END);
        self.delays.queueing().is_some_and(|queueing| queueing >= end)
    }

    /// Changes the window for `acked` packets (RFC 6817 §2.4.2).
    fn step(&mut self, feedback: &Feedback<'_>, acked: f64) {
        let cwnd = self.window.cwnd();
        let off_target = self.off_target();
        let mut next = cwnd + self.params.gain * off_target * acked / cwnd;
        if next > cwnd {
            let flight = feedback.prior_in_flight as f64 / feedback.mss.max(1) as f64;
            // An unused window stays as it is, and is not reduced to the flight.
            next = next.min((flight + self.params.allowed_increase).max(cwnd));
        }
        self.window.set_cwnd(next.max(self.params.min_window));
    }
}

impl Controller for LedbatSender {
    fn needs(&self) -> Signals {
        Signals::FATES.and(Signals::RECEIVE_TIME)
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        for fate in feedback.fates {
            if !fate.lost && fate.received != Time::NEVER {
                self.delays.on_sample(feedback.now, one_way(fate.sent, fate.received));
            }
        }
        let halved = (self.window.cwnd() / 2.0).max(self.params.min_window);
        match feedback.congestion {
            None | Some(Congestion::LossAfterMark) => {}
            Some(Congestion::Loss | Congestion::Ecn) => {
                self.window.reduce(halved);
                self.window.may_grow(feedback);
                return;
            }
            Some(Congestion::Timeout) => {
                self.window.time_out(halved);
                if !self.params.slow_start {
                    self.window.leave_slow_start();
                }
                return;
            }
            Some(Congestion::Undo) => {
                self.window.undo();
            }
        }
        if feedback.acked == 0 {
            return;
        }
        let may_grow = self.window.may_grow(feedback);
        let mut acked = RenoWindow::acked(feedback);
        if self.window.in_slow_start() && self.is_near_target() {
            self.window.leave_slow_start();
        } else if self.window.in_slow_start() {
            acked = if may_grow { self.window.slow_start(acked) } else { 0.0 };
        }
        let repairs = feedback.in_recovery && !may_grow;
        if acked > 0.0 && (!repairs || self.off_target() < 0.0) {
            self.step(feedback, acked);
        }
    }

    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.window.restart(self.params.initial_window, idle, rto);
        if idle > rto {
            self.delays.forget_current();
        }
    }

    fn plan(&self) -> Plan {
        Plan::window(self.window.bytes(self.mss))
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window.cwnd());
        if let Some(queueing) = self.delays.queueing() {
            see("queueing", queueing.as_millis_f64());
        }
    }
}

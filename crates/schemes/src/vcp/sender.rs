//! The sender's half: multiplies, adds or reduces, depending on the load.

use paceline_cc::{
    Congestion, Controller, Feedback, Header, Load, Outgoing, Plan, Rate, Signals, Span, Time,
};

use super::load::{LOW, decode};
use super::{Scale, Settle, VcpParams};
use crate::parts::RenoWindow;

/// RTTs longer than this many `t_rho` count as this many (VCP's ns-2 model).
const MOST_INTERVALS: f64 = 2.5;
/// RTTs in seconds between which the additive increase grows with their square (ns-2 model).
const SHORT: f64 = 0.020;
const LONG: f64 = 0.500;
/// Largest window, in packets, that is paced (ns-2 model).
const PACED: f64 = 64.0;

/// Restriction of the window after a decrease.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// No restriction: the sender reacts to every load.
    Free,
    /// The window does not change until this time, so that routers can measure again.
    Frozen(Time),
    /// The window grows only by addition until this time.
    Adding(Time),
}

/// The sender's half of VCP.
#[derive(Clone, Debug)]
pub struct VcpSender {
    window: RenoWindow,
    params: VcpParams,
    mss: u32,
    xi: f64,
    phase: Phase,
    /// True while slow start continues, after a timeout or idleness.
    restarting: bool,
    /// RTT for all scaling; zero before the first sample.
    rtt: Span,
}

/// Returns a time on a clock that ticks every 10 ms, rounded up except for less than 2 ms (ns-2
/// model).
fn ticks(time: Span) -> Span {
    let millis = (time.as_nanos().saturating_add(500_000)) / 1_000_000;
    let more = millis < 10 || millis % 10 >= 2;
    Span::from_millis((millis / 10 + more as u64) * 10)
}

impl VcpSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &VcpParams, mss: u32) -> VcpSender {
        VcpSender {
            window: RenoWindow::new(params.initial_window),
            params: params.clone(),
            mss: mss.max(1),
            xi: params.kappa * (1.0 / LOW - 1.0),
            phase: Phase::Free,
            restarting: false,
            rtt: Span::ZERO,
        }
    }

    /// Returns the share that one acknowledged packet adds by multiplication: `xi` per `t_rho`.
    fn multiplicative(&self) -> f64 {
        if self.params.scale == Scale::Unscaled {
            return self.xi;
        }
        let intervals = self.rtt.as_secs_f64() / self.params.t_rho.as_secs_f64();
        libm::pow(1.0 + self.xi, intervals.min(MOST_INTERVALS)) - 1.0
    }

    /// Returns the packets that a round trip adds.
    fn additive(&self) -> f64 {
        if self.params.scale == Scale::Unscaled {
            return self.params.alpha;
        }
        let t_d = self.params.t_d.as_secs_f64();
        let (short, long) = (SHORT / t_d, LONG / t_d);
        let rtt = self.rtt.as_secs_f64() / t_d;
        let square = match rtt {
            rtt if rtt <= short => rtt * short,
            rtt if rtt <= long => rtt * rtt,
            _ => rtt - long + long * long,
        };
        self.params.alpha * square
    }

    fn add(&mut self, acked: f64) {
        let cwnd = self.window.cwnd();
        // One acknowledgement counts for at most one round trip.
        self.window.set_cwnd(cwnd + self.additive() * (acked / cwnd).min(1.0));
    }

    fn pass(&mut self, now: Time) {
        if let Phase::Frozen(until) = self.phase
            && until <= now
        {
            self.phase = Phase::Adding(until + ticks(self.rtt));
        }
        if let Phase::Adding(until) = self.phase
            && until <= now
        {
            self.phase = Phase::Free;
        }
    }

    /// Reduces the window upon overload, if no decrease is under way.
    fn decrease(&mut self, now: Time) {
        self.window.set_cwnd(self.window.cwnd() * self.params.beta);
        self.window.leave_slow_start();
        // A reduction for an earlier loss can no longer be undone.
        self.window.commit();
        self.phase = Phase::Frozen(now + ticks(self.params.t_rho));
    }

    /// Returns the load to react to, given the present phase; `None` for no change.
    fn counted(&self, load: Load) -> Option<Load> {
        let heeded = self.params.settle == Settle::Overload && load < Load::Overload;
        match self.phase {
            _ if load == Load::Unknown || heeded => Some(load),
            Phase::Free => Some(load),
            Phase::Frozen(_) => None,
            Phase::Adding(_) => Some(Load::High),
        }
    }

    /// Reacts to the load of an acknowledgement.
    fn obey(&mut self, now: Time, load: Load, feedback: &Feedback<'_>) {
        self.pass(now);
        if load >= Load::High && self.restarting {
            self.restarting = false;
            self.window.leave_slow_start();
        }
        let grows = self.window.may_grow(feedback);
        let acked = RenoWindow::acked(feedback);
        match self.counted(load) {
            Some(Load::Overload) => self.decrease(now),
            _ if !grows => {}
            Some(Load::Unknown) => {
                let rest = self.window.slow_start(acked);
                self.window.avoid_congestion(rest);
            }
            Some(_) if self.restarting && self.window.in_slow_start() => {
                self.window.slow_start(acked);
            }
            Some(Load::Low) => {
                let share = self.multiplicative();
                // One acknowledgement counts for at most one round trip.
                let cwnd = self.window.cwnd();
                self.window.set_cwnd(cwnd + share * acked.min(cwnd));
            }
            Some(Load::High) => self.add(acked),
            None => {}
        }
    }
}

impl Controller for VcpSender {
    fn needs(&self) -> Signals {
        Signals::HEADERS
    }

    fn on_send(&mut self, _now: Time, packet: &mut Outgoing) -> u64 {
        packet.header = Header::Vcp(Load::Unknown);
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.rtt = match self.params.scale {
            Scale::Smoothed | Scale::Unscaled => feedback.srtt,
            Scale::Smallest => feedback.min_rtt,
        };
        let half = self.window.cwnd() / 2.0;
        match feedback.congestion {
            Some(Congestion::Loss | Congestion::LossAfterMark) => {
                self.window.reduce(half);
                self.window.may_grow(feedback);
                return;
            }
            Some(Congestion::Timeout) => {
                self.window.time_out(half);
                self.restarting = self.params.slow_start;
                return;
            }
            Some(Congestion::Undo) => {
                self.window.undo();
            }
            Some(Congestion::Ecn) | None => {}
        }
        if feedback.acked > 0 {
            self.obey(feedback.now, decode(feedback.explicit), feedback);
        } else {
            self.window.may_grow(feedback);
        }
    }

    /// Meanwhile routers have measured other flows' load.
    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        if idle <= rto {
            return;
        }
        if !self.window.in_slow_start() || self.window.ssthresh().is_infinite() {
            self.window.leave_slow_start();
        }
        if self.window.restart(self.params.initial_window, idle, rto) {
            self.restarting = self.params.slow_start;
        }
        self.phase = Phase::Free;
    }

    fn plan(&self) -> Plan {
        let plan = Plan::window(self.window.bytes(self.mss));
        let cwnd = self.window.cwnd();
        let rtt = self.rtt.as_secs_f64();
        let apart = rtt / cwnd > self.params.t_rho.as_secs_f64() / 2.0;
        if !(apart && (2.0..=PACED).contains(&cwnd)) {
            return plan;
        }
        let rate = Rate::from_bytes_per_sec(cwnd * self.mss as f64 / rtt);
        plan.paced(rate.max(Rate::from_bps(1)), 0)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window.cwnd());
        if self.window.ssthresh().is_finite() {
            see("ssthresh", self.window.ssthresh());
        }
    }
}

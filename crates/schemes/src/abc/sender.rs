//! The sender's half: a window that follows accelerates and brakes, and a second one that reacts to
//! drops and CE.

use paceline_cc::{Congestion, Controller, Ecn, Feedback, Plan, Rate, Signals, Span, Time};

use super::params::{AbcParams, AdditiveIncrease};
use super::{ACCELERATE, BRAKE};
use crate::cubic::{CubicParams, CubicWindow, Growth, HyStartKind};

/// Packets by which a window may exceed twice the flight, so that a flow with nothing in flight can
/// continue (authors' code).
const SLACK: f64 = 5.0;
/// Minimum number of packets that leave back to back under pacing, and the time that a burst at the
/// pacing rate takes, if that is more (Linux' segmentation offload).
const BURST_PACKETS: f64 = 2.0;
const BURST_SECONDS: f64 = 1e-3;
/// Maximum number of bytes that Linux sends back to back.
const BURST_LIMIT: f64 = 65_536.0;

/// The effect of an acknowledgement's echo on the window.
#[derive(Copy, Clone, PartialEq, Eq)]
enum EchoMeaning {
    Accelerate,
    Brake,
    /// No change: congestion elsewhere, or no mark.
    Hold,
}

/// The sender's half of ABC.
///
/// The window that does not limit sending stays ready to take over. Each of the two is limited to
/// twice the flight plus 5 packets, whatever limits sending. Cubic's window grows with every
/// acknowledgement of a flow that either window limits: in slow start by the packets acknowledged,
/// which is the most that the ABC window grows; later along its curve. The cap does not move the
/// curve, so the window grows by up to half per round trip until it reaches the curve again.
/// HyStart is off: it would watch the ABC link's delay, which shows nothing about other
/// bottlenecks, and would end slow start for good.
pub struct AbcSender {
    /// ABC's window in packets.
    w: f64,
    cubic: Option<CubicWindow>,
    mss: u32,
    /// RTT for pacing: the smaller of the smoothed and the last RTT.
    rtt: Span,
    /// The most bytes in flight in this round trip and in the last one.
    flight: [u64; 2],
    min_window: f64,
    brake_floor: f64,
    pacing: f64,
    increase: AdditiveIncrease,
    proxied: bool,
    /// True behind a proxy for one round trip after CE, unless packets are lost: the driver reports a
    /// reduction of the window, but CE is ABC's brake.
    is_recovery_of_brakes: bool,
}

impl AbcSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &AbcParams, mss: u32) -> AbcSender {
        let cubic = CubicParams {
            initial_window: params.initial_window,
            hystart: HyStartKind::Off,
            // As in the kernel's program (crates/kernel/bpf/cubic.h).
            growth: Growth::Rfc9438,
            whole_packets: false,
            ..CubicParams::default()
        };
        AbcSender {
            w: params.initial_window.max(params.min_window),
            cubic: params.dual_window.then(|| CubicWindow::new(&cubic)),
            mss: mss.max(1),
            rtt: Span::ZERO,
            flight: [0; 2],
            min_window: params.min_window,
            brake_floor: params.brake_floor,
            pacing: params.pacing,
            increase: params.additive_increase,
            proxied: params.proxied,
            is_recovery_of_brakes: false,
        }
    }

    #[inline]
    fn sign(&self, echo: Ecn) -> EchoMeaning {
        match (echo, self.proxied) {
            (ACCELERATE, _) | (BRAKE, true) => EchoMeaning::Accelerate,
            (BRAKE, false) | (Ecn::Ce, true) => EchoMeaning::Brake,
            (Ecn::Ce, false) | (Ecn::NotEct, _) => EchoMeaning::Hold,
        }
    }

    /// Applies equation 3, in bytes, for `n` packets newly acknowledged.
    #[inline]
    fn obey(&mut self, sign: EchoMeaning, n: f64) {
        let per_ack = match self.increase {
            AdditiveIncrease::PerPacket => n,
            AdditiveIncrease::PerAck => 1.0,
            AdditiveIncrease::Off => 0.0,
        };
        // One acknowledgement counts for at most one round trip.
        let more = (per_ack / self.w).min(1.0);
        let change = match sign {
            EchoMeaning::Accelerate => n,
            EchoMeaning::Brake if self.brake_floor > 0.0 && self.w <= self.brake_floor + n => 0.0,
            EchoMeaning::Brake => -n,
            EchoMeaning::Hold => 0.0,
        };
        self.w = (self.w + change + more).max(self.min_window);
    }

    /// Limits both windows, so that neither grows without end while the other one limits sending
    /// (paper §4.1).
    ///
    /// The flight is the maximum of this round trip and the last one: when a link delivers a burst,
    /// little is in flight for a moment, until the pacer has sent the packets that the burst
    /// allows.
    #[inline]
    fn cap(&mut self, feedback: &Feedback<'_>) {
        if feedback.round_start {
            self.flight = [feedback.prior_in_flight, self.flight[0]];
        }
        self.flight[0] = self.flight[0].max(feedback.prior_in_flight);
        let most = 2.0 * self.flight[0].max(self.flight[1]) as f64 / self.mss as f64 + SLACK;
        if let Some(cubic) = &mut self.cubic {
            cubic.cap(most);
            self.w = self.w.min(most.max(self.min_window));
        }
    }

    /// Returns the window that applies, in packets: the smaller one.
    #[inline]
    fn window(&self) -> f64 {
        self.cubic.as_ref().map_or(self.w, |cubic| self.w.min(cubic.cwnd()))
    }
}

impl Controller for AbcSender {
    fn needs(&self) -> Signals {
        match self.cubic.is_some() && !self.proxied {
            true => Signals::ECHO.and(Signals::ECN),
            false => Signals::ECHO,
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt = rtt.min(feedback.srtt);
        }
        if feedback.acked > 0 {
            self.obey(self.sign(feedback.echo), feedback.acked as f64 / self.mss as f64);
        }
        if let Some(cubic) = &mut self.cubic {
            if self.proxied {
                match feedback.congestion {
                    Some(Congestion::Ecn) => self.is_recovery_of_brakes = true,
                    Some(Congestion::Loss | Congestion::LossAfterMark | Congestion::Timeout) => {
                        self.is_recovery_of_brakes = false;
                    }
                    None | Some(Congestion::Undo) => {
                        self.is_recovery_of_brakes &= feedback.in_recovery;
                    }
                }
            }
            // Behind a proxy, CE marks are ABC's brakes, to which the second window does not react.
            let congestion = match feedback.congestion {
                Some(Congestion::Ecn) if self.proxied => None,
                Some(Congestion::LossAfterMark) if self.proxied => Some(Congestion::Loss),
                reported => reported,
            };
            if congestion == feedback.congestion && !self.is_recovery_of_brakes {
                cubic.on_feedback(feedback);
            } else {
                cubic.on_feedback(&feedback.clone().with(|feedback| {
                    feedback.congestion = congestion;
                    feedback.in_recovery &= !self.is_recovery_of_brakes;
                }));
            }
            self.cap(feedback);
        }
    }

    /// ABC's window stays: the next acknowledgement shows the link's present state. Cubic's
    /// restarts as in Linux.
    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        if let Some(cubic) = &mut self.cubic {
            cubic.on_idle(now, idle, rto);
        }
    }

    fn plan(&self) -> Plan {
        let window = self.window();
        let bytes = window * self.mss as f64;
        let cwnd = (bytes as u64).max(self.mss as u64);
        let ecn = if self.proxied { Ecn::Ect0 } else { ACCELERATE };
        // A reduction spreads over a round trip only if it is Cubic's window that shrank.
        let reduces_by_prr = !self.is_recovery_of_brakes
            && self.cubic.as_ref().is_some_and(|cubic| cubic.cwnd() <= self.w);
        let mut plan = Plan::window(cwnd).ecn(ecn);
        plan.reduces_by_prr = reduces_by_prr;
        if self.pacing == 0.0 || self.rtt.is_zero() {
            return plan;
        }
        let rate = self.pacing * bytes / self.rtt.as_secs_f64();
        let least = BURST_PACKETS * self.mss as f64;
        let burst = (rate * BURST_SECONDS).min(BURST_LIMIT).max(least) as u32;
        plan.paced(Rate::from_bytes_per_sec(rate), burst)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_abc", self.w);
        if let Some(cubic) = &self.cubic {
            see("w_cubic", cubic.cwnd());
        }
        see("cwnd", self.window());
    }
}

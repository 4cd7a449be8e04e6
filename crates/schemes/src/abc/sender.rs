//! The sender's half: a window that obeys accelerates and brakes, and beside it one that obeys
//! drops and CE.

use paceline_cc::{Congestion, Controller, Ecn, Feedback, Plan, Rate, Signals, Span, Time};

use super::params::{AbcParams, AdditiveIncrease};
use crate::cubic::{CubicParams, CubicWindow, Growth, HyStartKind};

/// Packets by which a window may exceed twice what is in flight, so that a flow with nothing in
/// flight can go on (authors' code).
const SLACK: f64 = 5.0;
/// The least that leaves back to back under pacing, in packets, and the time's worth of the
/// pacing rate if that is more (Linux' segmentation offload).
const BURST_PACKETS: f64 = 2.0;
const BURST_SECONDS: f64 = 1e-3;
/// Linux sends at most this much back to back.
const BURST_LIMIT: f64 = 65_536.0;

/// What an acknowledgement's echo means to the window.
#[derive(Copy, Clone, PartialEq, Eq)]
enum EchoMeaning {
    Accelerate,
    Brake,
    /// Congestion elsewhere, or no mark at all.
    Hold,
}

/// The sender's half of ABC.
///
/// The window that is not the bottleneck stays ready to take over. Each of the two is held within
/// twice what is in flight, plus 5 packets, whatever limits sending. Cubic's window takes every
/// acknowledgement of a flow that either window limits as a reason to grow: in slow start by as
/// much as is acknowledged, which is the most that the ABC window does; later along its curve,
/// which the cap does not move, so by up to half per round trip until it is back where the curve
/// is. HyStart is off: the delay that it watches is the ABC link's, which says nothing about other
/// bottlenecks and would end slow start for good.
pub struct AbcSender {
    /// ABC's window in packets.
    w: f64,
    cubic: Option<CubicWindow>,
    mss: u32,
    /// The round trip over which a window is paced: the smaller of the smoothed and the last RTT.
    rtt: Span,
    /// The most bytes in flight in this round trip and in the last one.
    flight: [u64; 2],
    min_window: f64,
    brake_floor: f64,
    pacing: f64,
    increase: AdditiveIncrease,
    proxied: bool,
}

impl AbcSender {
    /// A sender of packets of `mss` bytes.
    pub fn new(params: &AbcParams, mss: u32) -> AbcSender {
        let cubic = CubicParams {
            initial_window: params.initial_window,
            hystart: HyStartKind::Off,
            // As the program for the kernel has it (crates/kernel/bpf/cubic.h).
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
        }
    }

    #[inline]
    fn sign(&self, echo: Ecn) -> EchoMeaning {
        match (echo, self.proxied) {
            (Ecn::ACCELERATE, _) | (Ecn::BRAKE, true) => EchoMeaning::Accelerate,
            (Ecn::BRAKE, false) | (Ecn::Ce, true) => EchoMeaning::Brake,
            (Ecn::Ce, false) | (Ecn::NotEct, _) => EchoMeaning::Hold,
        }
    }

    /// Equation 3, by bytes: `n` packets newly acknowledged.
    #[inline]
    fn obey(&mut self, sign: EchoMeaning, n: f64) {
        let per_ack = match self.increase {
            AdditiveIncrease::PerPacket => n,
            AdditiveIncrease::PerAck => 1.0,
            AdditiveIncrease::Off => 0.0,
        };
        // One acknowledgement is never more than a round trip's worth.
        let more = (per_ack / self.w).min(1.0);
        let change = match sign {
            EchoMeaning::Accelerate => n,
            EchoMeaning::Brake if self.brake_floor > 0.0 && self.w <= self.brake_floor + n => 0.0,
            EchoMeaning::Brake => -n,
            EchoMeaning::Hold => 0.0,
        };
        self.w = (self.w + change + more).max(self.min_window);
    }

    /// Neither window may run away while the other is the bottleneck (paper §4.1).
    ///
    /// In flight is the most of this round trip and the last one: when a link delivers a burst,
    /// little is in flight for a moment, until the pacer has sent what the burst gave leave for.
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

    /// The window that counts, in packets: the smaller one.
    #[inline]
    fn window(&self) -> f64 {
        self.cubic.as_ref().map_or(self.w, |cubic| self.w.min(cubic.cwnd()))
    }
}

impl Controller for AbcSender {
    fn needs(&self) -> Signals {
        match self.cubic.is_some() && !self.proxied {
            true => Signals::ABC_ECHO.and(Signals::ECN),
            false => Signals::ABC_ECHO,
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
            // Behind a proxy, marks are ABC's brakes, which the second window does not answer.
            let congestion = match feedback.congestion {
                Some(Congestion::Ecn) if self.proxied => None,
                Some(Congestion::LossAfterMark) if self.proxied => Some(Congestion::Loss),
                told => told,
            };
            if congestion == feedback.congestion {
                cubic.on_feedback(feedback);
            } else {
                cubic.on_feedback(
                    &feedback.clone().with(|feedback| feedback.congestion = congestion),
                );
            }
            self.cap(feedback);
        }
    }

    /// ABC's window waits: the next acknowledgement tells what the link is like now. Cubic's
    /// restarts as Linux' does.
    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        if let Some(cubic) = &mut self.cubic {
            cubic.on_idle(now, idle, rto);
        }
    }

    fn plan(&self) -> Plan {
        let window = self.window();
        let bytes = window * self.mss as f64;
        let cwnd = (bytes as u64).max(self.mss as u64);
        let ecn = if self.proxied { Ecn::Ect0 } else { Ecn::ACCELERATE };
        // A loss spreads over a round trip only if it is Cubic's window that shrank.
        let reduces_by_prr = self.cubic.as_ref().is_some_and(|cubic| cubic.cwnd() <= self.w);
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

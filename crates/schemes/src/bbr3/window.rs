//! Pacing rate, bursts and window, computed from model, bounds and state; and the window to return
//! to after repair (draft §5.5.11, §5.6).

use paceline_cc::{Feedback, Rate, Span};

use super::Bbr3Sender;
use super::bounds::NONE;
use super::state::Bbr3State;

/// The repair of losses: whether it is under way, and what to restore afterwards.
#[derive(Clone, Debug, Default)]
pub(super) struct Repair {
    repairing: bool,
    prior_cwnd: u64,
    /// The bounds before the losses.
    bounds: Option<(Rate, u64, u64)>,
    /// The state that losses have ended.
    state: Option<Bbr3State>,
}

impl Repair {
    pub(super) fn is_repairing(&self) -> bool {
        self.repairing
    }
    /// Notes the state that losses have ended.
    pub(super) fn set_undo_state(&mut self, state: Bbr3State) {
        self.state = Some(state);
    }
    /// Saves the window; the larger of it and the saved one if it was reduced already.
    pub(super) fn save(&mut self, cwnd: u64, cut: bool) {
        let cut = cut || self.repairing;
        self.prior_cwnd = if cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }
    /// Returns the larger of `cwnd` and the saved window.
    pub(super) fn restored(&self, cwnd: u64) -> u64 {
        cwnd.max(self.prior_cwnd)
    }
}

impl Bbr3Sender {
    /// Notes that losses are being repaired from now on.
    pub(super) fn enter_repair(&mut self) {
        self.repair.save(self.cwnd, self.state == Bbr3State::ProbeRtt);
        if !self.repair.repairing {
            let bounds = &self.bounds;
            self.repair.state = None;
            self.repair.bounds = Some((bounds.bw_lo, bounds.inflight_lo, bounds.inflight_hi));
        }
        self.repair.repairing = true;
    }

    /// Undoes the reaction: the packets were not lost, only late.
    pub(super) fn on_undo(&mut self, feedback: &Feedback<'_>) {
        self.bounds.forget_loss();
        self.full.restart(Rate::ZERO);
        if let Some((bw_lo, inflight_lo, inflight_hi)) = self.repair.bounds.take() {
            self.bounds.bw_lo = self.bounds.bw_lo.max(bw_lo);
            self.bounds.inflight_lo = self.bounds.inflight_lo.max(inflight_lo);
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(inflight_hi);
        }
        let probing_rtt = self.state == Bbr3State::ProbeRtt;
        match self.repair.state.take() {
            Some(Bbr3State::Startup) if self.state != Bbr3State::Startup => {
                self.full.reached = false;
                if !probing_rtt {
                    self.state = Bbr3State::Startup;
                }
            }
            Some(Bbr3State::Up) if self.state != Bbr3State::Up && !probing_rtt => {
                self.start_refill(feedback.delivered);
            }
            _ => {}
        }
    }

    /// Paces at the bandwidth times `gain`.
    pub(super) fn pace(&mut self, gain: f64) {
        let bw = self.bw();
        self.pacing.follow(bw, gain, self.full.reached);
    }

    /// Sets the pacing rate on an acknowledgement.
    pub(super) fn set_pacing(&mut self, srtt: Span) {
        self.pacing.begin_measured(self.cwnd, srtt, self.params.startup_gain);
        self.pace(self.state.pacing_gain(&self.params));
    }

    /// Returns the bytes that leave back to back.
    pub(super) fn quantum(&self) -> u64 {
        self.pacing.burst(2)
    }

    pub(super) fn min_window(&self) -> u64 {
        u64::from(self.params.min_window) * u64::from(self.mss)
    }

    /// Returns the product of `bw`, the smallest RTT and `gain`.
    pub(super) fn bdp(&self, bw: Rate, gain: f64) -> u64 {
        let Some(rtt) = self.model.min_rtt else {
            return (self.params.initial_window * f64::from(self.mss)) as u64;
        };
        libm::ceil(bw.bytes_per_sec() * rtt.as_secs_f64() * gain) as u64
    }

    fn with_quanta(&self, bytes: u64) -> u64 {
        let bytes = bytes.max(3 * self.quantum()).max(self.min_window());
        bytes + if self.state == Bbr3State::Up { 2 * u64::from(self.mss) } else { 0 }
    }

    /// Returns the flight that fills the path `gain` times.
    pub(super) fn inflight(&self, gain: f64) -> u64 {
        self.with_quanta(self.bdp(self.model.max_bw(), gain))
    }

    /// Returns the window of a ProbeRTT that began now.
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.bw(), self.params.probe_rtt_gain).max(self.min_window())
    }

    /// Returns the upper bound minus the headroom for other flows.
    pub(super) fn with_headroom(&self) -> u64 {
        let (mss, least) = (u64::from(self.mss), self.min_window());
        self.bounds.with_headroom(self.params.headroom, mss, least)
    }

    /// Sets the window after an acknowledgement of data.
    pub(super) fn set_window(&mut self, feedback: &Feedback<'_>) {
        let mut cwnd = self.cwnd;
        if self.repair.repairing && !feedback.in_recovery {
            self.repair.repairing = false;
            cwnd = self.repair.restored(cwnd);
        }
        let bw = self.bw();
        let most = self.bdp(bw, self.state.cwnd_gain(&self.params)) + self.aggregation.extra(bw);
        let most = self.with_quanta(most);
        let initial = (self.params.initial_window * f64::from(self.mss)) as u64;
        if self.full.reached {
            cwnd = (cwnd + feedback.acked).min(most);
        } else if cwnd < most || feedback.delivered < initial {
            cwnd += feedback.acked;
        }
        cwnd = cwnd.max(self.min_window());
        if self.state == Bbr3State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt.window());
        }
        let bound = match self.state {
            Bbr3State::Cruise | Bbr3State::ProbeRtt => self.with_headroom(),
            state if state.is_probe_bw() => self.bounds.inflight_hi,
            _ => NONE,
        };
        let bound = bound.min(self.bounds.inflight_lo).max(self.min_window());
        self.cwnd = cwnd.min(bound);
    }
}

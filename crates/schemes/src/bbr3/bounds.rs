//! Bounds of bandwidth and flight from losses and marks (draft §5.5.10).

use paceline_cc::{Feedback, Rate, RateSample};

use super::Bbr3Params;
use super::state::Bbr3State;
use crate::parts::RoundTrips;

/// No bound.
pub(super) const NONE: u64 = u64::MAX;
/// No bound on a rate.
pub(super) const NO_RATE: Rate = Rate::from_bps(u64::MAX);

/// The bounds, and the congestion signals of the current round trip. This round trip is counted
/// separately: it begins with its first loss.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// The largest flight that probing has found safe, in bytes.
    pub(super) inflight_hi: u64,
    /// Bytes delivered lately, since losses began.
    pub(super) inflight_lo: u64,
    pub(super) bw_lo: Rate,
    pub(super) rounds: RoundTrips,
    loss_in_round: bool,
    marks_in_round: bool,
    /// Largest rate and volume delivered in the round trip.
    bw_latest: Rate,
    pub(super) inflight_latest: u64,
    /// The smoothed share of marked packets (Linux v3).
    alpha: f64,
}

impl Bounds {
    pub(super) fn new() -> Bounds {
        Bounds {
            inflight_hi: NONE,
            inflight_lo: NONE,
            bw_lo: NO_RATE,
            rounds: RoundTrips::default(),
            loss_in_round: false,
            marks_in_round: false,
            bw_latest: Rate::ZERO,
            inflight_latest: 0,
            alpha: 1.0,
        }
    }

    /// Lifts the short-term bounds.
    pub(super) fn reset_short_term(&mut self) {
        self.inflight_lo = NONE;
        self.bw_lo = NO_RATE;
    }

    /// Forgets the congestion signals so far.
    pub(super) fn reset_signals(&mut self) {
        self.forget_loss();
        self.bw_latest = Rate::ZERO;
        self.inflight_latest = 0;
    }

    /// Forgets the losses of this round trip: the packets were only late.
    pub(super) fn forget_loss(&mut self) {
        self.loss_in_round = false;
        self.marks_in_round = false;
    }

    /// Notes a loss. Returns true for the first of a round trip, which begins with it.
    pub(super) fn note_loss(&mut self, delivered: u64) -> bool {
        let first = !self.loss_in_round;
        if first {
            self.rounds.begin(delivered);
        }
        self.loss_in_round = true;
        first
    }

    /// Notes marks that count as congestion.
    pub(super) fn note_marks(&mut self) {
        self.marks_in_round = true;
    }

    /// Averages the share of marked packets, with that of the last round trip.
    pub(super) fn smooth_marks(&mut self, share: f64) {
        self.alpha += (share - self.alpha) / 16.0;
    }

    /// Takes in the rate and the volume delivered.
    pub(super) fn on_ack(&mut self, sample: Option<&RateSample>, delivered: u64) {
        self.rounds.on_ack(sample, delivered);
        let Some(sample) = sample else { return };
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
    }

    /// Lowers the bounds at the end of a round trip with losses or marks, unless it was a probing
    /// one: to the rate and volume delivered, but not below the share that losses and marks
    /// justify.
    pub(super) fn adapt(&mut self, state: Bbr3State, max_bw: Rate, cwnd: u64, params: &Bbr3Params) {
        if !self.rounds.started() {
            return;
        }
        let signals = self.loss_in_round || self.marks_in_round;
        if signals && !state.is_accelerating() {
            if self.inflight_lo == NONE {
                self.inflight_lo = cwnd;
            }
            let before = self.inflight_lo as f64;
            let mut inflight_lo = self.inflight_lo;
            if self.marks_in_round {
                inflight_lo = (before * (1.0 - self.alpha * params.ecn_factor)) as u64;
            }
            if self.loss_in_round {
                if self.bw_lo == NO_RATE {
                    self.bw_lo = max_bw;
                }
                self.bw_lo = self.bw_latest.max(self.bw_lo.mul_f64(params.beta));
                let by_loss = self.inflight_latest.max((before * params.beta) as u64);
                inflight_lo = inflight_lo.min(by_loss);
            }
            self.inflight_lo = inflight_lo;
        }
        self.loss_in_round = false;
        self.marks_in_round = false;
    }

    /// Ends an acknowledgement: the next round trip's maxima begin with its sample.
    pub(super) fn advance(&mut self, feedback: &Feedback<'_>) {
        if let Some(sample) = &feedback.sample
            && self.rounds.started()
        {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered;
        }
    }

    /// Returns the largest flight that leaves headroom for others.
    pub(super) fn with_headroom(&self, headroom: f64, mss: u64, least: u64) -> u64 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let room = ((self.inflight_hi as f64 * headroom) as u64).max(mss);
        self.inflight_hi.saturating_sub(room).max(least)
    }
}

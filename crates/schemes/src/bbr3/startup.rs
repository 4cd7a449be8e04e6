//! Startup and Drain: detects a full pipe, and its empty queue.

use paceline_cc::{Feedback, Rate};

use super::Bbr3Sender;
use super::flight::Flight;
use super::state::Bbr3State;

/// Growth of the delivery rate per round trip below which the pipe may be full.
const FULL_GROWTH: f64 = 1.25;
/// Number of round trips without such growth after which it counts as full.
const FULL_ROUNDS: u32 = 3;
/// Number of round trips with many marks after which Startup ends (Linux v3).
const FULL_MARKED_ROUNDS: u32 = 2;
/// Largest number of round trips in Drain.
const DRAIN_ROUNDS: u64 = 3;

/// The search for a plateau of the delivery rate (draft §5.3.1.2).
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    bw: Rate,
    rounds: u32,
    /// True if this search has found it.
    pub(super) now: bool,
    /// True if any search has found it.
    pub(super) reached: bool,
    marked_rounds: u32,
}

impl FullPipe {
    /// Starts the search anew, from rate `bw` on.
    pub(super) fn restart(&mut self, bw: Rate) {
        self.bw = bw;
        self.rounds = 0;
        self.now = false;
    }

    /// Counts successive round trips with many marks.
    pub(super) fn count_marks(&mut self, many: bool) {
        self.marked_rounds = if many { self.marked_rounds + 1 } else { 0 };
    }

    fn on_round(&mut self, bw: Rate) {
        if bw >= self.bw.mul_f64(FULL_GROWTH) {
            self.restart(bw);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= FULL_ROUNDS;
        self.reached |= self.now;
    }
}

/// Counts the runs of consecutive numbers that were lost in a round trip.
#[derive(Clone, Debug, Default)]
pub(super) struct LossRanges {
    count: u32,
    last: Option<u64>,
}

impl LossRanges {
    /// Notes a lost packet.
    pub(super) fn note(&mut self, number: u64) {
        let follows = self.last.is_some_and(|last| number == last + 1);
        self.count += u32::from(!follows);
        self.last = Some(number);
    }
}

impl Bbr3Sender {
    /// Looks for the plateau at the end of a round trip.
    pub(super) fn check_full_pipe(&mut self, feedback: &Feedback<'_>) {
        let Some(sample) = &feedback.sample else { return };
        if !self.full.now && self.model.rounds.started() && !self.model.self_limited.limits(sample)
        {
            self.full.on_round(sample.rate);
        }
    }

    /// Leaves Startup at the plateau, or after a round trip with many losses or two with many
    /// marks (draft §5.3.1.3; Linux v3).
    pub(super) fn check_startup(&mut self, feedback: &Feedback<'_>, flight: Option<&Flight>) {
        if self.state == Bbr3State::Startup && !self.full.reached {
            let repairing = self.repair.is_repairing() && feedback.in_recovery;
            let lossy = self.bounds.rounds.started()
                && repairing
                && self.ranges.count >= self.params.full_loss_count
                && flight.is_some_and(|flight| self.is_too_high(flight));
            if lossy || self.full.marked_rounds >= FULL_MARKED_ROUNDS {
                self.repair.set_undo_state(Bbr3State::Startup);
                self.full.reached = true;
                let bdp = self.bdp(self.bw(), 1.0);
                self.bounds.inflight_hi = bdp.max(self.bounds.inflight_latest);
            }
        }
        if self.bounds.rounds.started() {
            self.ranges.count = 0;
        }
        if self.state == Bbr3State::Startup && self.full.reached {
            self.state = Bbr3State::Drain;
            self.drain_round = self.model.rounds.count();
        }
    }

    /// Leaves Drain when the queue is empty, or after [`DRAIN_ROUNDS`].
    pub(super) fn check_drain(&mut self, feedback: &Feedback<'_>) {
        if self.state != Bbr3State::Drain {
            return;
        }
        let long = self.model.rounds.count() > self.drain_round + DRAIN_ROUNDS;
        if long || feedback.in_flight <= self.inflight(1.0) {
            self.start_down(feedback.now, feedback.delivered);
        }
    }
}

//! The window while losses are repaired: packet conservation for a round trip, then slow start, and
//! at the end the previous window.

use paceline_cc::{Congestion, Feedback};

/// The kind of repair.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum RepairState {
    Nothing,
    Losses,
    Timeout,
}

/// State of the repair, and the window to return to.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    state: RepairState,
    /// True from a loss until the acknowledgement on which the window reacts to it.
    entered: bool,
    conserving: bool,
    prior_cwnd: u64,
}

impl Recovery {
    pub(super) fn new() -> Recovery {
        Recovery { state: RepairState::Nothing, entered: false, conserving: false, prior_cwnd: 0 }
    }

    /// Saves the window; the larger of it and the saved one if it was reduced already.
    pub(super) fn save(&mut self, cwnd: u64, probing_rtt: bool) {
        let cut = probing_rtt || self.state != RepairState::Nothing;
        self.prior_cwnd = if cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// Returns the saved window.
    pub(super) fn prior_cwnd(&self) -> u64 {
        self.prior_cwnd
    }

    /// Takes in the sender's congestion signal. An ECN mark is not a loss.
    pub(super) fn note(&mut self, congestion: Congestion, cwnd: u64, probing_rtt: bool) {
        match congestion {
            Congestion::Loss | Congestion::LossAfterMark => {
                self.save(cwnd, probing_rtt);
                self.entered |= self.state != RepairState::Losses;
                self.state = RepairState::Losses;
            }
            Congestion::Timeout => {
                self.save(cwnd, probing_rtt);
                self.entered = false;
                self.conserving = false;
                self.state = RepairState::Timeout;
            }
            Congestion::Ecn | Congestion::Undo => {}
        }
    }

    /// Returns true while losses are being repaired.
    pub(super) fn is_repairing(&self) -> bool {
        self.state != RepairState::Nothing
    }

    /// Ends packet conservation, at the end of a round trip.
    pub(super) fn on_round(&mut self) {
        self.conserving = false;
    }

    /// Returns true once per repair, on the acknowledgement that begins it and a round trip.
    pub(super) fn take_entry(&mut self) -> bool {
        let entered = std::mem::take(&mut self.entered);
        self.conserving |= entered;
        entered
    }

    /// Returns the window before it grows, and whether packet conservation forbids growth.
    pub(super) fn modulate(
        &mut self,
        cwnd: u64,
        feedback: &Feedback<'_>,
        entered: bool,
    ) -> (u64, bool) {
        let mut cwnd = cwnd.saturating_sub(feedback.lost).max(u64::from(feedback.mss));
        let flight = feedback.in_flight + feedback.acked;
        if entered {
            cwnd = flight;
        } else if self.state != RepairState::Nothing && !feedback.in_recovery {
            self.state = RepairState::Nothing;
            self.conserving = false;
            cwnd = cwnd.max(self.prior_cwnd);
        }
        if self.conserving { (cwnd.max(flight), true) } else { (cwnd, false) }
    }
}

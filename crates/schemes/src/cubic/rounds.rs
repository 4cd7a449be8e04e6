//! Counts round trips as slow start needs them.

use paceline_cc::Feedback;

/// Counts round trips: one ends when more is delivered than was delivered or in flight at its
/// beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// Total of delivered bytes above which the round trip is over; `None` before the first.
    end: Option<u64>,
}

impl Rounds {
    /// Returns whether this acknowledgement is the first of a round trip.
    pub(super) fn begins(&mut self, feedback: &Feedback<'_>) -> bool {
        let begins = self.end.is_none_or(|end| feedback.delivered > end);
        if begins {
            self.end = Some(feedback.delivered.saturating_add(feedback.in_flight));
        }
        begins
    }

    /// Begins a round trip after a timeout. It ends when the bytes in flight now are delivered.
    pub(super) fn restart(&mut self, feedback: &Feedback<'_>) {
        self.end = Some(feedback.delivered.saturating_add(feedback.prior_in_flight));
    }
}

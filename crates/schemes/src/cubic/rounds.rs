//! Round trips as slow start counts them.

use paceline_cc::Feedback;

/// A round trip ends when more has been delivered than was delivered and in flight when it began.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// The bytes delivered beyond which the round trip is over; none before the first.
    end: Option<u64>,
}

impl Rounds {
    /// Whether this acknowledgement is the first of a round trip.
    pub(super) fn begins(&mut self, feedback: &Feedback<'_>) -> bool {
        let begins = self.end.is_none_or(|end| feedback.delivered > end);
        if begins {
            self.end = Some(feedback.delivered.saturating_add(feedback.in_flight));
        }
        begins
    }

    /// A timeout begins a round trip, which ends when what was in flight is delivered.
    pub(super) fn restart(&mut self, feedback: &Feedback<'_>) {
        self.end = Some(feedback.delivered.saturating_add(feedback.prior_in_flight));
    }
}

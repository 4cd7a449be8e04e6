//! Acknowledgements for which the receiver may have waited.

use paceline_cc::{Feedback, RateSample};

/// Returns true if the receiver may have waited for a second packet: only the one acknowledged packet, smaller than a
/// full one, was delivered since it was sent (Linux `FLAG_ACK_MAYBE_DELAYED`).
pub(crate) fn is_ack_delayed(feedback: &Feedback<'_>) -> bool {
    let alone = |sample: &RateSample| sample.delivered <= feedback.acked;
    feedback.acked_packets == 1
        && feedback.acked < u64::from(feedback.mss)
        && feedback.sample.as_ref().is_some_and(alone)
}

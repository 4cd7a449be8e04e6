//! Which delivery-rate samples tell of the scheme's own restraint instead of the path.

use paceline_cc::{Feedback, RateSample};

/// The packets that were sent while the scheme limited itself (BBR in ProbeRTT): samples of them
/// say no more about the path than those of an application that had nothing to send.
#[derive(Clone, Debug, Default)]
pub struct SelfLimited {
    /// The bytes that had been delivered when the first and the last of them were sent.
    range: Option<(u64, u64)>,
}

impl SelfLimited {
    /// Packets sent from now on are limited by the scheme, until what is in flight is delivered.
    pub fn begin(&mut self, feedback: &Feedback<'_>) {
        let until = feedback.delivered + feedback.in_flight;
        self.range = match self.range {
            Some((from, end)) if feedback.delivered <= end => Some((from, until)),
            _ => Some((feedback.delivered, until)),
        };
    }

    /// True if the application, or the scheme itself, limited the sample.
    pub fn limits(&self, sample: &RateSample) -> bool {
        let within = |(from, until)| (from..=until).contains(&sample.prior_delivered);
        sample.app_limited || self.range.is_some_and(within)
    }
}

//! Which delivery-rate samples tell of the scheme's own restraint instead of the path.

use crate::control::{Feedback, RateSample};

/// The packets sent while the scheme held itself back, by the bytes delivered when they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Option<(u64, u64)>);

impl Held {
    /// Packets sent from now on count as held back, until what is in flight is delivered.
    pub(crate) fn hold(&mut self, feedback: &Feedback<'_>) {
        let until = feedback.delivered + feedback.in_flight;
        self.0 = match self.0 {
            Some((from, end)) if feedback.delivered <= end => Some((from, until)),
            _ => Some((feedback.delivered, until)),
        };
    }

    /// True if the application, or the scheme itself, limited the sample.
    pub(crate) fn limits(&self, sample: &RateSample) -> bool {
        let within = |(from, until)| (from..=until).contains(&sample.prior_delivered);
        sample.app_limited || self.0.is_some_and(within)
    }
}

//! Recognises delivery-rate samples that the scheme itself limited, not the path.

use paceline_cc::{Feedback, RateSample};

/// The packets that were sent while the scheme limited itself (BBR in ProbeRTT). Their samples,
/// like those of an application without data, are only lower bounds of the path's rate.
#[derive(Clone, Debug, Default)]
pub struct SelfLimited {
    /// Bytes that had been delivered when the first and the last of them were sent.
    range: Option<(u64, u64)>,
}

impl SelfLimited {
    /// Marks packets sent from now on as limited by the scheme, until the bytes in flight are
    /// delivered.
    pub fn begin(&mut self, feedback: &Feedback<'_>) {
        let until = feedback.delivered + feedback.in_flight;
        self.range = match self.range {
            Some((from, end)) if feedback.delivered <= end => Some((from, until)),
            _ => Some((feedback.delivered, until)),
        };
    }

    /// Returns true if the application or the scheme itself limited the sample.
    pub fn limits(&self, sample: &RateSample) -> bool {
        let within = |(from, until)| (from..=until).contains(&sample.prior_delivered);
        sample.app_limited || self.range.is_some_and(within)
    }
}

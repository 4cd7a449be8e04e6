//! Whether the application has less to send than the target (libwebrtc `alr_detector.cc`: the
//! "application limited region").

use paceline_cc::Time;

/// The application is to use this share of the estimate (`bandwidth_usage_ratio`).
const USAGE: f64 = 0.65;
/// It is limited from the time on at which this share of the budget is left (`start_budget_level_ratio`) ...
const START_LEVEL: f64 = 0.8;
/// ... until less than this share is left (`stop_budget_level_ratio`).
const STOP_LEVEL: f64 = 0.5;
/// The budget holds what the application is to send in this time, in seconds (`IntervalBudget`).
const BUDGET_TIME: f64 = 0.5;

/// Compares the sent rate with the estimate.
#[derive(Clone, Debug)]
pub(super) struct Alr {
    /// In bits per second.
    rate: f64,
    /// Bits left of the budget; negative if more was sent.
    budget: f64,
    last_sent: Option<Time>,
    /// Since when the application is limited.
    since: Option<Time>,
    ended: Option<Time>,
}

impl Alr {
    pub(super) fn new(estimate: f64) -> Alr {
        Alr { rate: USAGE * estimate, budget: 0.0, last_sent: None, since: None, ended: None }
    }

    fn most(&self) -> f64 {
        (self.rate * BUDGET_TIME).max(1.0)
    }

    pub(super) fn set_estimate(&mut self, estimate: f64) {
        self.rate = USAGE * estimate;
        let most = self.most();
        self.budget = self.budget.clamp(-most, most);
    }

    pub(super) fn on_send(&mut self, now: Time, bytes: u32) {
        let Some(before) = self.last_sent.replace(now) else { return };
        let most = self.most();
        self.budget = (self.budget - f64::from(bytes) * 8.0).max(-most);
        self.budget = (self.budget + self.rate * now.since(before).as_secs_f64()).min(most);
        let level = self.budget / most;
        if level > START_LEVEL && self.since.is_none() {
            self.since = Some(now);
        } else if level < STOP_LEVEL && self.since.take().is_some() {
            self.ended = Some(now);
        }
    }

    /// Since when the application is limited; `None` if it is not.
    pub(super) fn since(&self) -> Option<Time> {
        self.since
    }

    /// When the application was limited last, before `since`.
    pub(super) fn ended(&self) -> Option<Time> {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `share` of the estimate for a second.
    fn send(alr: &mut Alr, now: &mut u64, share: f64) {
        for _ in 0..100 {
            *now += 10;
            alr.on_send(Time::from_millis(*now), (share * 1e6 / 800.0) as u32);
        }
    }

    #[test]
    fn half_of_the_estimate_is_limited_and_all_of_it_is_not() {
        let (mut alr, mut now) = (Alr::new(1e6), 0);
        send(&mut alr, &mut now, 1.0);
        assert!(alr.since().is_none());
        for _ in 0..8 {
            send(&mut alr, &mut now, 0.5);
        }
        let since = alr.since().expect("limited");
        assert!(since > Time::from_millis(1000) && alr.ended().is_none());
        send(&mut alr, &mut now, 1.0);
        assert!(alr.since().is_none() && alr.ended().is_some());
        // Half as much is the same share of half the estimate.
        alr.set_estimate(0.5e6);
        for _ in 0..8 {
            send(&mut alr, &mut now, 0.5);
        }
        assert!(alr.since().is_none());
    }
}

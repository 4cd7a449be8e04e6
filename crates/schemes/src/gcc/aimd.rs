//! The rate controller (draft §5.5; libwebrtc `aimd_rate_control.cc`): up by a share or by steps, down
//! to a share of what arrives.

use paceline_cc::{Rate, Span, Time};

use super::detector::Usage;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Hold,
    Increase,
    /// The last update was a decrease; the next one treats it as `Hold`.
    Decrease,
}

/// The weight of the past in the average of received rates at decreases.
const SMOOTHING: f64 = 0.95;
/// Growth per second far from convergence.
const ETA: f64 = 1.08;
/// The least growth far from convergence, in bits per second, of an update as far from the one before
/// as the shortest interval of reports. Updates that follow each other faster grow by a part of it.
const LEAST_STEP: f64 = 1000.0;
const LEAST_STEP_TIME: Span = Span::from_millis(50);
/// The least growth near convergence, in bits per second per second (`kMinIncreaseRateBpsPerSecond`).
const LEAST_SLOPE: f64 = 4000.0;
/// The target stays below this multiple of what arrives, plus this in bits per second.
const HEADROOM: f64 = 1.5;
const HEADROOM_STEP: f64 = 10_000.0;
/// The over-use estimator's own response time, beside the RTT.
const RESPONSE: Span = Span::from_millis(100);
/// The RTT before it is known (`kDefaultRtt`).
const UNKNOWN_RTT: Span = Span::from_millis(200);
/// Time between two decreases: the RTT within these bounds, unless half of the rate arrives.
const DECREASE_INTERVAL: (Span, Span) = (Span::from_millis(10), Span::from_millis(200));
/// Time between two halvings before the received rate is known.
const HALVING_INTERVAL: Span = Span::from_millis(200);

/// Mean and variance of the received rates at decreases, in kbit/s; the variance is relative to
/// the mean.
#[derive(Copy, Clone, Debug)]
struct RateAtDecreases {
    mean: f64,
    variance: f64,
}

impl RateAtDecreases {
    fn deviation(&self) -> f64 {
        3.0 * (self.variance * self.mean).sqrt()
    }

    fn note(&mut self, kbps: f64) {
        self.mean = SMOOTHING * self.mean + (1.0 - SMOOTHING) * kbps;
        let apart = self.mean - kbps;
        let normed = apart * apart / self.mean.max(1.0);
        self.variance = (SMOOTHING * self.variance + (1.0 - SMOOTHING) * normed).clamp(0.4, 2.5);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Aimd {
    beta: f64,
    /// Bits per second that a decrease takes off beside the share `1 - beta` (libwebrtc
    /// `subtract_additional_backoff_term_`).
    backoff_step: f64,
    state: State,
    /// In bits per second.
    rate: f64,
    /// Rate at which packets arrive, in bits per second; before it is known, the initial rate.
    arriving: f64,
    at_decreases: Option<RateAtDecreases>,
    /// When the rate was changed, or growth began.
    changed: Option<Time>,
    decreased: Option<Time>,
}

impl Aimd {
    /// Starts at `rate`. Over-use leaves the share `beta` of what arrives, less `backoff_step`.
    pub(super) fn new((beta, backoff_step): (f64, Rate), rate: Rate) -> Aimd {
        let rate = rate.as_bps() as f64;
        Aimd {
            beta,
            backoff_step: backoff_step.as_bps() as f64,
            state: State::Increase,
            rate,
            arriving: rate,
            at_decreases: None,
            changed: None,
            decreased: None,
        }
    }

    /// In bits per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Keeps the rate within bounds.
    pub(super) fn clamp(&mut self, least: Rate, most: Rate) {
        self.rate = self.rate.max(least.as_bps() as f64).min(most.as_bps() as f64);
    }

    /// Sets the rate to what a probe has shown, in bits per second.
    pub(super) fn set(&mut self, now: Time, rate: f64) {
        if rate < self.rate {
            self.decreased = Some(now);
        }
        (self.rate, self.changed) = (rate, Some(now));
    }

    /// Sets the rate by how the path is used and by the rate in bits per second at which packets arrive.
    pub(super) fn update(&mut self, now: Time, usage: Usage, arriving: Option<f64>, rtt: Span) {
        let rtt = if rtt.is_zero() { UNKNOWN_RTT } else { rtt };
        let Some(arriving) = arriving else { return self.update_blindly(now, usage, rtt) };
        self.arriving = arriving;
        match usage {
            Usage::Over if self.may_decrease(now, rtt) => self.decrease(now),
            Usage::Over => {}
            Usage::Under => self.state = State::Hold,
            Usage::Normal => self.increase(now, rtt),
        }
    }

    /// Updates the rate while the rate of arrivals is unknown. Over-use halves the rate at most once in
    /// 200 ms, because no packet sent at the lower rate has arrived earlier (libwebrtc `delay_based_bwe.cc`, `MaybeUpdateEstimate`).
    fn update_blindly(&mut self, now: Time, usage: Usage, rtt: Span) {
        match usage {
            Usage::Over => {
                if self.decreased.is_none_or(|last| now.since(last) >= HALVING_INTERVAL) {
                    self.set(now, self.rate / 2.0);
                    self.state = State::Decrease;
                }
            }
            Usage::Under => self.state = State::Hold,
            Usage::Normal => self.increase(now, rtt),
        }
    }

    fn may_decrease(&self, now: Time, rtt: Span) -> bool {
        let interval = rtt.max(DECREASE_INTERVAL.0).min(DECREASE_INTERVAL.1);
        let is_due = self.changed.is_none_or(|changed| now.since(changed) >= interval);
        is_due || self.arriving < 0.5 * self.rate
    }

    fn decrease(&mut self, now: Time) {
        let kbps = self.arriving / 1000.0;
        let mut rate = self.beta * self.arriving;
        if rate > self.backoff_step {
            rate -= self.backoff_step;
        }
        if let Some(at_decreases) = self.at_decreases.filter(|_| rate > self.rate) {
            rate = self.beta * at_decreases.mean * 1000.0;
        }
        // Over-use never raises the rate.
        self.rate = self.rate.min(rate);
        if self.at_decreases.is_some_and(|known| kbps < known.mean - known.deviation()) {
            self.at_decreases = None;
        }
        self.at_decreases.get_or_insert(RateAtDecreases { mean: kbps, variance: 0.4 }).note(kbps);
        self.state = State::Decrease;
        (self.changed, self.decreased) = (Some(now), Some(now));
    }

    fn increase(&mut self, now: Time, rtt: Span) {
        if self.state != State::Increase || self.changed.is_none() {
            (self.state, self.changed) = (State::Increase, Some(now));
        }
        let kbps = self.arriving / 1000.0;
        if self.at_decreases.is_some_and(|known| kbps > known.mean + known.deviation()) {
            // More arrives than ever at a decrease: the link has become faster.
            self.at_decreases = None;
        }
        let most = HEADROOM * self.arriving + HEADROOM_STEP;
        let since = now.since(self.changed.unwrap_or(now));
        if self.rate < most {
            self.rate = (self.rate + self.step(since, rtt)).min(most);
        }
        self.changed = Some(now);
    }

    fn step(&self, since: Span, rtt: Span) -> f64 {
        let seconds = since.as_secs_f64();
        if self.at_decreases.is_none() {
            let least = LEAST_STEP * (seconds / LEAST_STEP_TIME.as_secs_f64()).min(1.0);
            return (self.rate * (libm::pow(ETA, seconds.min(1.0)) - 1.0)).max(least);
        }
        // The size of a packet, if frames come 30 times a second.
        let frame = self.rate / 30.0;
        let packet = frame / libm::ceil(frame / (1200.0 * 8.0)).max(1.0);
        let response = (RESPONSE + rtt).as_secs_f64();
        (0.5 * packet / response).max(LEAST_SLOPE) * seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn facts_of_the_states() {
        use State::{Decrease, Hold, Increase};
        for (usage, state, next) in [
            (Usage::Over, Hold, Decrease),
            (Usage::Over, Increase, Decrease),
            (Usage::Over, Decrease, Decrease),
            (Usage::Normal, Hold, Increase),
            (Usage::Normal, Increase, Increase),
            (Usage::Normal, Decrease, Increase),
            (Usage::Under, Hold, Hold),
            (Usage::Under, Increase, Hold),
            (Usage::Under, Decrease, Hold),
        ] {
            let mut aimd = Aimd { state, ..Aimd::new((0.85, Rate::ZERO), Rate::from_mbps(1.0)) };
            aimd.update(at(0), usage, Some(1e6), RTT);
            assert_eq!(aimd.state(), next, "{usage:?} in {state:?}");
        }
    }

    #[test]
    fn over_use_leaves_85_per_cent_of_what_arrives_once_per_rtt() {
        let mut aimd = Aimd::new((0.85, Rate::ZERO), Rate::from_mbps(2.0));
        aimd.update(at(0), Usage::Over, Some(1.2e6), RTT);
        assert_eq!(aimd.rate(), 1_020_000.0);
        aimd.update(at(50), Usage::Over, Some(1.1e6), RTT);
        assert_eq!(aimd.rate(), 1_020_000.0);
        // Never up.
        aimd.update(at(100), Usage::Over, Some(3e6), RTT);
        assert!(aimd.rate() <= 1_020_000.0);
        // At once if less than half of the rate arrives.
        aimd.update(at(110), Usage::Over, Some(0.4e6), RTT);
        assert_eq!(aimd.rate(), 340_000.0);
    }

    #[test]
    fn over_use_takes_a_step_off_beside_the_share() {
        let mut aimd = Aimd::new((0.85, Rate::from_bps(5000)), Rate::from_mbps(2.0));
        aimd.update(at(0), Usage::Over, Some(1.2e6), RTT);
        assert_eq!(aimd.rate(), 1_015_000.0);
        // Not where nothing would be left.
        aimd.update(at(200), Usage::Over, Some(4000.0), RTT);
        assert_eq!(aimd.rate(), 3400.0);
    }

    #[test]
    fn over_use_halves_the_rate_once_in_200_ms_before_a_rate_is_measured() {
        let mut aimd = Aimd::new((0.85, Rate::ZERO), Rate::from_mbps(1.0));
        let rates: Vec<f64> = (0..50)
            .map(|index| {
                aimd.update(at(10 * index), Usage::Over, None, RTT);
                aimd.rate()
            })
            .collect();
        assert_eq!((rates[0], rates[19], rates[20], rates[49]), (0.5e6, 0.5e6, 0.25e6, 0.125e6));
    }

    #[test]
    fn grows_by_8_per_cent_a_second_and_no_further_than_what_arrives_allows() {
        let mut aimd = Aimd::new((0.85, Rate::ZERO), Rate::from_mbps(1.0));
        for ms in 0..=100 {
            aimd.update(at(10 * ms), Usage::Normal, Some(2e6), RTT);
        }
        assert!((aimd.rate() / 1e6 - 1.08).abs() < 1e-6, "{}", aimd.rate());
        for ms in 101..1000 {
            aimd.update(at(10 * ms), Usage::Normal, Some(0.8e6), RTT);
        }
        assert!((aimd.rate() / 1e6 - 1.21).abs() < 1e-6, "{}", aimd.rate());
    }

    #[test]
    fn grows_by_half_a_packet_per_response_time_near_convergence() {
        let mut aimd = Aimd::new((0.85, Rate::ZERO), Rate::from_mbps(1.2));
        aimd.update(at(0), Usage::Over, Some(1e6), RTT);
        aimd.update(at(10), Usage::Normal, Some(1e6), RTT);
        let before = aimd.rate();
        for i in 0..20 {
            aimd.update(at(20 + 10 * i), Usage::Normal, Some(1e6), RTT);
        }
        // 850 kbit/s: three packets to a frame, of 9444 bits.
        assert!((aimd.rate() - before - 4722.0).abs() < 60.0, "{}", aimd.rate() - before);
        // More arrives than ever before: faster again.
        let before = aimd.rate();
        for i in 0..100 {
            aimd.update(at(220 + 10 * i), Usage::Normal, Some(1.5e6), RTT);
        }
        assert!(aimd.rate() / before > 1.079);
    }

    #[test]
    fn a_probe_sets_the_rate() {
        let mut aimd = Aimd::new((0.85, Rate::ZERO), Rate::from_mbps(0.3));
        aimd.set(at(0), 1.8e6);
        assert_eq!(aimd.rate(), 1.8e6);
        aimd.update(at(50), Usage::Normal, Some(1.0e6), RTT);
        assert_eq!(aimd.rate(), 1.8e6, "above 1.5 times what arrives it stays");
    }
}

//! The rate controller (draft §5.5): up by a share or by steps, down to a share of what arrives.

use paceline_cc::{Rate, Span, Time};

use super::detector::Usage;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Hold,
    Increase,
    Decrease,
}

/// The weight of the past in the average of received rates at decreases.
const SMOOTHING: f64 = 0.95;
/// Growth per second far from convergence.
const ETA: f64 = 1.08;
/// The target stays below this multiple of what arrives.
const HEADROOM: f64 = 1.5;
/// The over-use estimator's own response time, beside the RTT.
const RESPONSE: Span = Span::from_millis(100);

/// Mean and variance of the received rates at decreases, in kbit/s; the variance is relative to
/// the mean.
#[derive(Copy, Clone, Debug)]
struct RateAtDecreases {
    mean: f64,
    variance: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Aimd {
    beta: f64,
    state: State,
    /// In bits per second.
    rate: f64,
    at_decreases: Option<RateAtDecreases>,
    updated: Option<Time>,
}

impl Aimd {
    pub(super) fn new(beta: f64, rate: Rate) -> Aimd {
        Aimd {
            beta,
            state: State::Increase,
            rate: rate.as_bps() as f64,
            at_decreases: None,
            updated: None,
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

    fn near_convergence(&mut self, kbps: f64) -> bool {
        let Some(at_decreases) = self.at_decreases else { return false };
        let deviation = 3.0 * (at_decreases.variance * at_decreases.mean).sqrt();
        if kbps > at_decreases.mean + deviation {
            // There is more than there was: what was at_decreases before is no guide.
            self.at_decreases = None;
        }
        self.at_decreases.is_some() && kbps >= at_decreases.mean - deviation
    }

    fn note_decrease(&mut self, kbps: f64) {
        if self.at_decreases.is_some_and(|at_decreases| {
            kbps < at_decreases.mean - 3.0 * (at_decreases.variance * at_decreases.mean).sqrt()
        }) {
            self.at_decreases = None;
        }
        let at_decreases =
            self.at_decreases.get_or_insert(RateAtDecreases { mean: kbps, variance: 0.4 });
        at_decreases.mean = SMOOTHING * at_decreases.mean + (1.0 - SMOOTHING) * kbps;
        let apart = at_decreases.mean - kbps;
        let normed = apart * apart / at_decreases.mean.max(1.0);
        at_decreases.variance =
            (SMOOTHING * at_decreases.variance + (1.0 - SMOOTHING) * normed).clamp(0.4, 2.5);
    }

    /// Sets the rate by how the path is used and by the rate at which packets arrive.
    pub(super) fn update(&mut self, now: Time, usage: Usage, received: Option<Rate>, rtt: Span) {
        let since = now.since(*self.updated.get_or_insert(now));
        self.updated = Some(now);
        self.state = match (usage, self.state) {
            (Usage::Over, _) => State::Decrease,
            (Usage::Under, _) => State::Hold,
            (Usage::Normal, State::Decrease) => State::Hold,
            (Usage::Normal, _) => State::Increase,
        };
        let arriving = received.map(|rate| rate.as_bps() as f64);
        match self.state {
            State::Hold => {}
            State::Increase => {
                let step = self.increase(since, arriving, rtt);
                let most = arriving.map_or(self.rate, |arriving| HEADROOM * arriving);
                self.rate = (self.rate + step).min(most.max(self.rate));
            }
            State::Decrease => {
                let arriving = arriving.unwrap_or(self.rate);
                self.note_decrease(arriving / 1000.0);
                self.rate = self.rate.min(self.beta * arriving);
            }
        }
    }

    fn increase(&mut self, since: Span, arriving: Option<f64>, rtt: Span) -> f64 {
        let near = arriving.is_some_and(|arriving| self.near_convergence(arriving / 1000.0));
        if !near {
            return self.rate * (libm::pow(ETA, since.as_secs_f64().min(1.0)) - 1.0);
        }
        let response = (RESPONSE + rtt).as_secs_f64();
        let share = 0.5 * (since.as_secs_f64() / response).min(1.0);
        // The size of a packet, if frames come 30 times a second.
        let frame = self.rate / 30.0;
        let packet = frame / libm::ceil(frame / (1200.0 * 8.0)).max(1.0);
        // The draft's least step is for updates a response time apart; ours are more frequent.
        (share * packet).max(1000.0 * (since.as_secs_f64() / response).min(1.0))
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
            (Usage::Normal, Decrease, Hold),
            (Usage::Under, Hold, Hold),
            (Usage::Under, Increase, Hold),
            (Usage::Under, Decrease, Hold),
        ] {
            let mut aimd = Aimd { state, ..Aimd::new(0.85, Rate::from_mbps(1.0)) };
            aimd.update(at(0), usage, Some(Rate::from_mbps(1.0)), RTT);
            assert_eq!(aimd.state(), next, "{usage:?} in {state:?}");
        }
    }

    #[test]
    fn over_use_leaves_85_per_cent_of_what_arrives() {
        let mut aimd = Aimd::new(0.85, Rate::from_mbps(2.0));
        aimd.update(at(0), Usage::Over, Some(Rate::from_mbps(1.0)), RTT);
        assert_eq!(aimd.rate(), 850_000.0);
        // Never up.
        aimd.update(at(5), Usage::Over, Some(Rate::from_mbps(3.0)), RTT);
        assert_eq!(aimd.rate(), 850_000.0);
    }

    #[test]
    fn grows_by_8_per_cent_a_second_and_no_further_than_what_arrives_allows() {
        let mut aimd = Aimd::new(0.85, Rate::from_mbps(1.0));
        for ms in 0..=100 {
            aimd.update(at(10 * ms), Usage::Normal, Some(Rate::from_mbps(2.0)), RTT);
        }
        assert!((aimd.rate() / 1e6 - 1.08).abs() < 1e-6, "{}", aimd.rate());
        for ms in 101..1000 {
            aimd.update(at(10 * ms), Usage::Normal, Some(Rate::from_mbps(0.8)), RTT);
        }
        assert!((aimd.rate() / 1e6 - 1.2).abs() < 1e-6, "{}", aimd.rate());
    }

    #[test]
    fn grows_by_half_a_packet_per_response_time_near_convergence() {
        let mut aimd = Aimd::new(0.85, Rate::from_mbps(1.2));
        let arriving = Some(Rate::from_mbps(1.0));
        aimd.update(at(0), Usage::Over, arriving, RTT);
        aimd.update(at(10), Usage::Normal, arriving, RTT);
        let before = aimd.rate();
        for i in 0..20 {
            aimd.update(at(20 + 10 * i), Usage::Normal, arriving, RTT);
        }
        // 850 kbit/s: three packets to a frame, of 9444 bits.
        assert!((aimd.rate() - before - 4722.0).abs() < 60.0, "{}", aimd.rate() - before);
        // More arrives than ever before: faster again.
        let before = aimd.rate();
        for i in 0..100 {
            aimd.update(at(220 + 10 * i), Usage::Normal, Some(Rate::from_mbps(1.5)), RTT);
        }
        assert!(aimd.rate() / before > 1.079);
    }
}

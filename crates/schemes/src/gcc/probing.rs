//! When to probe, and at which rates (libwebrtc `probe_controller.cc`).

use paceline_cc::{Rate, Span, Time};

use super::clusters::Clusters;
use super::detector::Usage;
use super::loss_v2::LossState;

/// Multiples of the rate at the start (`p1`, `p2`).
const INITIAL: [f64; 2] = [3.0, 6.0];
/// Multiple of what the last probe has shown (`step_size`) ...
const FURTHER: f64 = 2.0;
/// ... if that is at least this share of the rate at which it was sent (`further_probe_threshold`).
const FURTHER_THRESHOLD: f64 = 0.7;
/// How long a result is awaited (`kMaxWaitingTimeForProbingResult`).
const RESULT_WAIT: Span = Span::from_secs(1);
/// How often it is probed while the application has less to send than the target (`alr_interval`), and
/// at which multiple of the estimate (`alr_scale`).
const ALR_INTERVAL: Span = Span::from_secs(5);
const ALR_SCALE: f64 = 2.0;
/// A fall of the estimate below this share of what it was (`kBitrateDropThreshold`) is probed after
/// recovery at this share of the old rate (`kProbeFractionAfterDrop`), if the path recovers within
/// this time (`kBitrateDropTimeout`).
const DROP: f64 = 0.66;
const AFTER_DROP: f64 = 0.85;
const DROP_WAIT: Span = Span::from_secs(5);
/// Such a probe is made only if it can show more than the estimate (`kProbeUncertainty`), at most once
/// in this time (`kMinTimeBetweenAlrProbes`), and only while the application is limited or was so within
/// the time after (`kAlrEndedTimeout`).
const UNCERTAINTY: f64 = 0.05;
const DROP_PROBE_INTERVAL: Span = Span::from_secs(5);
const ALR_ENDED_WAIT: Span = Span::from_secs(3);
/// Largest multiple of an estimate that losses limit and that grows (`loss_limited_scale`).
const LOSS_LIMITED_SCALE: f64 = 1.5;

/// Why the estimate is what it is.
#[derive(Copy, Clone, Debug)]
pub(super) struct Limits {
    pub(super) usage: Usage,
    pub(super) loss: LossState,
    /// The RTT is above its limit.
    pub(super) rtt: bool,
    /// Since when the application has less to send, and until when it had before.
    pub(super) alr_since: Option<Time>,
    pub(super) alr_ended: Option<Time>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Initial,
    Waiting,
    Complete,
}

/// Decides on probes.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    most: f64,
    state: State,
    /// Rate that the last probe must reach before another one follows, bit/s.
    further_from: f64,
    initiated: Time,
    estimate: f64,
    dropped_at: Option<Time>,
    before_drop: f64,
    drop_probed: Option<Time>,
}

impl Probing {
    /// Probes at `most` at the most.
    pub(super) fn new(estimate: f64, most: Rate) -> Probing {
        Probing {
            most: most.as_bps() as f64,
            state: State::Initial,
            further_from: f64::INFINITY,
            initiated: Time::ZERO,
            estimate,
            dropped_at: None,
            before_drop: 0.0,
            drop_probed: None,
        }
    }

    /// The first packet is about to leave.
    pub(super) fn start(&mut self, now: Time, limits: &Limits, clusters: &mut Clusters) {
        if self.state == State::Initial {
            let rates = INITIAL.map(|scale| scale * self.estimate);
            self.initiate(now, &rates, true, limits, clusters);
        }
    }

    /// Returns true before the first packet.
    pub(super) fn is_initial(&self) -> bool {
        self.state == State::Initial
    }

    /// A report has set the estimate.
    pub(super) fn on_estimate(
        &mut self,
        now: Time,
        estimate: f64,
        limits: &Limits,
        clusters: &mut Clusters,
    ) {
        if estimate < DROP * self.estimate {
            (self.dropped_at, self.before_drop) = (Some(now), self.estimate);
        }
        self.estimate = estimate;
        if self.state == State::Waiting && estimate > self.further_from {
            self.initiate(now, &[FURTHER * estimate], true, limits, clusters);
        }
    }

    /// Queues have drained after over-use.
    pub(super) fn on_recovery(&mut self, now: Time, limits: &Limits, clusters: &mut Clusters) {
        let was_limited = limits.alr_ended.is_some_and(|ended| now.since(ended) < ALR_ENDED_WAIT);
        if self.state != State::Complete || !(limits.alr_since.is_some() || was_limited) {
            return;
        }
        let rate = AFTER_DROP * self.before_drop;
        let is_recent = self.dropped_at.is_some_and(|dropped| now.since(dropped) < DROP_WAIT);
        let is_due = self.drop_probed.is_none_or(|last| now.since(last) > DROP_PROBE_INTERVAL);
        if (1.0 - UNCERTAINTY) * rate > self.estimate && is_recent && is_due {
            self.drop_probed = Some(now);
            self.initiate(now, &[rate], false, limits, clusters);
        }
    }

    /// Time has passed.
    pub(super) fn process(&mut self, now: Time, limits: &Limits, clusters: &mut Clusters) {
        if self.state == State::Waiting && now.since(self.initiated) > RESULT_WAIT {
            self.complete();
        }
        let due = |since: Time| now >= since.max(self.initiated) + ALR_INTERVAL;
        if self.state == State::Complete && limits.alr_since.is_some_and(due) {
            self.initiate(now, &[ALR_SCALE * self.estimate], true, limits, clusters);
        }
    }

    fn complete(&mut self) {
        (self.state, self.further_from) = (State::Complete, f64::INFINITY);
    }

    fn initiate(
        &mut self,
        now: Time,
        rates: &[f64],
        further: bool,
        limits: &Limits,
        clusters: &mut Clusters,
    ) {
        let most = match limits.loss {
            _ if limits.usage != Usage::Normal || limits.rtt => return,
            LossState::Decreasing => return,
            LossState::Increasing => self.most.min(LOSS_LIMITED_SCALE * self.estimate),
            LossState::DelayBased => self.most,
        };
        let mut is_bounded = false;
        for rate in rates {
            is_bounded |= *rate >= most;
            let rate = rate.min(most);
            clusters.add(now, Rate::from_bps(rate as u64));
            self.further_from = FURTHER_THRESHOLD * rate;
        }
        self.initiated = now;
        if further && !is_bounded {
            self.state = State::Waiting;
        } else {
            self.complete();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Limits = Limits {
        usage: Usage::Normal,
        loss: LossState::DelayBased,
        rtt: false,
        alr_since: None,
        alr_ended: None,
    };

    fn at(ms: u64) -> Time {
        Time::from_millis(10_000 + ms)
    }

    /// Returns the rates in kbit/s of the clusters that were added, by sending them.
    fn rates(clusters: &mut Clusters, ms: u64) -> Vec<u64> {
        let (mut rates, mut now) = (Vec::new(), at(ms));
        while clusters.are_waiting() {
            clusters.on_send(now, 1200, false);
            let Some((rate, _)) = clusters.current() else { break };
            if rates.last() != Some(&(rate.as_bps() / 1000)) {
                rates.push(rate.as_bps() / 1000);
            }
            now += rate.time_for(1200);
        }
        rates
    }

    fn started() -> (Probing, Clusters) {
        let mut probing = Probing::new(300_000.0, Rate::from_mbps(5.0));
        let mut clusters = Clusters::new();
        assert!(probing.is_initial());
        probing.start(at(0), &FREE, &mut clusters);
        assert_eq!(rates(&mut clusters, 0), [900, 1800]);
        (probing, clusters)
    }

    #[test]
    fn successes_lead_to_further_probes_until_the_largest_rate() {
        let (mut probing, mut clusters) = started();
        probing.on_estimate(at(100), 900_000.0, &FREE, &mut clusters);
        assert!(rates(&mut clusters, 100).is_empty(), "70 % of 1.8 Mbit/s are 1.26");
        probing.on_estimate(at(150), 1_800_000.0, &FREE, &mut clusters);
        assert_eq!(rates(&mut clusters, 150), [3600]);
        probing.on_estimate(at(250), 3_500_000.0, &FREE, &mut clusters);
        assert_eq!(rates(&mut clusters, 250), [5000]);
        probing.on_estimate(at(350), 5_000_000.0, &FREE, &mut clusters);
        assert!(rates(&mut clusters, 350).is_empty());
    }

    #[test]
    fn a_result_is_awaited_for_a_second_and_not_under_over_use() {
        let (mut probing, mut clusters) = started();
        let over = Limits { usage: Usage::Over, ..FREE };
        probing.on_estimate(at(150), 1_800_000.0, &over, &mut clusters);
        assert!(rates(&mut clusters, 150).is_empty());
        probing.process(at(1001), &FREE, &mut clusters);
        probing.on_estimate(at(1002), 1_800_000.0, &FREE, &mut clusters);
        assert!(rates(&mut clusters, 1002).is_empty());
    }

    #[test]
    fn a_limited_application_is_probed_for_every_five_seconds() {
        let (mut probing, mut clusters) = started();
        let limited = Limits { alr_since: Some(at(2000)), ..FREE };
        let mut seen = Vec::new();
        for second in 1..20 {
            probing.process(at(1000 * second), &limited, &mut clusters);
            let rates = rates(&mut clusters, 1000 * second);
            seen.extend((!rates.is_empty()).then_some((second, rates)));
        }
        assert_eq!(seen, [(7, vec![600]), (12, vec![600]), (17, vec![600])]);
    }

    #[test]
    fn a_fall_is_probed_after_recovery_if_the_application_was_limited() {
        for (ended, expected) in [(None, vec![]), (Some(at(8000)), vec![1700])] {
            let (mut probing, mut clusters) = started();
            probing.process(at(2000), &FREE, &mut clusters);
            probing.on_estimate(at(2000), 2_000_000.0, &FREE, &mut clusters);
            probing.on_estimate(at(8000), 1_000_000.0, &FREE, &mut clusters);
            let limits = Limits { alr_ended: ended, ..FREE };
            probing.on_recovery(at(9000), &limits, &mut clusters);
            assert_eq!(rates(&mut clusters, 9000), expected);
            probing.on_recovery(at(9500), &limits, &mut clusters);
            assert!(rates(&mut clusters, 9500).is_empty(), "once in five seconds");
        }
    }
}

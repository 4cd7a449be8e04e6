//! The loss-based controller of libwebrtc since 2023 (`loss_based_bwe_v2.cc`): a model of the path
//! with a bandwidth, above which packets are lost, and an inherent share of losses.
//!
//! For several candidates of the bandwidth it finds the inherent share by a step of Newton's method, and
//! takes the candidate under which the losses of the last observations are the most likely, with a bias
//! towards larger bandwidths.

use std::sync::LazyLock;

use paceline_cc::{Fate, Span, Time};

/// Observations that count (`ObservationWindowSize`), each of at least this time
/// (`ObservationDurationLowerBound`); the estimate is not used before this number of them
/// (`MinNumObservations`).
const OBSERVATIONS: usize = 15;
const OBSERVATION_TIME: Span = Span::from_millis(250);
const LEAST_OBSERVATIONS: u64 = 3;
/// Weight of an observation against the next newer one (`TemporalWeightFactor`,
/// `InstantUpperBoundTemporalWeightFactor`).
const WEIGHT: f64 = 0.9;
/// Candidates as multiples of the estimate (`CandidateFactors`).
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
/// Step of Newton's method (`NewtonStepSize`).
const NEWTON_STEP: f64 = 0.75;
/// Inherent share of losses: at the start, and its bounds, the upper one with a term that is inverse
/// to the bandwidth in kbit/s (`InitialInherentLossEstimate`, `InherentLossLowerBound`,
/// `InherentLossUpperBoundOffset`, `InherentLossUpperBoundBwBalance`).
const INITIAL_INHERENT: f64 = 0.01;
const LEAST_INHERENT: f64 = 0.001;
const MOST_INHERENT: f64 = 0.05;
const INHERENT_BALANCE: f64 = 100.0;
/// Bias towards larger bandwidths: per kbit/s and per its logarithm (`HigherBwBiasFactor`,
/// `HigherLogBwBiasFactor`), up to this share of losses (`LossThresholdOfHighBandwidthPreference`) with
/// this smoothing (`BandwidthPreferenceSmoothingFactor`).
const BIAS: f64 = 0.0002;
const LOG_BIAS: f64 = 0.02;
const BIAS_THRESHOLD: f64 = 0.2;
const BIAS_SMOOTHING: f64 = 0.002;
/// Upper bound of the estimate in kbit/s per share of losses above the offset
/// (`InstantUpperBoundBwBalance`, `InstantUpperBoundLossOffset`).
const BOUND_BALANCE: f64 = 100.0;
const BOUND_OFFSET: f64 = 0.05;
/// While losses limit it, the estimate grows by at most this factor in this time (`MaxIncreaseFactor`,
/// `DelayedIncreaseWindow`), and to this multiple of what arrives (`BwRampupUpperBoundFactor`), or to a
/// smaller one soon after a fall (`BwRampupUpperBoundInHoldFactor`) while less than this multiple of the
/// rate after the fall arrives (`BwRampupUpperBoundHoldThreshold`).
const MAX_INCREASE: f64 = 1.3;
const INCREASE_WINDOW: Span = Span::from_millis(300);
const RAMP_UP: f64 = 1.5;
const RAMP_UP_IN_HOLD: f64 = 1.2;
const HOLD_THRESHOLD: f64 = 1.3;
/// After a fall the estimate is held: first for this time (`kInitHoldDuration`), then for twice as long
/// as before (`HoldDurationFactor`) up to the longest time (`kMaxHoldDuration`).
const FIRST_HOLD: Span = Span::from_millis(300);
const LONGEST_HOLD: Span = Span::from_secs(60);
/// While the estimate grows, padding is sent for this time after each growth (`PaddingDuration`).
const PADDING_TIME: Span = Span::from_secs(2);
/// An observation that was sent at this multiple of the median rate may have caused its losses
/// (`MedianSendingRateFactor`).
const MEDIAN_FACTOR: f64 = 2.0;
/// Packets of an unfinished observation whose losses are remembered by number, so that those that arrive
/// after all are taken back.
const REMEMBERED_LOSSES: usize = 4096;

/// Weights of the observations, from the newest to the oldest.
static WEIGHTS: LazyLock<[f64; OBSERVATIONS]> =
    LazyLock::new(|| std::array::from_fn(|age| libm::pow(WEIGHT, age as f64)));

/// What limits the estimate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum LossState {
    /// The delay, not losses.
    DelayBased,
    /// Losses; the estimate grows, and padding fills what the application leaves of it.
    Increasing,
    /// Losses; the estimate falls or is held.
    Decreasing,
}

/// Kilobytes sent and lost in one observation interval.
#[derive(Copy, Clone, Debug, Default)]
struct Observation {
    size: f64,
    lost: f64,
    /// In kbit/s.
    rate: f64,
    number: u64,
}

impl Observation {
    fn loss(&self) -> f64 {
        if self.size > 0.0 { self.lost / self.size } else { 0.0 }
    }
}

/// The observation that is being made.
#[derive(Clone, Debug, Default)]
struct Partial {
    bytes: u64,
    lost: Vec<(u64, u32)>,
    first_sent: Option<Time>,
    last_sent: Time,
}

/// The model: bandwidth in kbit/s, inherent share of losses.
#[derive(Copy, Clone, Debug)]
struct Channel {
    bandwidth: f64,
    inherent: f64,
}

#[derive(Copy, Clone, Debug)]
struct Hold {
    until: Time,
    duration: Span,
    rate: f64,
}

const NO_HOLD: Hold = Hold { until: Time::ZERO, duration: FIRST_HOLD, rate: f64::INFINITY };

/// Rates in kbit/s.
#[derive(Clone, Debug)]
pub(super) struct LossV2 {
    least: f64,
    most: f64,
    partial: Partial,
    observations: [Observation; OBSERVATIONS],
    count: u64,
    /// When the last packet of the newest observation was sent.
    newest_sent: Option<Time>,
    average_loss: f64,
    best: Option<Channel>,
    state: LossState,
    result: f64,
    hold: Hold,
    padded_from: Option<Time>,
    padding_rate: f64,
    recovering_since: Option<Time>,
    window_limit: f64,
}

impl LossV2 {
    /// An estimate from `least` to `most` bits per second.
    pub(super) fn new(least: f64, most: f64) -> LossV2 {
        LossV2 {
            least: least / 1000.0,
            most: most / 1000.0,
            partial: Partial::default(),
            observations: [Observation::default(); OBSERVATIONS],
            count: 0,
            newest_sent: None,
            average_loss: 0.0,
            best: None,
            state: LossState::DelayBased,
            result: most / 1000.0,
            hold: NO_HOLD,
            padded_from: None,
            padding_rate: 0.0,
            recovering_since: None,
            window_limit: f64::INFINITY,
        }
    }

    /// Takes in what became of a packet.
    pub(super) fn on_fate(&mut self, fate: &Fate) {
        let partial = &mut self.partial;
        partial.bytes += u64::from(fate.size);
        if fate.lost {
            if partial.lost.len() < REMEMBERED_LOSSES {
                partial.lost.push((fate.number, fate.size));
            }
        } else if fate.late {
            partial.lost.retain(|(number, _)| *number != fate.number);
        }
        partial.last_sent = partial.last_sent.max(fate.sent);
        let first = partial.first_sent.map_or(fate.sent, |first| first.min(fate.sent));
        partial.first_sent = Some(first);
    }

    /// A report is complete: `delay_based` is the other controller's rate, `acked` what arrives, both in
    /// bits per second, and `in_alr` tells that the application has less to send than the target.
    pub(super) fn on_report(&mut self, delay_based: f64, acked: Option<f64>, in_alr: bool) {
        let (delay_based, acked) = (delay_based / 1000.0, acked.map(|rate| rate / 1000.0));
        let Some(now) = self.observe() else { return };
        let current =
            self.best.unwrap_or(Channel { bandwidth: delay_based, inherent: INITIAL_INHERENT });
        if self.best.is_none() {
            (self.result, self.state) = (delay_based, LossState::DelayBased);
        }
        let mut best = self.best_candidate(current, delay_based, acked, in_alr, now);
        if self.average_loss > best.inherent && current.bandwidth < best.bandwidth {
            best.bandwidth = current.bandwidth;
        }
        if self.is_limited() {
            self.bound_growth(&mut best, current, acked, now);
        }
        let lower = acked.unwrap_or(0.0).max(self.least);
        let bounded = best.bandwidth.min(self.upper_bound()).min(delay_based).max(lower);
        if bounded < best.bandwidth {
            best = Channel { bandwidth: bounded, inherent: 0.0 };
        } else {
            best.bandwidth = best.bandwidth.max(lower);
        }
        self.best = Some(best);
        self.conclude(bounded, delay_based, lower, now);
    }

    /// Sets the result and the state by the `bounded` estimate.
    fn conclude(&mut self, bounded: f64, delay_based: f64, lower: f64, now: Time) {
        let is_below = bounded < delay_based;
        if self.state == LossState::Decreasing && self.hold.until > now && is_below {
            self.hold.rate = self.hold.rate.max(lower);
            self.result = self.hold.rate.min(bounded);
            return;
        }
        let is_limited = is_below && bounded < self.most;
        if is_limited && self.grows(self.result, bounded) && self.may_go_on(bounded, now) {
            if bounded > self.padding_rate {
                (self.padding_rate, self.padded_from) = (bounded, Some(now));
            }
            self.state = LossState::Increasing;
        } else if is_limited {
            if self.state != LossState::Decreasing {
                let duration = self.hold.duration;
                self.hold = Hold {
                    until: now + duration,
                    duration: (duration * 2).min(LONGEST_HOLD),
                    rate: bounded,
                };
            }
            (self.padding_rate, self.padded_from) = (0.0, None);
            self.state = LossState::Decreasing;
        } else {
            self.hold = NO_HOLD;
            (self.padding_rate, self.padded_from) = (0.0, None);
            self.state = LossState::DelayBased;
        }
        self.result = bounded;
        let is_new_window = self.recovering_since.is_none_or(|since| since + INCREASE_WINDOW < now);
        if self.is_limited() && is_new_window {
            let bandwidth = self.best.map_or(bounded, |best| best.bandwidth);
            self.window_limit = (bandwidth * MAX_INCREASE).max(self.least);
            self.recovering_since = Some(now);
        }
    }

    /// Bounds the growth of an estimate that losses limit.
    fn bound_growth(
        &mut self,
        best: &mut Channel,
        current: Channel,
        acked: Option<f64>,
        now: Time,
    ) {
        let is_recent = self.recovering_since.is_some_and(|since| since + INCREASE_WINDOW > now);
        if is_recent {
            best.bandwidth = best.bandwidth.min(self.window_limit);
        }
        let Some(acked) = acked.filter(|_| self.grows(current.bandwidth, best.bandwidth)) else {
            return;
        };
        let in_hold = self.hold.rate.is_finite() && acked < HOLD_THRESHOLD * self.hold.rate;
        let factor = if in_hold { RAMP_UP_IN_HOLD } else { RAMP_UP };
        best.bandwidth = best.bandwidth.min(factor * acked).max(current.bandwidth);
        if self.state == LossState::Decreasing && best.bandwidth == current.bandwidth {
            // A bit per second more: the state becomes the growing one, in which padding is sent.
            best.bandwidth += 0.001;
        }
    }

    /// Returns the estimate in bits per second, once there are enough observations.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.count >= LEAST_OBSERVATIONS && self.best.is_some()).then_some(self.result * 1000.0)
    }

    /// What limits the estimate.
    pub(super) fn state(&self) -> LossState {
        if self.rate().is_some() { self.state } else { LossState::DelayBased }
    }

    fn is_limited(&self) -> bool {
        self.state != LossState::DelayBased
    }

    fn grows(&self, old: f64, new: f64) -> bool {
        let goes_on = old == new && self.state == LossState::Increasing;
        self.is_limited() && (old < new || goes_on)
    }

    fn may_go_on(&self, bounded: f64, now: Time) -> bool {
        self.state != LossState::Increasing
            || self.padded_from.is_some_and(|from| from + PADDING_TIME >= now)
            || self.padding_rate < bounded
    }

    /// Makes an observation of what was reported, if it covers enough time. Returns when its last packet
    /// was sent.
    fn observe(&mut self) -> Option<Time> {
        let first_sent = self.partial.first_sent?;
        let before = *self.newest_sent.get_or_insert(first_sent);
        let last_sent = self.partial.last_sent;
        let time = last_sent.since(before);
        if time < OBSERVATION_TIME {
            return None;
        }
        self.newest_sent = Some(last_sent);
        let size = self.partial.bytes as f64 / 1000.0;
        let lost: u64 = self.partial.lost.iter().map(|(_, size)| u64::from(*size)).sum();
        let observation = Observation {
            size,
            lost: (lost as f64 / 1000.0).min(size),
            rate: size * 8.0 / time.as_secs_f64(),
            number: self.count,
        };
        self.observations[(self.count % OBSERVATIONS as u64) as usize] = observation;
        self.count += 1;
        self.partial.bytes = 0;
        self.partial.first_sent = None;
        self.partial.lost.clear();
        self.average_loss = self.average_loss();
        Some(last_sent)
    }

    /// The observations with their weights.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let known = self.count.min(OBSERVATIONS as u64) as usize;
        let weights = &*WEIGHTS;
        let weight =
            move |one: &Observation| weights[(self.count - 1 - one.number) as usize % OBSERVATIONS];
        self.observations[..known].iter().map(move |one| (weight(one), one))
    }

    /// The weighted share of lost bytes. The observations with the largest and with the smallest share
    /// do not count, unless the former was sent so fast that it may have caused its losses.
    fn average_loss(&self) -> f64 {
        let (mut size, mut lost) = (0.0, 0.0);
        let (mut largest, mut smallest) = ((0.0, 0.0, 0.0), (0.0, 0.0));
        let (mut most, mut least, mut rate_of_most) = (0.0, 1.0, 0.0);
        for (weight, one) in self.weighted() {
            size += weight * one.size;
            lost += weight * one.lost;
            if self.count <= LEAST_OBSERVATIONS {
                continue;
            }
            if one.loss() > most {
                (most, rate_of_most) = (one.loss(), one.rate);
                largest = (weight * one.size, weight * one.lost, one.rate);
            }
            if one.loss() < least {
                least = one.loss();
                smallest = (weight * one.size, weight * one.lost);
            }
        }
        let rest = size - largest.0 - smallest.0;
        let all = if size > 0.0 { lost / size } else { 0.0 };
        if self.median_rate() * MEDIAN_FACTOR <= rate_of_most || rest <= 1e-9 {
            return all;
        }
        ((lost - largest.1 - smallest.1) / rest).max(0.0)
    }

    fn median_rate(&self) -> f64 {
        let mut rates = [0.0; OBSERVATIONS];
        let mut count = 0;
        for (_, one) in self.weighted().filter(|(_, one)| one.rate > 0.0) {
            rates[count] = one.rate;
            count += 1;
        }
        let rates = &mut rates[..count];
        rates.sort_by(f64::total_cmp);
        match count {
            0 => 0.0,
            _ if count.is_multiple_of(2) => (rates[count / 2 - 1] + rates[count / 2]) / 2.0,
            _ => rates[count / 2],
        }
    }

    fn upper_bound(&self) -> f64 {
        let excess = self.average_loss - BOUND_OFFSET;
        if excess > 0.0 { BOUND_BALANCE / excess } else { self.most }
    }

    /// The candidate under which the observations are the most likely.
    fn best_candidate(
        &self,
        current: Channel,
        delay_based: f64,
        acked: Option<f64>,
        in_alr: bool,
        now: Time,
    ) -> Channel {
        let limit = if self.is_limited() { self.window_limit } else { self.most };
        let limit = limit.max(current.bandwidth);
        let pads = self.padded_from.is_some_and(|from| from + PADDING_TIME >= now);
        let acked = acked.filter(|_| !in_alr || pads);
        let delay_based = (delay_based > current.bandwidth).then_some(delay_based);
        let scaled = CANDIDATES.into_iter().map(|factor| factor * current.bandwidth);
        let mut best = (f64::NEG_INFINITY, current);
        for bandwidth in scaled.chain(acked).chain(delay_based) {
            let bandwidth = bandwidth.min(limit);
            let inherent = feasible(current.inherent, bandwidth);
            let mut candidate = Channel { bandwidth, inherent };
            let (first, second) = self.derivatives(candidate);
            let stepped = candidate.inherent - NEWTON_STEP * first / second;
            candidate.inherent = feasible(stepped, bandwidth);
            let likelihood = self.likelihood(candidate);
            if likelihood > best.0 {
                best = (likelihood, candidate);
            }
        }
        best.1
    }

    /// First and second derivative of the likelihood by the inherent share of losses.
    fn derivatives(&self, channel: Channel) -> (f64, f64) {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, one) in self.weighted() {
            let loss = channel.loss_at(one.rate);
            let (lost, kept) = (one.lost, one.size - one.lost);
            first += weight * (lost / loss - kept / (1.0 - loss));
            second -= weight * (lost / (loss * loss) + kept / ((1.0 - loss) * (1.0 - loss)));
        }
        (first, if second < 0.0 { second } else { -1e-6 })
    }

    /// The logarithm of the likelihood of the observations, with the bias.
    fn likelihood(&self, channel: Channel) -> f64 {
        let distance = BIAS_THRESHOLD - self.average_loss;
        let preference = distance / (BIAS_SMOOTHING + distance.abs());
        let bias =
            BIAS * channel.bandwidth + LOG_BIAS * libm::log(1.0 + channel.bandwidth.max(0.0));
        let terms = self.weighted().map(|(weight, one)| {
            let loss = channel.loss_at(one.rate);
            let (lost, kept) = (one.lost, one.size - one.lost);
            let likely = lost * libm::log(loss) + kept * libm::log(1.0 - loss);
            weight * (likely + preference * bias * one.size)
        });
        terms.sum()
    }
}

impl Channel {
    /// The share of losses at a sending rate.
    fn loss_at(&self, rate: f64) -> f64 {
        let excess = if rate > self.bandwidth { (rate - self.bandwidth) / rate } else { 0.0 };
        (self.inherent + (1.0 - self.inherent) * excess).clamp(1e-6, 1.0 - 1e-6)
    }
}

/// The inherent share of losses within its bounds for a bandwidth.
fn feasible(inherent: f64, bandwidth: f64) -> f64 {
    let most = MOST_INHERENT + INHERENT_BALANCE / bandwidth.max(1e-9);
    inherent.max(LEAST_INHERENT).min(most.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends at a rate for a time through a path with a bandwidth and a share of losses; losses are
    /// spread evenly.
    struct Sent {
        loss: LossV2,
        now: f64,
        number: u64,
        owed: f64,
    }

    impl Sent {
        fn new() -> Sent {
            Sent { loss: LossV2::new(30e3, 1e8), now: 1.0, number: 0, owed: 0.0 }
        }

        /// Returns the estimate in Mbit/s.
        fn run(&mut self, seconds: f64, rate: f64, path: f64, random: f64, delay: f64) -> f64 {
            let end = self.now + seconds;
            while self.now < end {
                let share = random + (1.0 - random) * (1.0 - path / rate).max(0.0);
                self.owed += share;
                let lost = self.owed >= 1.0;
                self.owed -= f64::from(u8::from(lost));
                let sent = Time::ZERO + Span::from_secs_f64(self.now);
                self.loss.on_fate(&Fate::new(self.number, 1200, sent, 0, lost));
                self.number += 1;
                self.now += 9600.0 / (rate * 1e6);
                if self.number.is_multiple_of(10) {
                    let acked = rate * (1.0 - share);
                    self.loss.on_report(delay * 1e6, Some(acked * 1e6), false);
                }
            }
            self.loss.rate().map_or(f64::NAN, |rate| rate / 1e6)
        }
    }

    #[test]
    fn without_losses_the_delay_decides() {
        let mut sent = Sent::new();
        assert!(sent.run(0.5, 1.0, 9.0, 0.0, 1.0).is_nan(), "three observations");
        assert!((sent.run(5.0, 1.0, 9.0, 0.0, 1.5) - 1.5).abs() < 1e-6);
        assert_eq!(sent.loss.state(), LossState::DelayBased);
    }

    #[test]
    fn a_few_random_losses_are_inherent() {
        let mut sent = Sent::new();
        let rate = sent.run(20.0, 2.0, 9.0, 0.02, 2.0);
        assert!(rate > 1.9, "{rate}");
    }

    #[test]
    fn losses_of_too_high_a_rate_lower_the_estimate_to_what_arrives() {
        let mut sent = Sent::new();
        sent.run(5.0, 1.0, 9.0, 0.0, 2.0);
        let rate = sent.run(5.0, 2.0, 1.0, 0.0, 2.0);
        assert!((0.9..1.3).contains(&rate), "{rate}");
        assert_ne!(sent.loss.state(), LossState::DelayBased);
        // Without losses it grows again, to 1.2 times what arrives at first, and on if more arrives.
        let rate = sent.run(10.0, 1.0, 9.0, 0.0, 2.0);
        assert!((1.15..1.25).contains(&rate), "{rate}");
        let rate = sent.run(10.0, 1.6, 9.0, 0.0, 2.0);
        assert!(rate > 1.7, "{rate}");
    }

    #[test]
    fn packets_that_arrive_late_are_no_losses() {
        let mut loss = LossV2::new(30e3, 1e8);
        for index in 0..200u64 {
            let sent = Time::from_millis(10 * index);
            loss.on_fate(&Fate::new(index, 1200, sent, 0, true));
            loss.on_fate(&Fate::new(index, 1200, sent, 0, false).with(|fate| fate.late = true));
            loss.on_report(1e6, Some(1e6), false);
        }
        assert_eq!(loss.average_loss, 0.0);
        assert_eq!(loss.rate(), Some(1e6));
    }
}

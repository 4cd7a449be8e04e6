//! The rule of the paper's text (§4). Rates are megabits per second.

use paceline_cc::{Setup, Span, Stream, Time};

use super::Utility;
use super::monitor::{Interval, Summary};
use super::rate_rule::RateRule;
use super::steps::amplify;
use super::utility;

const INITIAL: f64 = 0.8;
const FASTEST: f64 = 100_000.0;
/// Share of the rate by which probes differ from it.
const EPSILON: f64 = 0.05;
/// First bound of a step as a share of the rate, and the increase each time that the bound applies.
const BOUND: f64 = 0.05;
const BOUND_STEP: f64 = 0.1;
const LEAST_PACKETS: u32 = 10;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Probing,
    Moving,
}

#[derive(Copy, Clone, Debug, Default)]
struct Probe {
    rate: f64,
    number: Option<u64>,
    worth: Option<f64>,
}

pub(super) struct PaperRule {
    utility: Utility,
    mss: f64,
    random: Stream,
    phase: Phase,
    rate: f64,
    sending: f64,
    probes: [Probe; 4],
    begun: usize,
    /// Number of the interval whose result is awaited, while starting or moving.
    awaited: Option<u64>,
    /// Rate and utility before the last step.
    before: Option<(f64, f64)>,
    /// Number of steps in the last direction, and that direction.
    steps: f64,
    direction: f64,
    bound: f64,
    /// Smallest rate: two packets per RTT.
    floor: f64,
}

impl PaperRule {
    pub(super) fn new(utility: Utility, setup: &Setup) -> PaperRule {
        PaperRule {
            utility,
            mss: f64::from(setup.mss.max(1)),
            random: setup.random("vivace"),
            phase: Phase::Starting,
            rate: INITIAL,
            sending: INITIAL,
            probes: [Probe::default(); 4],
            begun: 0,
            awaited: None,
            before: None,
            steps: 0.0,
            direction: 0.0,
            bound: 0.0,
            floor: 0.01,
        }
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.max(self.floor).min(FASTEST);
    }

    fn probe(&mut self) {
        self.phase = Phase::Probing;
        for pair in 0..2 {
            let high_first = self.random.chance(0.5);
            for (at, high) in [(2 * pair, high_first), (2 * pair + 1, !high_first)] {
                let share = if high { 1.0 + EPSILON } else { 1.0 - EPSILON };
                self.probes[at] = Probe { rate: self.rate * share, ..Probe::default() };
            }
        }
        self.begun = 0;
    }

    /// Returns the step for a gradient (§4.3): amplified while the direction is unchanged, and
    /// bounded.
    fn step(&mut self, gradient: f64) -> f64 {
        let direction = if gradient < 0.0 { -1.0 } else { 1.0 };
        if direction != self.direction {
            (self.steps, self.bound) = (0.0, 0.0);
        }
        self.direction = direction;
        let step = gradient * amplify(self.steps);
        self.steps += 1.0;
        let most = |bound: f64| self.rate * (BOUND + BOUND_STEP * bound);
        if step.abs() > most(self.bound) {
            let bounded = most(self.bound);
            self.bound += 1.0;
            return bounded.copysign(step);
        }
        // Reduces the bound to the smallest one that the step satisfies.
        while self.bound > 0.0 && step.abs() <= most(self.bound - 1.0) {
            self.bound -= 1.0;
        }
        step
    }

    fn forget_steps(&mut self) {
        (self.steps, self.bound, self.direction) = (0.0, 0.0, 0.0);
    }

    fn decide_starting(&mut self, worth: f64) {
        match self.before {
            Some((rate, best)) if worth < best => {
                self.set_rate(rate);
                self.before = None;
                self.probe();
            }
            _ => {
                self.before = Some((self.rate, worth));
                self.set_rate(2.0 * self.rate);
            }
        }
    }

    fn decide_probing(&mut self) {
        let worth = self.probes.map(|probe| probe.worth.unwrap_or(0.0));
        let gradient = |a: usize| {
            let apart = self.probes[a].rate - self.probes[a + 1].rate;
            if apart == 0.0 { 0.0 } else { (worth[a] - worth[a + 1]) / apart }
        };
        let (first, second) = (gradient(0), gradient(2));
        if first * second <= 0.0 {
            self.forget_steps();
            self.probe();
            return;
        }
        let up = first > 0.0;
        let (mut rate, mut best) = (self.rate, 0.0);
        for (probe, worth) in self.probes.iter().zip(worth) {
            if (probe.rate > self.rate) == up {
                rate = probe.rate;
                best += worth / 2.0;
            }
        }
        self.before = Some((rate, best));
        let step = self.step((first + second) / 2.0);
        self.set_rate(self.rate + step);
        self.phase = Phase::Moving;
    }

    fn decide_moving(&mut self, worth: f64) {
        let Some((rate, best)) = self.before else { return self.probe() };
        let apart = self.rate - rate;
        if worth > best && apart != 0.0 {
            self.before = Some((self.rate, worth));
            let step = self.step((worth - best) / apart);
            self.set_rate(self.rate + step);
        } else {
            self.set_rate(rate);
            self.forget_steps();
            self.probe();
        }
    }
}

impl RateRule for PaperRule {
    fn begin(&mut self, number: u64) {
        self.sending = self.rate;
        match self.phase {
            Phase::Starting | Phase::Moving => {
                self.awaited.get_or_insert(number);
            }
            Phase::Probing => {
                if let Some(probe) = self.probes.get_mut(self.begun) {
                    probe.number = Some(number);
                    self.sending = probe.rate;
                    self.begun += 1;
                }
            }
        }
    }

    fn rate(&self) -> f64 {
        self.sending * 1e6
    }

    fn is_full(&self, open: &Interval, now: Time, rtt: Span) -> bool {
        open.sent >= LEAST_PACKETS && now.since(open.start) >= rtt
    }

    fn on_result(&mut self, summary: &Summary, _open: u64) -> bool {
        self.floor = (2.0 * self.mss * 8e-6 / summary.rtt).min(1000.0);
        let mbps = summary.rate / 1e6;
        let worth = utility::paper(self.utility, mbps, summary.gradient, summary.loss());
        match self.phase {
            Phase::Starting | Phase::Moving => {
                if self.awaited != Some(summary.number) {
                    return false;
                }
                self.awaited = None;
                if self.phase == Phase::Starting {
                    self.decide_starting(worth);
                } else {
                    self.decide_moving(worth);
                }
            }
            Phase::Probing => {
                let number = Some(summary.number);
                let found = self.probes.iter_mut().find(|probe| probe.number == number);
                let Some(probe) = found else { return false };
                probe.worth = Some(worth);
                if self.probes.iter().any(|probe| probe.worth.is_none()) {
                    return false;
                }
                self.awaited = None;
                self.decide_probing();
            }
        }
        true
    }

    fn on_timeout(&mut self, _open: u64) -> bool {
        self.set_rate(self.rate / 2.0);
        self.forget_steps();
        self.awaited = None;
        self.probe();
        true
    }

    fn phase(&self) -> u32 {
        self.phase as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper() -> PaperRule {
        PaperRule::new(Utility::Loss, &Setup::default())
    }

    #[test]
    fn facts_of_steps() {
        let mut paper = PaperRule { rate: 100.0, ..paper() };
        let mut step = |gradient: f64| paper.step(gradient);
        assert_eq!([step(1.0), step(1.0), step(1.0)], [1.0, 2.0, 3.0]);
        // In the other direction: small steps again, then bounded by 5 %, 15 %, 25 %.
        assert_eq!(step(-1.0), -1.0);
        assert_eq!([step(-50.0), step(-50.0), step(-50.0)].map(f64::round), [-5.0, -15.0, -25.0]);
        // 0.5 * 6 satisfies the first bound, which applies again afterwards.
        assert_eq!([step(-0.5), step(-50.0)], [-3.0, -5.0]);
    }

    #[test]
    fn finds_the_capacity() {
        let mut paper = paper();
        let capacity = 20.0;
        let mut top: f64 = 0.0;
        for number in 0..400 {
            paper.begin(number);
            let rate = paper.rate();
            let lost = 1000.0 * (1.0 - capacity * 1e6 / rate).max(0.0);
            let summary = Summary {
                number,
                total: 1000,
                lost: lost as u32,
                rate,
                seconds: 0.1,
                gradient: 0.0,
                rtt_change: 0.0,
                delivered: 0.0,
                rtt: 0.1,
            };
            paper.on_result(&summary, number + 1);
            top = top.max(paper.rate);
        }
        // Doubled up to the first rate with losses, never beyond.
        assert!(top < 2.0 * capacity, "{top}");
        assert!((0.85 * capacity..1.15 * capacity).contains(&paper.rate), "{}", paper.rate);
    }
}

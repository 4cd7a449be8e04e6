//! The rule of the program with which the paper was evaluated. Rates are megabits per second.

use paceline_cc::{Setup, Span, Stream, Time};

use super::Utility;
use super::monitor::{Interval, Summary};
use super::probes::{Comparison, IntervalResult, Probes};
use super::rate_rule::RateRule;
use super::steps::Steps;
use super::utility;

const FLOOR: f64 = 1.3;
const FASTEST: f64 = 1024.0;
const INITIAL: f64 = 0.8;
const HIBERNATE: f64 = 0.04;
/// The program's megabit has 2²⁰ bits in its utility, and 10⁶ in its pacing.
const MBIT: f64 = 1_048_576.0;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Probing,
    Moving,
    Hibernating,
}

/// One of the two intervals that a move compares.
#[derive(Copy, Clone, Debug, Default)]
struct MoveInterval {
    rate: f64,
    number: Option<u64>,
    result: Option<IntervalResult>,
}

/// Probes around a rate, and moves the rate by the utility's gradient.
pub(super) struct Nsdi2018Rule {
    utility: Utility,
    mss: f64,
    random: Stream,
    phase: Phase,
    /// The rate around which it probes.
    base: f64,
    sending: f64,
    probes: Probes,
    /// True if probes are to be drawn when the next interval begins.
    search: bool,
    reference: MoveInterval,
    target: MoveInterval,
    /// The last step of a move.
    change: f64,
    /// Number of the interval whose result is awaited while starting, and the utility of the
    /// previous one.
    start_number: Option<u64>,
    last_worth: f64,
    /// Number of losses that starting still ignores.
    forgiven: f64,
    steps: Steps,
    /// True if a vote that losses contradict is to be repeated.
    doubt: bool,
    /// After heavy losses have halved the rate: number of the first interval whose result may halve
    /// it again.
    stopped: Option<u64>,
    /// Number of hibernations without an answer, and the interval at which the present one ends.
    depth: i32,
    awake_from: u64,
}

impl Nsdi2018Rule {
    pub(super) fn new(utility: Utility, setup: &Setup) -> Nsdi2018Rule {
        Nsdi2018Rule {
            utility,
            mss: f64::from(setup.mss.max(1)),
            random: setup.random("vivace"),
            phase: Phase::Starting,
            base: INITIAL,
            sending: INITIAL,
            probes: Probes::default(),
            search: false,
            reference: MoveInterval::default(),
            target: MoveInterval::default(),
            change: 0.0,
            start_number: None,
            last_worth: -100_000.0,
            forgiven: 50.0,
            steps: Steps::default(),
            doubt: true,
            stopped: None,
            depth: 0,
            awake_from: 0,
        }
    }

    fn epsilon(&self) -> f64 {
        (0.5 / self.base).max(0.05)
    }

    fn send_at(&mut self, rate: f64) {
        let floor =
            if self.phase == Phase::Starting { 0.1 } else { FLOOR * (1.0 - self.epsilon()) };
        self.sending = rate.max(floor).clamp(0.01, FASTEST);
    }

    fn start_search(&mut self) {
        self.phase = Phase::Probing;
        self.search = true;
        self.target = MoveInterval::default();
    }

    fn draw_probes(&mut self) {
        self.base = self.base.clamp(FLOOR, FASTEST);
        let pairs = if self.steps.trend >= 1 { 1 } else { 2 };
        let epsilon = self.epsilon();
        self.probes.draw(self.base, epsilon, pairs, &mut self.random);
        self.search = false;
    }

    fn worth(&self, result: &IntervalResult, loss: f64) -> f64 {
        utility::nsdi(self.utility, result.sent, result.gradient, loss)
    }

    fn judge(&mut self, summary: &Summary) -> IntervalResult {
        let (total, mut lost) = (f64::from(summary.total.max(1)), f64::from(summary.lost));
        let mut gradient = summary.gradient;
        if self.phase == Phase::Starting {
            if self.forgiven > 0.0 && gradient.abs() < 0.2 {
                gradient = 0.0;
            }
            if self.forgiven >= lost {
                lost = 0.0;
            } else {
                lost -= self.forgiven;
                self.forgiven = 0.0;
            }
        }
        let result =
            IntervalResult { sent: summary.rate / MBIT, gradient, total, lost, worth: 0.0 };
        IntervalResult { worth: self.worth(&result, lost / total), ..result }
    }

    /// Takes in the result of an interval that may have been a probe.
    fn on_probe(&mut self, summary: &Summary, result: IntervalResult) {
        if self.probes.record(summary, result) {
            self.decide_probes();
        }
    }

    /// Decides once the results of all probes are known: probes again after a small step, or moves.
    fn decide_probes(&mut self) {
        let worth = |result: &IntervalResult, loss: f64| {
            // Losses of up to 1 % are averaged over all probes.
            if loss <= 0.01 { self.worth(result, loss) } else { result.worth }
        };
        let Some(comparison) = self.probes.compare(worth) else { return };
        let Comparison { mut vote, up, down, lost_up, lost_down, loss } = comparison;
        // More losses at the lower rate, and yet the rate should rise: the probes are repeated
        // once.
        if lost_down - lost_up > 2.0 && vote > 0 && lost_up != 0.0 && loss >= 0.05 {
            if self.doubt {
                vote = 0;
            } else {
                self.steps.trend = 2;
            }
            self.doubt = !self.doubt;
        } else {
            self.doubt = true;
        }
        if vote == 0 {
            self.steps.forget_direction();
            self.reference.result = None;
            self.start_search();
            return;
        }
        let change = self.steps.step(self.base, down, up);
        if change / self.base <= 0.1 {
            self.base += change;
            self.start_search();
            self.send_at(self.base);
        } else {
            self.phase = Phase::Moving;
            self.change = change;
            self.target =
                MoveInterval { rate: self.reference.rate + change, ..MoveInterval::default() };
        }
    }

    fn decide_move(&mut self, from: IntervalResult, to: IntervalResult) {
        let (low, high) = ((self.reference.rate, from.worth), (self.target.rate, to.worth));
        let change = self.steps.step(self.base, low, high);
        let losses = (from.lost / from.total, to.lost / to.total);
        let overall = (from.lost + to.lost) / (from.total + to.total);
        let faster = self.target.rate - self.reference.rate;
        let many = (from.lost - to.lost).abs() > 2.0 || overall >= 0.05;
        if faster * (losses.1 - losses.0) < 0.0 && many {
            self.steps.forget_direction();
        } else if change * self.change <= 0.0 {
            self.base += change;
            self.send_at(self.base);
        } else if change / self.base <= 0.1 {
            self.base += change;
            self.send_at(self.base);
            self.steps.trend = 2;
        } else {
            self.reference = self.target;
            self.change = change;
            self.target =
                MoveInterval { rate: self.target.rate + change, ..MoveInterval::default() };
            return;
        }
        (self.reference.result, self.target.result) = (None, None);
        self.start_search();
    }

    /// Halves the rate if more than half of an interval is lost, once for all intervals under way.
    fn stop(&mut self, summary: &Summary, open: u64) {
        if summary.loss() <= 0.5 {
            self.stopped = None;
        } else if self.stopped.is_none_or(|stopped| summary.number >= stopped) {
            self.stopped = Some(open);
            self.base = (self.base * 0.5).max(FLOOR);
            self.start_search();
            self.send_at(self.base);
        }
    }
}

impl RateRule for Nsdi2018Rule {
    fn begin(&mut self, number: u64) {
        match self.phase {
            Phase::Starting => {
                if self.start_number.is_none() {
                    self.start_number = Some(number);
                    self.base = (2.0 * self.sending).min(FASTEST);
                    self.send_at(self.base);
                }
            }
            Phase::Moving => {
                self.base = self.target.rate.min(FASTEST);
                self.send_at(self.base);
                self.target.number.get_or_insert(number);
                if self.base < FLOOR {
                    self.steps.calm();
                    self.base = FLOOR;
                    self.start_search();
                    self.send_at(FLOOR);
                }
            }
            Phase::Probing => {
                if self.search {
                    self.draw_probes();
                }
                if let Some(rate) = self.probes.begin(number) {
                    self.send_at(rate);
                } else {
                    self.reference.number = Some(number);
                    self.reference.rate = self.base;
                    self.send_at(self.base);
                }
            }
            Phase::Hibernating => {}
        }
    }

    fn rate(&self) -> f64 {
        self.sending * 1e6
    }

    fn is_full(&self, open: &Interval, _now: Time, rtt: Span) -> bool {
        if self.phase == Phase::Hibernating {
            return open.sent >= 1;
        }
        let packets = self.rate() / 8.0 / self.mss * rtt.as_secs_f64();
        f64::from(open.sent) >= packets.clamp(10.0, 3000.0)
    }

    fn on_result(&mut self, summary: &Summary, open: u64) -> bool {
        let result = self.judge(summary);
        if self.reference.number == Some(summary.number) {
            self.reference.result = Some(result);
        }
        self.stop(summary, open);
        match self.phase {
            Phase::Starting if self.start_number == Some(summary.number) => {
                if self.last_worth > result.worth {
                    self.base /= 2.0;
                    self.start_search();
                }
                self.start_number = None;
                self.last_worth = result.worth;
            }
            Phase::Probing if !self.search => self.on_probe(summary, result),
            Phase::Moving => {
                if self.target.number == Some(summary.number) {
                    self.target.result = Some(result);
                }
                if let (Some(from), Some(to)) = (self.reference.result, self.target.result) {
                    self.decide_move(from, to);
                }
            }
            Phase::Hibernating if 2.0 * self.mss * 8.0 / MBIT / summary.rtt >= 0.4 => {
                self.base = FLOOR + 0.1;
                self.start_search();
                self.send_at(self.base);
                self.depth = 0;
                self.awake_from = open;
            }
            _ => {}
        }
        false
    }

    fn on_timeout(&mut self, open: u64) -> bool {
        // Packets from before the end of hibernation carry no new information.
        if open <= self.awake_from && self.awake_from > 0 {
            return false;
        }
        self.base *= 0.5;
        if self.base < FLOOR + 0.25 {
            self.phase = Phase::Hibernating;
            self.depth = self.depth.min(3);
            self.sending = HIBERNATE / f64::from(1 << self.depth);
            self.depth += 1;
        } else {
            self.start_search();
            self.send_at(self.base);
        }
        true
    }

    fn phase(&self) -> u32 {
        self.phase as u32
    }
}

#[cfg(test)]
#[path = "nsdi2018_tests.rs"]
mod tests;

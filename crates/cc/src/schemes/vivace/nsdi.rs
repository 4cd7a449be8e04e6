//! The rule of the program that the paper was evaluated with. Rates are megabits per second.

use super::Utility;
use super::monitor::{Interval, Summary};
use super::sender::Pilot;
use super::steps::Steps;
use super::utility;
use crate::rng::Stream;
use crate::scheme::Setup;
use crate::units::{Span, Time};

const FLOOR: f64 = 1.3;
const FASTEST: f64 = 1024.0;
const INITIAL: f64 = 0.8;
const HIBERNATE: f64 = 0.04;
/// The program counts megabits of 2²⁰ in its utility, of 10⁶ in its pacing.
const MBIT: f64 = 1_048_576.0;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Probing,
    Moving,
    Hibernating,
}

/// What an interval at a rate has shown.
#[derive(Copy, Clone, Debug)]
struct Seen {
    /// Megabits (2²⁰) per second that were sent.
    sent: f64,
    gradient: f64,
    total: f64,
    lost: f64,
    worth: f64,
}

#[derive(Copy, Clone, Debug)]
struct Probe {
    rate: f64,
    up: bool,
    number: Option<u64>,
    seen: Option<Seen>,
}

/// One of the two intervals that a move compares.
#[derive(Copy, Clone, Debug, Default)]
struct End {
    rate: f64,
    number: Option<u64>,
    seen: Option<Seen>,
}

pub(super) struct Nsdi {
    utility: Utility,
    mss: f64,
    random: Stream,
    phase: Phase,
    /// The rate around which probes lie.
    base: f64,
    sending: f64,
    probes: [Option<Probe>; 4],
    begun: usize,
    /// Probes are to be drawn when the next interval begins.
    search: bool,
    reference: End,
    target: End,
    change: f64,
    start_number: Option<u64>,
    last_worth: f64,
    forgiven: f64,
    steps: Steps,
    doubt: bool,
    /// After an emergency: results of intervals before this one stop nothing again.
    stopped: Option<u64>,
    depth: i32,
    awake_from: u64,
}

impl Nsdi {
    pub(super) fn new(utility: Utility, setup: &Setup) -> Nsdi {
        Nsdi {
            utility,
            mss: f64::from(setup.mss.max(1)),
            random: setup.stream(&format!("vivace {}", setup.flow)),
            phase: Phase::Starting,
            base: INITIAL,
            sending: INITIAL,
            probes: [None; 4],
            begun: 0,
            search: false,
            reference: End::default(),
            target: End::default(),
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
        self.target = End::default();
    }

    fn draw_probes(&mut self) {
        self.base = self.base.clamp(FLOOR, FASTEST);
        let pairs = if self.steps.trend >= 1 { 1 } else { 2 };
        self.probes = [None; 4];
        for at in 0..pairs {
            let up = self.random.chance(0.5);
            for (at, up) in [(2 * at, up), (2 * at + 1, !up)] {
                let share = if up { 1.0 + self.epsilon() } else { 1.0 - self.epsilon() };
                self.probes[at] =
                    Some(Probe { rate: self.base * share, up, number: None, seen: None });
            }
        }
        self.begun = 0;
        self.search = false;
    }

    fn worth(&self, seen: &Seen, loss: f64) -> f64 {
        utility::nsdi(self.utility, seen.sent, seen.gradient, loss)
    }

    fn see(&mut self, summary: &Summary) -> Seen {
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
        let seen = Seen { sent: summary.rate / MBIT, gradient, total, lost, worth: 0.0 };
        Seen { worth: self.worth(&seen, lost / total), ..seen }
    }

    fn decide_probes(&mut self) {
        let mut all = [(0.0, false, None); 4];
        let mut count = 0;
        for probe in self.probes.iter().flatten() {
            all[count] = (probe.rate, probe.up, probe.seen);
            count += 1;
        }
        let seen = |at: usize| all[at].2;
        let (mut lost, mut total) = (0.0, 0.0);
        let (mut lost_up, mut lost_down) = (0.0, 0.0);
        for (_, up, seen) in &all[..count] {
            let Some(seen) = seen else { return };
            lost += seen.lost;
            total += seen.total;
            *(if *up { &mut lost_up } else { &mut lost_down }) += seen.lost;
        }
        let overall = lost / total.max(1.0);
        let worth = |at: usize| match seen(at) {
            Some(seen) if overall <= 0.01 => self.worth(&seen, overall),
            Some(seen) => seen.worth,
            None => 0.0,
        };
        let (mut vote, mut up, mut down) = (0, (0.0, 0.0), (0.0, 0.0));
        for pair in 0..count / 2 {
            let (a, b) = (2 * pair, 2 * pair + 1);
            if worth(a) != worth(b) {
                vote += if (worth(a) > worth(b)) == all[a].1 { 1 } else { -1 };
            }
            for at in [a, b] {
                let side = if all[at].1 { &mut up } else { &mut down };
                *side = (all[at].0, side.1 + worth(at) * 2.0 / count as f64);
            }
        }
        // More losses at the lower rate, and yet it is to rise: it is tried once more.
        if lost_down - lost_up > 2.0 && vote > 0 && lost_up != 0.0 && overall >= 0.05 {
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
            self.reference.seen = None;
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
            self.target = End { rate: self.reference.rate + change, ..End::default() };
        }
    }

    fn decide_move(&mut self, from: Seen, to: Seen) {
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
            self.target = End { rate: self.target.rate + change, ..End::default() };
            return;
        }
        (self.reference.seen, self.target.seen) = (None, None);
        self.start_search();
    }

    /// More than half of an interval is lost: halves the rate, once for what is under way.
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

impl Pilot for Nsdi {
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
                let next = self.probes.get_mut(self.begun).and_then(Option::as_mut);
                if let Some(probe) = next {
                    probe.number = Some(number);
                    let rate = probe.rate;
                    self.begun += 1;
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
        let seen = self.see(summary);
        if self.reference.number == Some(summary.number) {
            self.reference.seen = Some(seen);
        }
        self.stop(summary, open);
        match self.phase {
            Phase::Starting if self.start_number == Some(summary.number) => {
                if self.last_worth > seen.worth {
                    self.base /= 2.0;
                    self.start_search();
                }
                self.start_number = None;
                self.last_worth = seen.worth;
            }
            Phase::Probing if !self.search => {
                let number = Some(summary.number);
                let mut probes = self.probes.iter_mut().flatten();
                if let Some(probe) = probes.find(|probe| probe.number == number) {
                    probe.seen = Some(seen);
                    self.decide_probes();
                }
            }
            Phase::Moving => {
                if self.target.number == Some(summary.number) {
                    self.target.seen = Some(seen);
                }
                if let (Some(from), Some(to)) = (self.reference.seen, self.target.seen) {
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
        // Packets from before the awakening say nothing new.
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
#[path = "nsdi_tests.rs"]
mod tests;

//! The rule of the kernel module. As there, rates are bytes per second, in integers.

use paceline_cc::{Setup, Span, Stream, Time};

use super::Utility;
use super::monitor::{Interval, Summary};
use super::rate_rule::RateRule;
use super::utility;

/// Number of packets at each end of an interval that do not count.
pub(super) const MARGIN: u32 = 10;
const LEAST_PACKETS: u32 = 50;
const INITIAL: i64 = 512 * 1024;
/// Unit of shares: thousandths.
const SCALE: i64 = 1000;
/// Smallest difference of two rates, in thousandths, that gives a gradient.
const LEAST_DIFFERENCE: i64 = 20;
const BOUND: i64 = 100;
const BOUND_STEP: i64 = 70;
const LEAST_AMPLIFIER: i64 = 2;
const STEP: i64 = 25;
/// Largest rate, above that of any link; keeps products in range.
const FASTEST: i64 = 1 << 37;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Probing,
    Moving,
}

/// An interval whose result is awaited.
#[derive(Copy, Clone, Debug, Default)]
struct Trial {
    rate: i64,
    number: Option<u64>,
    worth: Option<i64>,
}

pub(super) struct KernelRule {
    utility: Utility,
    mss: u32,
    random: Stream,
    phase: Phase,
    rate: i64,
    last_rate: i64,
    trials: [Trial; 4],
    /// Number of trials planned, and number of those that have begun.
    planned: usize,
    begun: usize,
    /// Rate of the interval being sent.
    sending: i64,
    /// Utility of the last interval of starting or moving.
    last_worth: i64,
    /// True after the retransmission timer has expired, while losses are still being repaired.
    repairs: bool,
    amplifier: i64,
    swing: i64,
    bound: i64,
    /// Smallest rate: two packets per RTT.
    floor: i64,
}

impl KernelRule {
    pub(super) fn new(utility: Utility, setup: &Setup) -> KernelRule {
        let mut kernel = KernelRule {
            utility,
            mss: setup.mss.max(1),
            random: setup.random("vivace"),
            phase: Phase::Starting,
            rate: INITIAL,
            last_rate: INITIAL,
            trials: [Trial::default(); 4],
            planned: 0,
            begun: 0,
            sending: INITIAL,
            last_worth: i64::MIN,
            repairs: false,
            amplifier: LEAST_AMPLIFIER,
            swing: 0,
            bound: BOUND,
            floor: 0,
        };
        kernel.try_one(INITIAL);
        kernel
    }

    /// Sends the next interval at `rate`, and awaits its result.
    fn try_one(&mut self, rate: i64) {
        self.trials[0] = Trial { rate, ..Trial::default() };
        (self.planned, self.begun) = (1, 0);
    }

    fn probe(&mut self) {
        self.phase = Phase::Probing;
        let (high, low) = (self.rate * 105 / 100, self.rate * 95 / 100);
        for pair in 0..2 {
            let first_low = self.random.chance(0.5);
            let rates = if first_low { [low, high] } else { [high, low] };
            for (at, rate) in rates.into_iter().enumerate() {
                self.trials[2 * pair + at] = Trial { rate, ..Trial::default() };
            }
        }
        (self.planned, self.begun) = (4, 0);
    }

    fn decide_starting(&mut self, worth: i64) {
        if worth > self.last_worth {
            self.last_worth = worth;
            self.last_rate = self.rate;
            self.rate = (self.rate + self.rate / 2).min(FASTEST);
            self.try_one(self.rate);
        } else {
            std::mem::swap(&mut self.rate, &mut self.last_rate);
            self.probe();
        }
    }

    fn decide_probing(&mut self) {
        let worth = self.trials.map(|trial| trial.worth.unwrap_or(0));
        let (first, second) = (worth[0] > worth[1], worth[2] > worth[3]);
        let same_order = self.trials[0].rate == self.trials[2].rate;
        if (first == second) != same_order {
            self.probe();
            return;
        }
        let winner = if second { 2 } else { 3 };
        let old = self.rate;
        self.rate = self.trials[winner].rate;
        self.last_rate = self.rate;
        self.last_worth = worth[winner];
        self.phase = Phase::Moving;
        // The module stores the interval's rate before it changes its own, so the interval has the
        // old rate.
        self.try_one(old);
    }

    fn decide_moving(&mut self, worth: i64) {
        let (rate, last) = (self.rate.max(1), self.last_rate);
        let apart = (SCALE * (last - rate) / rate).abs() >= LEAST_DIFFERENCE;
        let gradient = if apart {
            let change = i128::from(self.last_worth) - i128::from(worth);
            let scaled = i128::from(SCALE * SCALE) * change / i128::from(last - rate);
            scaled.clamp(-(1 << 40), 1 << 40) as i64
        } else {
            0
        };
        self.last_worth = worth;
        let step = self.step(gradient * STEP);
        let up = rate + step > rate;
        self.last_rate = self.rate;
        self.rate = (rate + step).max(self.floor).clamp(1, FASTEST);
        // The module compares with a last direction that stays "up" for ever, so only a step up
        // continues.
        if up {
            self.try_one(self.rate);
        } else {
            self.probe();
        }
    }

    /// Returns the step taken for the gradient's step: amplified and bounded.
    fn step(&mut self, step: i64) -> i64 {
        if (step > 0) == (self.rate > self.last_rate) {
            if self.swing > 0 {
                self.swing -= 1;
            } else {
                self.amplifier = (self.amplifier + 1).min(1 << 20);
            }
        } else {
            self.swing = (self.swing + 1).min(2);
            self.amplifier = LEAST_AMPLIFIER;
            self.bound = BOUND;
        }
        let size = (i128::from(step.abs()) * i128::from(self.amplifier) / i128::from(SCALE))
            .min(1 << 50) as i64;
        let bounded = if SCALE * size / self.rate.max(1) > self.bound {
            let size = self.rate * self.bound / SCALE;
            self.bound = (self.bound + BOUND_STEP).min(1 << 20);
            size
        } else {
            self.bound = BOUND;
            size
        };
        let least = self.rate * LEAST_DIFFERENCE / SCALE * 11 / 10;
        let size = bounded.max(least);
        if step < 0 { -size } else { size }
    }
}

impl RateRule for KernelRule {
    fn begin(&mut self, number: u64) {
        self.sending = self.rate;
        if self.begun < self.planned && !self.repairs {
            let trial = &mut self.trials[self.begun];
            trial.number = Some(number);
            self.sending = trial.rate;
            self.begun += 1;
        }
    }

    fn rate(&self) -> f64 {
        self.sending.max(1024) as f64 * 8.0
    }

    fn is_full(&self, open: &Interval, _now: Time, _rtt: Span) -> bool {
        open.sent >= LEAST_PACKETS && open.resolved() > 0
    }

    fn on_result(&mut self, summary: &Summary, _open: u64) -> bool {
        self.floor = (2.0 * f64::from(self.mss) / summary.rtt).min(FASTEST as f64) as i64;
        let trials = &mut self.trials[..self.begun];
        let found = trials.iter_mut().find(|trial| trial.number == Some(summary.number));
        let Some(trial) = found.filter(|_| !self.repairs) else { return false };
        let starting = self.phase == Phase::Starting;
        let worth = utility::kernel(self.utility, trial.rate, summary, self.mss, starting);
        trial.worth = Some(worth);
        match self.phase {
            Phase::Starting => self.decide_starting(worth),
            Phase::Moving => self.decide_moving(worth),
            Phase::Probing if self.trials.iter().all(|trial| trial.worth.is_some()) => {
                self.decide_probing();
            }
            Phase::Probing => return false,
        }
        true
    }

    fn on_timeout(&mut self, _open: u64) -> bool {
        let first = !self.repairs;
        self.repairs = true;
        first
    }

    fn on_recovered(&mut self) -> bool {
        let ended = std::mem::take(&mut self.repairs);
        if ended {
            // The module plans four probes, but uses only the first unless it was probing.
            let phase = self.phase;
            self.probe();
            self.phase = phase;
            self.planned = if phase == Phase::Probing { 4 } else { 1 };
        }
        ended
    }

    fn phase(&self) -> u32 {
        self.phase as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> KernelRule {
        KernelRule::new(Utility::Latency, &Setup::default())
    }

    /// Runs intervals whose utility is `worth` of their rate in bytes per second.
    fn run(kernel: &mut KernelRule, numbers: std::ops::Range<u64>, loss: impl Fn(f64) -> f64) {
        for number in numbers {
            kernel.begin(number);
            let share = loss(kernel.rate());
            let summary = Summary {
                number,
                total: 1000,
                lost: (1000.0 * share) as u32,
                rate: kernel.rate(),
                seconds: 0.1,
                gradient: 0.0,
                rtt_change: 0.0,
                delivered: kernel.rate(),
                rtt: 0.1,
            };
            kernel.on_result(&summary, number + 1);
        }
    }

    #[test]
    fn starts_by_halves_and_returns() {
        let mut kernel = kernel();
        run(&mut kernel, 0..3, |_| 0.0);
        assert_eq!(kernel.rate, INITIAL * 27 / 8);
        run(&mut kernel, 3..4, |_| 0.2);
        assert_eq!((kernel.rate, kernel.phase), (INITIAL * 9 / 4, Phase::Probing));
    }

    #[test]
    fn finds_the_capacity() {
        let mut kernel = kernel();
        let capacity = 20e6;
        run(&mut kernel, 0..300, |rate| (1.0 - capacity / rate).max(0.0));
        let found = kernel.rate as f64 * 8.0;
        assert!((0.85 * capacity..1.15 * capacity).contains(&found), "{found}");
    }

    #[test]
    fn the_amplifier_waits_out_swings() {
        let mut kernel = kernel();
        (kernel.rate, kernel.last_rate) = (1_000_000, 900_000);
        let one = SCALE * SCALE * STEP;
        // Up again: 25000 * amplifier per unit of gradient.
        assert_eq!(kernel.step(one), 75_000);
        // Down: the amplifier is at its minimum again, and the next step up only ends the swing.
        assert_eq!(kernel.step(-one), -50_000);
        assert_eq!(kernel.step(one), 50_000);
        assert_eq!(kernel.step(one), 75_000);
        // Bounds of 10 %, 17 %, 24 %; and a minimum of 2.2 %.
        for bound in [100_000, 170_000, 240_000] {
            assert_eq!(kernel.step(100 * one), bound);
        }
        assert_eq!(kernel.step(1), 22_000);
    }
}

//! The speed at which the window changes: it increases while the window keeps its direction.

use paceline_cc::{Feedback, Span, Time};

use super::Speed;

/// Number of round trips in one direction after which the velocity doubles (paper §2.1).
const PATIENCE: u32 = 3;

/// The velocity: the window changes by this number of packets times `1 / delta` per round trip; at
/// least 1.
#[derive(Clone, Debug)]
pub(super) enum Velocity {
    /// The paper's rule.
    Paper(WindowDirection),
    /// The paper's rule, but the velocity becomes 1 at once when the direction changes.
    Mvfst(WindowDirection),
    /// The authors' code's rule.
    Authors(StepMajority),
}

impl Velocity {
    pub(super) fn new(rule: Speed) -> Velocity {
        match rule {
            Speed::Paper => Velocity::Paper(WindowDirection::new(true, 0.0)),
            Speed::Mvfst => Velocity::Mvfst(WindowDirection::new(true, 0.0)),
            Speed::Authors => Velocity::Authors(StepMajority::new(Time::ZERO)),
        }
    }

    pub(super) fn get(&self) -> f64 {
        match self {
            Velocity::Paper(rule) | Velocity::Mvfst(rule) => rule.value,
            Velocity::Authors(rule) => rule.value,
        }
    }

    /// Starts at the end of slow start, at a window of `cwnd` packets.
    pub(super) fn restart(&mut self, now: Time, cwnd: f64) {
        match self {
            Velocity::Paper(rule) | Velocity::Mvfst(rule) => {
                *rule = WindowDirection::new(true, cwnd);
            }
            Velocity::Authors(rule) => *rule = StepMajority::new(now),
        }
    }

    /// Ends a round trip if it is over, before the step of an acknowledgement.
    pub(super) fn on_ack(&mut self, feedback: &Feedback<'_>, cwnd: f64, delta: f64, rtt: Span) {
        match self {
            Velocity::Paper(rule) | Velocity::Mvfst(rule) => {
                if feedback.round_start {
                    rule.end_round(cwnd);
                }
                // The window at most doubles, or empties, in a round trip.
                rule.value = rule.value.min(cwnd * delta).max(1.0);
            }
            Velocity::Authors(rule) => {
                if feedback.now.since(rule.round_began) > rtt {
                    rule.end_round(feedback.now);
                }
                if rule.value > cwnd * delta {
                    rule.value /= 2.0;
                }
                rule.value = rule.value.max(1.0);
            }
        }
    }

    /// Takes in the direction of the window's next step; the window is `cwnd` packets.
    pub(super) fn on_step(&mut self, up: bool, cwnd: f64) {
        match self {
            Velocity::Paper(_) => {}
            Velocity::Mvfst(rule) => {
                if up != rule.up && rule.value > 1.0 {
                    // Velocity gained in one direction does not apply to the other.
                    *rule = WindowDirection::new(up, cwnd);
                }
            }
            Velocity::Authors(rule) => rule.steps += if up { 1 } else { -1 },
        }
    }
}

/// The paper's rule (§2.1): compares the window with the one that the round trip began with.
#[derive(Clone, Debug)]
pub(super) struct WindowDirection {
    value: f64,
    /// Direction of the last round trip: true for up.
    up: bool,
    /// Number of round trips in this direction.
    rounds: u32,
    /// Window at the beginning of this round trip.
    cwnd_at_start: f64,
}

impl WindowDirection {
    fn new(up: bool, cwnd: f64) -> WindowDirection {
        WindowDirection { value: 1.0, up, rounds: 0, cwnd_at_start: cwnd }
    }

    fn end_round(&mut self, cwnd: f64) {
        let up = cwnd > self.cwnd_at_start;
        if up == self.up && cwnd != self.cwnd_at_start {
            self.rounds += 1;
            if self.rounds >= PATIENCE {
                self.value *= 2.0;
            }
            self.cwnd_at_start = cwnd;
        } else {
            *self = WindowDirection::new(up, cwnd);
        }
    }
}

/// The authors' rule: compares the majority of a round trip's steps with the stored direction.
#[derive(Clone, Debug)]
pub(super) struct StepMajority {
    value: f64,
    /// The stored direction: true for up.
    up: bool,
    round_began: Time,
    /// Number of steps up minus steps down in this round trip.
    steps: i64,
}

impl StepMajority {
    fn new(now: Time) -> StepMajority {
        StepMajority { value: 1.0, up: true, round_began: now, steps: 0 }
    }

    fn end_round(&mut self, now: Time) {
        let agrees = if self.up { self.steps > 0 } else { self.steps < 0 };
        if agrees {
            self.value = libm::trunc(self.value) * 2.0;
        } else {
            self.value = 1.0;
            self.up = !self.up;
        }
        self.round_began = now;
        self.steps = 0;
    }
}

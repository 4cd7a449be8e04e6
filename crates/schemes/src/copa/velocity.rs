//! How fast the window moves: faster the longer it has moved in one direction.

use paceline_cc::{Feedback, Span, Time};

use super::Speed;

/// Round trips in one direction after which the velocity doubles (paper §2.1).
const PATIENCE: u32 = 3;

/// The velocity: packets times `delta` by which the window moves per round trip; at least 1.
#[derive(Clone, Debug)]
pub(super) enum Velocity {
    /// The paper's rule.
    Paper(WindowDirection),
    /// The paper's, and at once 1 where the direction changes.
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

    /// Slow start is over, at a window of `cwnd` packets.
    pub(super) fn restart(&mut self, now: Time, cwnd: f64) {
        match self {
            Velocity::Paper(rule) | Velocity::Mvfst(rule) => {
                *rule = WindowDirection::new(true, cwnd);
            }
            Velocity::Authors(rule) => *rule = StepMajority::new(now),
        }
    }

    /// Before the step of an acknowledgement.
    pub(super) fn on_ack(&mut self, feedback: &Feedback<'_>, cwnd: f64, delta: f64, rtt: Span) {
        match self {
            Velocity::Paper(rule) | Velocity::Mvfst(rule) => {
                if feedback.round_start {
                    rule.end_round(cwnd);
                }
                // A round trip at most doubles the window, or empties it.
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

    /// The window, of `cwnd` packets, is about to move.
    pub(super) fn on_step(&mut self, up: bool, cwnd: f64) {
        match self {
            Velocity::Paper(_) => {}
            Velocity::Mvfst(rule) => {
                if up != rule.up && rule.value > 1.0 {
                    // What was gathered in one direction is not for the other.
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
    /// The direction of the last round trip: up, or down.
    up: bool,
    /// Round trips in this direction.
    rounds: u32,
    /// The window when this round trip began.
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

/// The authors' code: compares the majority of a round trip's steps with the direction remembered.
#[derive(Clone, Debug)]
pub(super) struct StepMajority {
    value: f64,
    /// The direction remembered: up, or down.
    up: bool,
    round_began: Time,
    /// Steps up less those down in this round trip.
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

//! How fast the window moves: faster the longer it has moved in one direction.

use super::Speed;
use crate::control::Feedback;
use crate::units::{Span, Time};

/// Round trips in one direction after which the velocity doubles (paper §2.1).
const PATIENCE: u32 = 3;

/// The velocity, and the direction in which the window moves.
#[derive(Clone, Debug)]
pub(super) struct Velocity {
    rule: Speed,
    value: f64,
    /// The direction of the last round trip: up, or down.
    up: bool,
    /// Round trips in this direction.
    same: u32,
    /// The window when this round trip began.
    begun: f64,
    /// Authors' code: when this round trip began, and its steps up less those down.
    since: Time,
    balance: i64,
}

impl Velocity {
    pub(super) fn new(rule: Speed) -> Velocity {
        let (value, since) = (1.0, Time::ZERO);
        Velocity { rule, value, up: true, same: 0, begun: 0.0, since, balance: 0 }
    }

    /// Packets times `delta` by which the window moves per round trip.
    pub(super) fn get(&self) -> f64 {
        self.value
    }

    /// Slow start is over.
    pub(super) fn restart(&mut self, now: Time, cwnd: f64) {
        *self = Velocity { begun: cwnd, since: now, ..Velocity::new(self.rule) };
    }

    /// Before the step of an acknowledgement.
    pub(super) fn on_ack(&mut self, feedback: &Feedback<'_>, cwnd: f64, delta: f64, rtt: Span) {
        match self.rule {
            Speed::Paper | Speed::Mvfst => {
                if feedback.round_start {
                    self.end_round(cwnd);
                }
                // A round trip at most doubles the window, or empties it.
                self.value = self.value.min(cwnd * delta).max(1.0);
            }
            Speed::Authors => {
                if feedback.now.since(self.since) > rtt {
                    self.end_authors_round(feedback.now);
                }
                if self.value > cwnd * delta {
                    self.value /= 2.0;
                }
                self.value = self.value.max(1.0);
            }
        }
    }

    /// The window, of `cwnd` packets, is about to move.
    pub(super) fn on_step(&mut self, up: bool, cwnd: f64) {
        self.balance += if up { 1 } else { -1 };
        if self.rule == Speed::Mvfst && up != self.up && self.value > 1.0 {
            // What was gathered in one direction is not for the other.
            *self = Velocity { up, begun: cwnd, since: self.since, ..Velocity::new(self.rule) };
        }
    }

    /// Paper §2.1: compares the window with the one that the round trip began with.
    fn end_round(&mut self, cwnd: f64) {
        let up = cwnd > self.begun;
        if up == self.up && cwnd != self.begun {
            self.same += 1;
            if self.same >= PATIENCE {
                self.value *= 2.0;
            }
        } else {
            self.up = up;
            self.same = 0;
            self.value = 1.0;
        }
        self.begun = cwnd;
    }

    /// The authors' code: compares the majority of steps with the direction remembered.
    fn end_authors_round(&mut self, now: Time) {
        let agrees = if self.up { self.balance > 0 } else { self.balance < 0 };
        if agrees {
            self.value = libm::trunc(self.value) * 2.0;
        } else {
            self.value = 1.0;
            self.up = !self.up;
        }
        self.since = now;
        self.balance = 0;
    }
}

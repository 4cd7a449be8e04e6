//! Neighbours of an action: similar actions that are tried instead of it.

use paceline_schemes::remy::{Action, ActionBasis};
use serde::{Deserialize, Serialize};

use super::settings::{Procedure, Settings};

/// Changes of `m`, of `b` and of `r` (in ms) in the thesis' procedure: each step is 8 times the one
/// before.
const THESIS_MULTIPLE: [f64; 2] = [0.01, 0.08];
const THESIS_INCREMENT: [i32; 2] = [1, 8];
const THESIS_INTERSEND: [f64; 3] = [0.01, 0.08, 0.64];

/// In the racing procedure: additions to `m`, additions to `b`, and factors of `r`.
const MULTIPLE: [f64; 4] = [0.005, 0.02, 0.08, 0.3];
const INCREMENT: [i32; 4] = [1, 3, 10, 30];
const INTERSEND: [f64; 4] = [1.05, 1.2, 1.6, 3.0];
/// For actions on the delivery rate: additions to `m` instead, and additions to `t` in ms.
const RTT_MULTIPLE: [f64; 4] = [0.02, 0.1, 0.3, 1.0];
const QUEUE_MS: [f64; 4] = [2.0, 8.0, 30.0, 100.0];

/// A change of an action, which can be repeated.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// Added to the window multiple.
    m: f64,
    /// Added to the window increment.
    b: i32,
    /// Factor of the time between packets.
    r: f64,
    /// Added to the queueing delay aimed at.
    #[serde(default, skip_serializing_if = "is_zero")]
    t: f64,
}

const NONE: Change = Change { m: 0.0, b: 0, r: 1.0, t: 0.0 };

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Rounds a value to few digits, so that tables stay readable.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

impl Change {
    /// Returns the change that leads from one action to another.
    pub(super) fn between(from: &Action, to: &Action) -> Change {
        let ratio = to.intersend_ms / from.intersend_ms;
        Change {
            m: to.multiple - from.multiple,
            b: to.increment.saturating_sub(from.increment),
            r: if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 },
            t: to.queue_ms - from.queue_ms,
        }
    }

    /// Returns the action that `times` repetitions of the change make of `action`.
    fn of(&self, action: &Action, times: i32) -> Action {
        Action {
            multiple: rounded(action.multiple + f64::from(times) * self.m),
            increment: action.increment.saturating_add(self.b.saturating_mul(times)),
            intersend_ms: rounded(action.intersend_ms * self.r.powi(times)),
            queue_ms: rounded(action.queue_ms + f64::from(times) * self.t),
            ..*action
        }
    }
}

/// A list of different actions within the bounds, without the original one.
struct List<'a> {
    settings: &'a Settings,
    action: &'a Action,
    all: Vec<Action>,
}

impl List<'_> {
    fn add(&mut self, action: Action) {
        let vary = &self.settings.vary;
        let fixed = (vary.multiple || action.multiple == self.action.multiple)
            && (vary.increment || action.increment == self.action.increment)
            && (vary.intersend || action.intersend_ms == self.action.intersend_ms)
            && (vary.queue || action.queue_ms == self.action.queue_ms);
        let new = action != *self.action && !self.all.contains(&action);
        if fixed && new && self.settings.allow(&action) {
            self.all.push(action);
        }
    }

    fn change(&mut self, change: Change) {
        self.add(change.of(self.action, 1));
    }
}

/// Returns the neighbours of `action`, always in the same order.
pub(super) fn neighbours(settings: &Settings, action: &Action) -> Vec<Action> {
    match settings.procedure {
        Procedure::Thesis => thesis(settings, action),
        Procedure::Racing => star(settings, action, usize::MAX),
    }
}

/// Returns a few neighbours, for the halves of a rule that may be divided.
pub(super) fn few_neighbours(settings: &Settings, action: &Action) -> Vec<Action> {
    star(settings, action, 1)
}

/// Returns the actions after repeating a successful change once and twice.
pub(super) fn further(settings: &Settings, action: &Action, change: &Change) -> Vec<Action> {
    let mut list = List { settings, action, all: Vec::new() };
    for times in [1, 2] {
        list.add(change.of(action, times));
    }
    list.all
}

/// Returns all combinations of the changes of the three numbers.
fn thesis(settings: &Settings, action: &Action) -> Vec<Action> {
    fn both<T: Copy + std::ops::Neg<Output = T>>(none: T, steps: &[T]) -> Vec<T> {
        let signs = steps.iter().flat_map(|&step| [step, -step]);
        std::iter::once(none).chain(signs).collect()
    }
    let mut list = List { settings, action, all: Vec::new() };
    for m in both(0.0, &THESIS_MULTIPLE) {
        for b in both(0, &THESIS_INCREMENT) {
            for r in both(0.0, &THESIS_INTERSEND) {
                list.add(Action {
                    multiple: rounded(action.multiple + m),
                    increment: action.increment.saturating_add(b),
                    intersend_ms: rounded(action.intersend_ms + r),
                    ..*action
                });
            }
        }
    }
    list.all
}

/// Returns changes of one number at a time, with `steps` step sizes, and changes of `m` and `b`
/// together that keep the window to which they converge.
fn star(settings: &Settings, action: &Action, steps: usize) -> Vec<Action> {
    let mut list = List { settings, action, all: Vec::new() };
    let on_rate = action.basis == ActionBasis::Rate;
    let multiples = if on_rate { RTT_MULTIPLE } else { MULTIPLE };
    // With few steps, use the middle sizes.
    let skip = usize::from(steps < MULTIPLE.len());
    for at in (0..MULTIPLE.len()).skip(skip).take(steps) {
        for sign in [1, -1] {
            list.change(Change { r: INTERSEND[at].powi(sign), ..NONE });
            list.change(Change { b: INCREMENT[at - skip] * sign, ..NONE });
            list.change(Change { m: multiples[at] * f64::from(sign), ..NONE });
            if on_rate {
                list.change(Change { t: QUEUE_MS[at] * f64::from(sign), ..NONE });
            }
        }
    }
    let Action { multiple, increment, .. } = *action;
    if multiple < 1.0 && increment > 0 && !on_rate {
        let window = f64::from(increment) / (1.0 - multiple);
        for factor in [0.4, 2.5, 0.75, 1.3].into_iter().take(2 * steps.min(2)) {
            let slope = (1.0 - multiple) * factor;
            let increment = (window * slope).round() as i32;
            list.add(Action { multiple: rounded(1.0 - slope), increment, ..*action });
        }
    }
    list.all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::settings::Vary;

    #[test]
    fn the_thesis_has_about_a_hundred() {
        let settings = Settings::of(Procedure::Thesis);
        let all = neighbours(&settings, &Action::new(0.5, 100, 3.0));
        assert_eq!(all.len(), 5 * 5 * 7 - 1);
        // At the bounds there are fewer neighbours.
        assert!(neighbours(&settings, &Action::new(0.0, 100, 3.0)).len() < 3 * 5 * 7);
    }

    #[test]
    fn only_what_may_vary_does() {
        let mut settings = Settings::of(Procedure::Racing);
        settings.vary = Vary { multiple: false, increment: false, intersend: true, queue: false };
        let action = Action::new(0.9, 5, 1.0);
        let all = neighbours(&settings, &action);
        assert!(!all.is_empty());
        assert!(all.iter().all(|other| other.multiple == 0.9 && other.increment == 5));
        assert!(all.iter().all(|other| settings.allow(other) && *other != action));
    }

    #[test]
    fn actions_on_the_rate_also_change_the_queue_and_stay_on_the_rate() {
        let mut settings = Settings::parse("[training]\nactions = \"rate\"").expect("reads");
        let action = Action::of_rate(1.0, 4, 1.5, 20.0);
        let all = neighbours(&settings, &action);
        assert!(all.iter().all(|other| other.basis == ActionBasis::Rate));
        assert!(all.contains(&Action::of_rate(1.0, 4, 1.5, 28.0)), "{all:?}");
        assert!(all.contains(&Action::of_rate(1.3, 4, 1.5, 20.0)), "{all:?}");
        settings.vary.queue = false;
        let all = neighbours(&settings, &action);
        assert!(!all.is_empty() && all.iter().all(|other| other.queue_ms == 20.0));
        let change = Change::between(&action, &Action::of_rate(1.1, 4, 1.5, 30.0));
        let text = serde_json::to_string(&change).expect("writes");
        assert_eq!(serde_json::from_str::<Change>(&text).expect("reads"), change);
        assert!(serde_json::from_str::<Change>("{\"m\":0.1,\"b\":1,\"r\":1.0}").is_ok());
    }

    #[test]
    fn one_way_to_change_keeps_the_window() {
        let settings = Settings::of(Procedure::Racing);
        let all = neighbours(&settings, &Action::new(0.9, 10, 1.0));
        assert!(all.contains(&Action::new(0.75, 25, 1.0)), "{all:?}");
        assert!(few_neighbours(&settings, &Action::new(0.9, 10, 1.0)).len() < all.len());
    }

    #[test]
    fn a_good_change_goes_on() {
        let settings = Settings::of(Procedure::Racing);
        let (from, to) = (Action::new(0.5, 1, 4.0), Action::new(0.6, 3, 2.0));
        let change = Change::between(&from, &to);
        let all = further(&settings, &to, &change);
        assert_eq!(all, [Action::new(0.7, 5, 1.0), Action::new(0.8, 7, 0.5)]);
    }
}

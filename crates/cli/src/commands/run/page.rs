//! What the page of `paceline run` says of a run.

use paceline_sim::Outcome;
use paceline_sim::scenario::Scenario;

use crate::table::figure;

/// What was run, in two or three sentences.
pub(super) fn explanation(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut text = format!("Measured for {} s", figure(outcome.duration_s));
    if !scenario.warmup.is_zero() {
        text += &format!(", after a warm-up of {}", scenario.warmup);
    }
    text += ".";
    if outcome.flows.len() > 1 {
        text += &format!(" Jain's index of the flows' goodputs is {:.3}.", outcome.jain());
    }
    if let Some(arrivals) = &outcome.arrivals {
        text += &format!(" Of {} short flows {} finished", arrivals.arrived, arrivals.finished);
        text += &match arrivals.completion_ms {
            Some(times) => format!("; they took {} ms in the mean.", figure(times.mean)),
            None => ".".into(),
        };
    }
    text
}

//! The text of `paceline run`'s page about its runs.

use paceline_report::PageInfo;
use paceline_sim::Outcome;
use paceline_sim::runs::Run;
use paceline_sim::scenario::Scenario;

use crate::numbers::{figure, fixed, range_as};
use crate::scenario_runs::ScenarioRuns;

/// Returns the text for the page of these runs, of which there is at least one.
pub fn run_page_info(scenario: &Scenario, runs: &[(Run, Outcome)]) -> PageInfo {
    let outcome = &runs[0].1;
    let several = ScenarioRuns::of(runs).filter(|all| all.runs.len() > 1);
    let digest = match &several {
        Some(all) if all.equal => "digest of all runs",
        Some(_) => "digest of run 1",
        None => "digest",
    };
    let explanation = match several {
        Some(all) => of_several(&all),
        None => of_one(scenario, outcome),
    };
    PageInfo {
        title: outcome.name.clone(),
        explanation,
        version: env!("CARGO_PKG_VERSION").into(),
        seed: Some(scenario.seed),
        facts: vec![(digest.into(), outcome.digest.clone())],
        ..PageInfo::default()
    }
}

/// Describes one run in two or three sentences.
fn of_one(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut text = format!("Measured for {} s", figure(outcome.duration_s));
    if !scenario.warmup.is_zero() {
        text += &format!(", after a warm-up of {}", scenario.warmup);
    }
    text += ".";
    if outcome.flows.len() > 1 {
        text += &format!(" Jain's index of the flows' goodputs is {}.", fixed(outcome.jain(), 3));
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

/// Describes several runs, and their number.
fn of_several(all: &ScenarioRuns<'_>) -> String {
    let mut text = format!(
        "Measured for {} s in each of {} runs, with other seeds and other places of the recordings at \
         which the flows began. Figures are medians of the runs, with the range of 90 % of them.",
        figure(all.duration_s),
        all.runs.len()
    );
    if all.flows.len() > 1 {
        text += &format!(
            " Jain's index of the flows' goodputs is {}.",
            range_as(&all.jain, "-", |index| format!("{index:.3}"))
        );
    }
    text
}

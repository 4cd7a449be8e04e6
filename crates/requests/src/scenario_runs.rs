//! Several runs of a scenario: the JSON of `paceline run --runs N`, which has a median and a range
//! in place of each figure of a single run.

use paceline_sim::metrics::Distribution;
use paceline_sim::runs::Run;
use paceline_sim::{FlowOutcome, LinkOutcome, Outcome};
use serde::Serialize;

use crate::columns::over;
use crate::columns::rows::{FlowRuns, LinkRuns};
use crate::fields::RunFields;
use crate::likeness::Likeness;

/// Several runs of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioRuns<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Measured time of each run in seconds.
    pub duration_s: f64,
    /// True if there are several runs, and nothing differs between them: see [`Likeness`].
    pub equal: bool,
    /// The links, in the scenario's order.
    pub links: Vec<LinkRuns<'a>>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowRuns<'a>>,
    /// Goodput of all flows together.
    pub goodput_mbps: Distribution,
    /// Jain's index of the flows' goodputs.
    pub jain: Distribution,
    /// Each run by itself.
    pub runs: Vec<OneRun<'a>>,
}

/// One of the runs, with its whole outcome.
#[derive(Clone, Debug, Serialize)]
pub struct OneRun<'a> {
    /// Number of the run, from 1 on.
    pub run: u32,
    /// Time by which the recordings (or the first flow) began later than in run 1.
    pub start_ms: f64,
    /// Its seed.
    pub seed: u64,
    /// Fields that `paceline run` prints for a single run.
    pub outcome: RunFields<'a>,
}

impl ScenarioRuns<'_> {
    /// Summarizes these runs of one scenario; `None` if there are none.
    pub fn of(runs: &[(Run, Outcome)]) -> Option<ScenarioRuns<'_>> {
        let all: Vec<&Outcome> = runs.iter().map(|(_, outcome)| outcome).collect();
        let first = *all.first()?;
        let links = (0..first.links.len()).map(|at| {
            let links: Vec<&LinkOutcome> = all.iter().map(|outcome| &outcome.links[at]).collect();
            LinkRuns::of(&first.links[at].name, &links)
        });
        let flows = (0..first.flows.len()).map(|at| {
            let flows: Vec<&FlowOutcome> = all.iter().map(|outcome| &outcome.flows[at]).collect();
            FlowRuns::of(&first.flows[at], &flows)
        });
        let likenesses: Vec<_> = all.iter().map(|outcome| Likeness::of(outcome)).collect();
        let likenesses: Vec<_> = likenesses.iter().map(Option::as_ref).collect();
        Some(ScenarioRuns {
            name: &first.name,
            duration_s: first.duration_s,
            equal: Likeness::all_equal(&likenesses),
            links: links.collect(),
            flows: flows.collect(),
            goodput_mbps: over(&all, |outcome| outcome.goodput_mbps()),
            jain: over(&all, |outcome| outcome.jain()),
            runs: runs
                .iter()
                .map(|(run, outcome)| OneRun {
                    run: run.number,
                    start_ms: run.start.as_millis_f64(),
                    seed: run.seed,
                    outcome: RunFields::of(outcome),
                })
                .collect(),
        })
    }
}

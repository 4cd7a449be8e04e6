//! Several runs of a scenario file: medians, and ranges of 90 % of the runs.

use paceline_requests::ScenarioRuns;
use paceline_requests::columns::TextTable;
use paceline_requests::numbers::{figure, fixed, range_as};
use paceline_sim::runs::Run;
use paceline_sim::scenario::Scenario;
use paceline_sim::{BuildError, FlowOutcome, LinkOutcome, Outcome};
use rayon::prelude::*;
use serde::Serialize;

use super::{flows, links};
use crate::{host, registries};

/// Makes all runs of a scenario, on all cores.
///
/// # Errors
/// The scenario cannot be built. Runs that the host has ended early are missing.
pub(super) fn run_all(scenario: &Scenario) -> Result<Vec<(Run, Outcome)>, BuildError> {
    let runs: Vec<Run> = Run::all(scenario).collect();
    let make = |run: Run| {
        let scenario = run.scenario(scenario);
        let outcome =
            paceline_requests::run_while(&scenario, registries::names(), &host::go_on).transpose();
        outcome.map(|outcome| outcome.map(|outcome| (run, outcome)))
    };
    runs.into_par_iter().with_max_len(1).filter_map(make).collect()
}

/// A row of the CSV table: a link or a flow in a run.
#[derive(Serialize)]
pub(super) struct CsvRow<'a> {
    /// `link` or `flow`.
    kind: &'static str,
    run: u32,
    seed: u64,
    #[serde(flatten)]
    of: LinkOrFlow<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum LinkOrFlow<'a> {
    Link(&'a LinkOutcome),
    Flow(&'a FlowOutcome),
}

/// Returns the rows of the CSV table: links and flows of each run.
pub(super) fn csv_rows(runs: &[(Run, Outcome)]) -> Vec<CsvRow<'_>> {
    let mut rows = Vec::new();
    for (run, outcome) in runs {
        let (run, seed) = (run.number, run.seed);
        let mut add = |kind, of| rows.push(CsvRow { kind, run, seed, of });
        outcome.links.iter().for_each(|link| add("link", LinkOrFlow::Link(link)));
        outcome.flows.iter().for_each(|flow| add("flow", LinkOrFlow::Flow(flow)));
    }
    rows
}

/// Returns tables of the links and the flows.
pub(super) fn tables(all: &ScenarioRuns<'_>) -> String {
    let mut text =
        format!("{}, {} s, {} runs\n\n", all.name, figure(all.duration_s), all.runs.len());
    text += &links(TextTable::LinkRuns, &all.links, |link| link.name);
    text += &flows(TextTable::FlowRuns, &all.flows, |flow| [flow.name, flow.scheme]);
    if all.flows.len() > 1 {
        text += &format!("\nJain's index {}\n", jain(all));
    }
    if all.equal {
        text += "\nAll runs are equal: nothing depends on the seed or the start\n";
    }
    text
}

fn jain(all: &ScenarioRuns<'_>) -> String {
    range_as(&all.jain, "-", |value| fixed(value, 3))
}

//! Several runs of a scenario file: medians, and ranges of 90 % of the runs.

use paceline_requests::ScenarioRuns;
use paceline_requests::columns::TextTable;
use paceline_requests::numbers::{figure, range_as};
use paceline_sim::runs::Run;
use paceline_sim::scenario::Scenario;
use paceline_sim::{BuildError, Outcome};
use rayon::prelude::*;

use super::{flows, links};
use crate::registries;

/// Makes all runs of a scenario, on all cores.
pub(super) fn run_all(scenario: &Scenario) -> Result<Vec<(Run, Outcome)>, BuildError> {
    let runs: Vec<Run> = Run::all(scenario).collect();
    runs.into_par_iter()
        .map(|run| Ok((run, paceline_requests::run(&run.scenario(scenario), registries::names())?)))
        .collect()
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
    range_as(&all.jain, "-", |index| format!("{index:.3}"))
}

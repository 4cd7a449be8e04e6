//! Several runs of a scenario file: medians, and ranges of 90 % of the runs.

use paceline_requests::ScenarioRuns;
use paceline_requests::numbers::{figure, percent, range, range_as};
use paceline_sim::runs::Run;
use paceline_sim::scenario::Scenario;
use paceline_sim::{BuildError, Outcome};
use rayon::prelude::*;

use crate::registries;
use crate::table::Grid;

/// Makes all runs of a scenario, on all cores.
pub(super) fn run_all(scenario: &Scenario) -> Result<Vec<(Run, Outcome)>, BuildError> {
    let runs: Vec<Run> = Run::all(scenario).collect();
    runs.into_par_iter()
        .map(|run| Ok((run, paceline_requests::run(&run.scenario(scenario), registries::names())?)))
        .collect()
}

/// The tables of links and flows.
pub(super) fn tables(all: &ScenarioRuns<'_>) -> String {
    let mut text =
        format!("{}, {} s, {} runs\n\n", all.name, figure(all.duration_s), all.runs.len());
    let mut links = Grid::numbers(&["link", "capacity", "Mbit/s", "used %", "delay ms p95"]);
    for link in &all.links {
        links.row(vec![
            link.name.to_string(),
            range(&link.capacity_mbps),
            range(&link.throughput_mbps),
            range_as(&link.utilization, "-", percent),
            range(&link.queue_delay_ms.p95),
        ]);
    }
    if !all.links.is_empty() {
        text += &format!("{}\n", links.text());
    }
    let mut flows = Grid::after(2, &["flow", "scheme", "Mbit/s", "RTT ms mean", "p95", "resent"]);
    for flow in &all.flows {
        flows.row(vec![
            flow.name.to_string(),
            flow.scheme.to_string(),
            range(&flow.goodput_mbps),
            range(&flow.rtt_ms.mean),
            range(&flow.rtt_ms.p95),
            range(&flow.retransmits),
        ]);
    }
    if !all.flows.is_empty() {
        text += &flows.text();
    }
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

//! The networks around our runs.

use paceline_cc::{AckPolicy, Rate};
use paceline_path::BufferSize;

use crate::compare::{CompareRow, Comparison};
use paceline_sim::scenario::{Capacity, LinkSpec, QueueChoice, RouterChoice, Scenario};

/// A run of `paceline compare`, with its receivers acknowledging as `ack` says.
pub(super) fn plain(comparison: &Comparison, ack: Option<AckPolicy>) -> Result<CompareRow, String> {
    finish(comparison, comparison.scenario(), ack)
}

/// The same with an access link of 100 Mbit/s for each flow, as the peers' dumbbells have: without
/// them, the packets of a window arrive at the bottleneck at the same instant.
pub(super) fn behind_access_links(
    comparison: &Comparison,
    ack: Option<AckPolicy>,
) -> Result<CompareRow, String> {
    let mut scenario = comparison.scenario();
    give_access_links(&mut scenario);
    finish(comparison, scenario, ack)
}

/// A flow each way at once: the one measured, and another of the same scheme whose data share the
/// other direction with the first one's acknowledgements and reports.
pub(super) fn two_ways(comparison: &Comparison) -> Result<CompareRow, String> {
    let mut scenario = comparison.scenario();
    let [flow] = scenario.flows.as_slice() else { return Err("one flow is needed".into()) };
    let mut other = flow.clone();
    other.name = format!("{}-back", flow.name);
    std::mem::swap(&mut other.path, &mut other.back);
    scenario.flows.push(other);
    finish(comparison, scenario, None)
}

fn finish(
    comparison: &Comparison,
    mut scenario: Scenario,
    ack: Option<AckPolicy>,
) -> Result<CompareRow, String> {
    for flow in &mut scenario.flows {
        flow.ack = ack;
    }
    let outcome = paceline_sim::run_with(&scenario, &paceline_remy::names())
        .map_err(|error| error.to_string())?;
    Ok(comparison.row(&outcome))
}

fn give_access_links(scenario: &mut Scenario) {
    let flow = scenario.flows.remove(0);
    for number in 1..=flow.count {
        let name = format!("access-{number}");
        let mut access = LinkSpec::new(&name, Capacity::Constant(Rate::from_mbps(100.0)));
        access.buffer = BufferSize::Unlimited;
        access.router = RouterChoice::None;
        access.queue = QueueChoice::droptail();
        scenario.links.push(access);
        let mut own = flow.clone();
        own.count = 1;
        own.name = format!("{}-{number}", flow.name);
        own.path.insert(0, name);
        scenario.flows.push(own);
    }
}

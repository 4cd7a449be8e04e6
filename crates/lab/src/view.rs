//! From rows of the table of `compare`, and links of scenarios, to the charts of the report.

use paceline_report::{FlowView, Quantiles, RunView, TimeSeries};
use paceline_sim::scenario::Scenario;
use paceline_sim::{FlowOutcome, LinkOutcome, LinkSeries, Names, Outcome, metrics};

use crate::compare::{CompareRow, OMNISCIENT};

/// A scheme as labels have it: without the parameters that have their defaults anyway.
pub fn label(scheme: &str, names: &Names) -> String {
    let spec = names.check_scheme(scheme).map(|spec| names.without_defaults(&spec).to_string());
    spec.unwrap_or_else(|_| scheme.to_string())
}

/// A run as the charts want it.
pub fn view(row: &CompareRow, names: &Names) -> RunView {
    RunView {
        trace: row.trace.clone(),
        scheme: label(&row.scheme, names),
        capacity_mbps: row.capacity_mbps,
        throughput_mbps: row.throughput_mbps,
        utilization: row.utilization,
        queue_delay_ms: quantiles(row.queue_delay_ms),
        retransmits: Some(row.retransmits),
        jain: (row.flows > 1).then_some(row.jain),
        series: series(row.series.as_ref()),
        digest: row.digest.clone(),
        note: row.note.clone(),
        bound: row.scheme == OMNISCIENT,
        ..RunView::default()
    }
}

/// The links, each with the schemes of the flows whose data passes it, and the flows.
pub fn views(scenario: &Scenario, outcome: &Outcome) -> (Vec<RunView>, Vec<FlowView>) {
    let names = paceline_remy::names();
    let link = |link: &LinkOutcome| {
        let mut schemes: Vec<String> = Vec::new();
        let arrivals = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
        for flow in scenario.flows.iter().chain(arrivals) {
            let scheme = label(&flow.scheme.to_string(), &names);
            if flow.path.contains(&link.name) && !schemes.contains(&scheme) {
                schemes.push(scheme);
            }
        }
        if schemes.is_empty() {
            schemes.push("acknowledgements".into());
        }
        link_view(link, &schemes.join(", "))
    };
    let flow = |flow: &FlowOutcome| {
        let series = flow.series.clone().unwrap_or_default();
        FlowView {
            name: flow.name.clone(),
            scheme: label(&flow.scheme, &names),
            goodput_mbps: flow.goodput_mbps,
            one_way_delay_ms: quantiles(flow.one_way_delay_ms),
            rtt_ms: quantiles(flow.rtt_ms),
            retransmits: flow.sender.retransmits,
            bin_s: series.bin_s,
            goodput_series_mbps: series.goodput_mbps,
        }
    };
    (outcome.links.iter().map(link).collect(), outcome.flows.iter().map(flow).collect())
}

/// A link of a scenario as the charts want it, with the schemes whose data passes it.
fn link_view(link: &LinkOutcome, schemes: &str) -> RunView {
    RunView {
        trace: link.name.clone(),
        scheme: schemes.to_string(),
        capacity_mbps: link.capacity_mbps,
        throughput_mbps: link.throughput_mbps,
        utilization: link.utilization,
        queue_delay_ms: quantiles(link.queue_delay_ms),
        series: series(link.series.as_ref()),
        ..RunView::default()
    }
}

fn series(series: Option<&LinkSeries>) -> TimeSeries {
    let series = series.cloned().unwrap_or_default();
    TimeSeries {
        bin_s: series.bin_s,
        capacity_mbps: series.capacity_mbps,
        throughput_mbps: series.throughput_mbps,
        queue_delay_ms: series.queue_delay_ms,
        window_packets: None,
    }
}

/// Quantiles as the charts want them.
pub fn quantiles(of: metrics::Quantiles) -> Quantiles {
    let metrics::Quantiles { mean, p50, p95, p99, max } = of;
    Quantiles { mean, p50, p95, p99, max }
}

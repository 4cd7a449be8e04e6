//! What the page of `paceline run` shows: the links and flows of an outcome as the charts want them.

use paceline_lab::view::{label, link_view, quantiles};
use paceline_report::{FlowView, RunView};
use paceline_sim::scenario::Scenario;
use paceline_sim::{FlowOutcome, LinkOutcome, Outcome};

use crate::table::figure;

/// The links, each with the schemes of the flows whose data passes it, and the flows.
pub(super) fn views(scenario: &Scenario, outcome: &Outcome) -> (Vec<RunView>, Vec<FlowView>) {
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
        text += &format!(
            " Of {} short flows {} finished; they took {} ms in the mean.",
            arrivals.arrived,
            arrivals.finished,
            figure(arrivals.completion_ms.mean)
        );
    }
    text
}

//! Plots of a table's senders over time: a second sender joins and leaves, and the link slows down.

use std::sync::Arc;

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_remy::PACKET;
use paceline_report::{Chart, Fold, Page, Paint, Palette, Panel, Series, Shade};
use paceline_schemes::remy::RuleTable;
use paceline_sim::Outcome;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, SchemeChoice};

use crate::output::Error;

/// Duration of each run, and the times of the change and of its end, in seconds.
const SECONDS: u64 = 30;
const CHANGES: u64 = 10;
const BACK: u64 = 20;
/// Bin of the lines over time.
const BIN: Span = Span::from_millis(50);

/// Adds plots of two runs of a table over a link: with another sender, and with a slower link.
pub(super) fn add(
    page: &mut Page,
    name: &str,
    table: &Arc<RuleTable>,
    link: Rate,
    rtt: Span,
) -> Result<(), Error> {
    let scheme = super::scheme(name, Arc::clone(table));
    let whole = Capacity::Constant(link);
    let joins = run(&scheme, whole, rtt, true)?;
    page.figure(
        &chart("A second sender joins and leaves", &joins).figure(),
        &format!(
            "{name} over {link}, RTT {rtt}, 1000 packets: a second sender joins after {CHANGES} s and \
             leaves after {BACK} s."
        ),
    );
    let at = |seconds: u64, rate: Rate| (Span::from_secs(seconds), rate);
    let half = Rate::from_bps(link.as_bps() / 2);
    let slows = Capacity::Schedule {
        steps: vec![at(0, link), at(CHANGES, half), at(BACK, link)],
        period: None,
    };
    page.figure(
        &chart("The link slows down", &run(&scheme, slows, rtt, false)?).figure(),
        &format!(
            "The same, one sender: after {CHANGES} s the link has half of its rate, so that the queue \
             grows, and after {BACK} s all of it again."
        ),
    );
    Ok(())
}

fn run(scheme: &SchemeChoice, link: Capacity, rtt: Span, two: bool) -> Result<Outcome, Error> {
    let mut scenario = Scenario::new("what senders do");
    (scenario.mss, scenario.record) = (PACKET, Record::Series(BIN));
    scenario.duration = Span::from_secs(SECONDS);
    scenario.warmup = Span::ZERO;
    scenario.links.push(LinkSpec::new("link", link).with(|link| {
        link.buffer = BufferSize::Packets(1000);
    }));
    let mut add = |name: &str, start, stop: Option<u64>| {
        scenario.flows.push(FlowSpec::bulk(scheme.clone(), &["link"]).with(|flow| {
            (flow.name, flow.rtt) = (name.to_string(), rtt);
            (flow.start, flow.stop) = (Span::from_secs(start), stop.map(Span::from_secs));
        }));
    };
    add("first", 0, None);
    if two {
        add("second", CHANGES, Some(BACK));
    }
    paceline_sim::run(&scenario).map_err(|error| Error::Message(error.to_string()))
}

fn chart(label: &str, outcome: &Outcome) -> Chart {
    let palette = Palette::new(outcome.flows.iter().map(|flow| flow.name.as_str()));
    let line = |flow: &str, quantity: &str, unit: &str, values: Vec<f64>| Series {
        name: flow.to_string(),
        quantity: quantity.into(),
        unit: unit.into(),
        bin_s: BIN.as_secs_f64(),
        values,
        paint: palette.paint(flow),
        shade: Shade::Line,
        fold: Fold::Mean,
        label: vec![flow.to_string()],
    };
    let state = |key: &str, quantity: &str, unit: &str| -> Vec<Series> {
        let of = |flow: &paceline_sim::FlowOutcome| {
            let state = &flow.series.as_ref()?.state;
            let (_, values) = state.iter().find(|(name, _)| *name == key)?;
            Some(line(&flow.name, quantity, unit, values.clone()))
        };
        outcome.flows.iter().filter_map(of).collect()
    };
    let goodput = |flow: &paceline_sim::FlowOutcome| {
        let series = flow.series.as_ref()?;
        Some(line(&flow.name, "goodput", "Mbit/s", series.goodput_mbps.clone()))
    };
    let link = outcome.links.first().and_then(|link| link.series.as_ref());
    let capacity = link.map(|series| Series {
        shade: Shade::Area,
        paint: Paint::AREA,
        label: Vec::new(),
        ..line("capacity", "capacity", "Mbit/s", series.capacity_mbps.clone())
    });
    let queue = link.map(|series| Series {
        fold: Fold::Max,
        label: vec!["queue".into()],
        ..line("queue", "queueing delay", "ms", series.queue_delay_ms.clone())
    });
    let panel =
        |title: &str, height, series| Panel { title: title.into(), height, log: false, series };
    let rates = capacity.into_iter().chain(outcome.flows.iter().filter_map(goodput)).collect();
    Chart {
        label: label.into(),
        panels: vec![
            panel("Rate (Mbit/s)", 120.0, rates),
            panel("Queue (ms)", 80.0, queue.into_iter().collect()),
            Panel {
                log: true,
                ..panel("Window (packets)", 90.0, state("cwnd", "window", "packets"))
            },
            panel("Gap (ms)", 80.0, state("intersend", "time between packets", "ms")),
        ],
    }
}

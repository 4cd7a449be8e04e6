//! ABC beside other flows at an ABC router (§4.3 and Fig. 13 of the ABC paper).

use std::ops::Range;

use paceline_cc::{Rate, Span, Spec, Stream};
use paceline_flow::Amount;
use paceline_path::BufferSize;
use paceline_report::{BarPanel, Bars, Cell, Palette, Table};
use paceline_sim::scenario::{
    Arrivals, Capacity, FlowSpec, LinkSpec, Record as Recording, Scenario,
};

use super::Experiment;
use super::common::{JITTER, mean, scheme};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "coexistence",
    title: "ABC beside other flows",
    about: "Three ABC and three Cubic flows over an ABC router with two queues, at 96 Mbit/s and \
            100 ms, with a buffer of 800 packets for each queue, the long flows' packets delayed by 1 ms more on average at random; beside them Cubic flows of 10 kB \
            arrive as a Poisson process that offers a load in percent of the link. Throughput is \
            taken over the whole of each run.",
    plan,
    find,
};

/// The router's two ways to compute its weights: prefix of measures, and queue.
const WAYS: [(&str, &str); 2] = [("maxmin", "abc_dual"), ("zombie", "abc_dual[weights=zombie]")];
/// Loads of short flows, in percent of the link.
const LOADS: [&str; 5] = ["0", "6.25", "12.5", "25", "50"];
const QUICK: [&str; 3] = ["0", "6.25", "50"];
const LINK_MBPS: f64 = 96.0;
/// Buffer of each queue in packets: one bandwidth-delay product; the paper states no size here.
const QUEUE: u64 = 800;
/// Number of draws of each setting: the paper's number of runs.
const DRAWS: u64 = 10;
const SHORT_BYTES: f64 = 10_000.0;
/// Time within which long flows start at random.
const STARTS: Span = Span::from_millis(100);
const LONG: [&str; 2] = ["abc", "cubic"];

/// Returns whether a check reads the runs at this load: with zombie lists, those of [`QUICK`].
fn is_read(way: &str, load: &str) -> bool {
    way == "maxmin" || QUICK.contains(&load)
}

/// Returns the loads of one of [`WAYS`].
fn loads(setting: &Setting, way: &str) -> Vec<&'static str> {
    let all: &[&str] = if setting.quick { &QUICK } else { &LOADS };
    all.iter().copied().filter(|load| setting.causes || is_read(way, load)).collect()
}

/// Returns the numbers of the draws.
fn draws(setting: &Setting) -> Range<u64> {
    0..if setting.quick { 4 } else { DRAWS }
}

fn name(way: &str, load: &str, run: u64) -> String {
    format!("{way} at {load} %, run {run}")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for (way, queue) in WAYS {
        for load in loads(setting, way) {
            for run in draws(setting) {
                let name = name(way, load, run);
                let scenario = scenario(&name, queue, load, setting, run)?;
                let task = Task::scenario(name, scenario);
                tasks.push(if is_read(way, load) { task } else { task.once() });
            }
        }
    }
    Ok(tasks)
}

fn scenario(
    name: &str,
    queue: &str,
    load: &str,
    setting: &Setting,
    run: u64,
) -> Result<Scenario, String> {
    let mut scenario = Scenario::new(name);
    scenario.duration = Span::from_secs(40);
    // Throughputs are read, and nothing of single packets.
    scenario.record = Recording::Counters;
    scenario.seed = setting.seed + run;
    let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(LINK_MBPS)));
    link.queue = Spec::parse(queue).map_err(|error| error.to_string())?.into();
    link.buffer = BufferSize::Packets(2 * QUEUE);
    scenario.links.push(link);
    // Runs without short flows differ by the start times.
    let mut random = Stream::new(scenario.seed, "starts");
    for text in LONG {
        for number in 1..=3 {
            let mut flow = FlowSpec::bulk(scheme(text)?, &["link"]);
            flow.name = format!("{text} {number}");
            flow.start = Span::from_nanos(random.below(STARTS.as_nanos()));
            flow.data.impairments.jitter = Some(JITTER);
            scenario.flows.push(flow);
        }
    }
    let percent: f64 = load.parse().map_err(|_| format!("{load}: expected a number"))?;
    if percent > 0.0 {
        let mut flow = FlowSpec::bulk(scheme("cubic")?, &["link"]);
        flow.name = "short".into();
        scenario.arrivals.push(Arrivals {
            flow,
            per_second: percent / 100.0 * LINK_MBPS * 1e6 / 8.0 / SHORT_BYTES,
            bytes: Amount::Fixed(SHORT_BYTES),
        });
    }
    Ok(scenario)
}

/// Mean throughput of a flow, and standard deviation between the flows of a run as a share of their
/// mean, averaged over the runs.
struct Spread {
    mean: f64,
    deviation: f64,
}

fn spread(rates: &[[f64; 3]]) -> Spread {
    let each = rates.iter().map(|flows| {
        let middle = mean(*flows);
        mean(flows.map(|rate| (rate - middle) * (rate - middle))).sqrt() / middle
    });
    Spread { mean: mean(rates.iter().flatten().copied()), deviation: mean(each) }
}

/// Returns the largest value; NaN, which no check accepts, if one is missing.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(
        f64::NEG_INFINITY,
        |most, &value| {
            if most.is_nan() || value <= most { most } else { value }
        },
    )
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let palette = Palette::new(LONG);
    let mut rows = Vec::new();
    for (way, _) in WAYS {
        let (mut differences, mut deviations, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
        let mut panels =
            [("Mbit/s, mean of a flow", "Mbit/s"), ("deviation (%)", "%")].map(|(title, unit)| {
                BarPanel { title: title.into(), unit: unit.into(), ..BarPanel::default() }
            });
        for load in loads(setting, way) {
            let rates = |kind: &str| -> Vec<[f64; 3]> {
                let of = |run| {
                    let record = results.get(&name(way, load, run));
                    [1, 2, 3].map(|flow| record.number(&format!("flow.{kind} {flow}.goodput")))
                };
                draws(setting).map(of).collect()
            };
            let [abc, cubic] = LONG.map(|kind| spread(&rates(kind)));
            let excess = cubic.mean / abc.mean - 1.0;
            let difference = (cubic.mean - abc.mean).abs() / cubic.mean.max(abc.mean);
            let key = format!("{way}.{load}");
            findings.measure(format!("{key}.excess"), excess);
            findings.measure(format!("{key}.difference"), difference);
            findings.measure(format!("{key}.abc.deviation"), abc.deviation);
            findings.measure(format!("{key}.cubic.deviation"), cubic.deviation);
            let used = mean(
                draws(setting)
                    .map(|run| results.get(&name(way, load, run)).number("link.link.utilization")),
            );
            findings.measure(format!("{key}.utilization"), used);
            differences.push(difference);
            deviations.push(abc.deviation);
            gaps.push(abc.deviation - cubic.deviation);
            panels[0].values.push(vec![abc.mean, cubic.mean]);
            panels[1].values.push(vec![100.0 * abc.deviation, 100.0 * cubic.deviation]);
            rows.push(vec![
                Cell::code(way),
                Cell::text(load),
                Cell::number(abc.mean, 2),
                Cell::number(cubic.mean, 2),
                Cell::number(100.0 * excess, 1),
                Cell::number(100.0 * abc.deviation, 1),
                Cell::number(100.0 * cubic.deviation, 1),
                Cell::number(100.0 * used, 1),
            ]);
        }
        findings.measure(format!("{way}.difference"), largest(&differences));
        findings.measure(format!("{way}.abc.deviation"), largest(&deviations));
        findings.measure(format!("{way}.abc-cubic.deviation"), largest(&gaps));
        let bars = Bars {
            label: format!("Long flows by the load of short ones, weights by {way}"),
            groups: loads(setting, way).iter().map(|load| format!("{load} %")).collect(),
            bars: LONG.map(|kind| (kind.to_string(), palette.paint(kind))).to_vec(),
            panels: panels.to_vec(),
        };
        let caption = match way {
            "maxmin" => "Long flows by the offered load of short ones: max-min weights (Fig. 13a).",
            _ => "The same with weights by RCP's zombie lists (Fig. 13b).",
        };
        findings.figure(way, bars.figure(), caption);
    }
    let columns = [
        ("weights", ""),
        ("load %", "offered by short flows"),
        ("ABC", "mean throughput of a long flow, Mbit/s"),
        ("Cubic", "mean throughput of a long flow, Mbit/s"),
        ("excess %", "Cubic's throughput above ABC's"),
        ("sd ABC %", "standard deviation between the flows of a run, mean over runs"),
        ("sd Cubic %", "standard deviation between the flows of a run, mean over runs"),
        ("used %", "throughput over capacity"),
    ];
    let columns = columns.map(|(head, hint)| (head.to_string(), hint.to_string())).to_vec();
    findings.table("all", Table { columns, rows }, "Means over all runs.");
    Ok(findings)
}

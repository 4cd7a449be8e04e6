//! The XCP-b paper's analysis: XCP's queue with a wrong capacity, blind growth and its duration.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};

use super::Experiment;
use super::common::{scheme, with_series};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "xcpb-law",
    title: "XCP-b's law",
    about: "XCP's fluid model under a wrong capacity; the recurrence of blind growth, and XCP-b \
            over links of constant rate.",
    plan,
    find,
};

const ALPHA: f64 = 0.4;
const BETA: f64 = 0.2263;
const QMAX: u64 = 64_000;
/// RTT and control interval in seconds.
const D: f64 = 0.1;
/// Errors of the capacity in Mbit/s.
const ERRORS: [f64; 2] = [0.7, 1.4];
/// Link rates in Mbit/s at which growth must not overflow the buffer.
const RATES: [u64; 3] = [2, 4, 8];
/// Bandwidth-delay products in multiples of Qmax.
const PRODUCTS: [u64; 3] = [2, 4, 8];

fn plan(_setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for error in ERRORS {
        let key = format!("xcp fluid {error}");
        tasks.push(Task::other(format!("fluid {error}"), key, 0.1, move || Ok(fluid(error))));
    }
    tasks.push(Task::other("recurrence", "xcpb recurrence", 0.1, || Ok(recurrence())));
    let link = |name: String, mbps: f64, router: &str, buffer: BufferSize| {
        let mut scenario = Scenario::new(&name);
        let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(mbps)));
        link.buffer = buffer;
        scenario.links.push(link);
        let mut flow = FlowSpec::bulk(scheme(router)?, &["link"]);
        flow.rtt = Span::from_secs_f64(D);
        // The paper's ns-2 has no handshake.
        flow.handshake = false;
        scenario.flows.push(flow);
        Ok::<_, String>(scenario)
    };
    for mbps in RATES {
        let text = format!("xcpb[initial_window=1,qmax={QMAX},sample=boundary]");
        let name = format!("blind {mbps}");
        let mut scenario = link(name.clone(), mbps as f64, &text, BufferSize::Bytes(QMAX))?;
        scenario.duration = Span::from_secs(20);
        tasks.push(Task::scenario(name, scenario));
    }
    for (name, product, chi) in growth() {
        let mbps = (product * QMAX * 8) as f64 / D / 1e6;
        let text = format!("xcpb[initial_window=1,qmax={QMAX},chi={chi}]");
        let mut scenario = link(format!("grow {name}"), mbps, &text, BufferSize::Packets(1000))?;
        scenario.duration = Span::from_secs(20);
        tasks.push(Task::scenario(format!("grow {name}"), with_series(scenario, 100)));
    }
    Ok(tasks)
}

/// Returns names, bandwidth-delay products and chi (0 for the paper's) of the runs about growth.
fn growth() -> Vec<(String, u64, f64)> {
    let mut all: Vec<_> = PRODUCTS.iter().map(|m| (m.to_string(), *m, 0.0)).collect();
    all.push(("half".into(), 4, 0.5 / (5.0 - ALPHA - BETA)));
    all
}

/// Solves equation 4 with feedback that acts a delay later: `y' = F(t - d)/d`, `q' = y - C`.
/// Records the queue at rest divided by (alpha/beta) d epsilon, and the period of its oscillations
/// in delays.
fn fluid(error_mbps: f64) -> Record {
    let error = error_mbps * 1e6 / 8.0;
    let steps = 1000;
    let (step, count) = (D / steps as f64, 60 * steps);
    // Excess rate and queue; both begin at rest, without an error.
    let (mut excess, mut queue) = (0.0_f64, 0.0_f64);
    let mut feedback: Vec<f64> = Vec::with_capacity(count);
    let mut queues: Vec<f64> = Vec::with_capacity(count);
    for at in 0..count {
        feedback.push(ALPHA * (error - excess) - BETA * queue / D);
        let acts = at.checked_sub(steps).map_or(0.0, |at| feedback[at]);
        queue += step * excess;
        excess += step * acts / D;
        queues.push(queue);
    }
    let rest = ALPHA / BETA * D * error;
    let last = &queues[count - 10 * steps..];
    let mut record = Record::default();
    record.set("rest", last.iter().sum::<f64>() / last.len() as f64 / rest);
    // From one upward crossing of the queue at rest to the next.
    let up = |pair: &[f64]| pair[0] < rest && pair[1] >= rest;
    let passages: Vec<usize> = (1..count).filter(|&at| up(&queues[at - 1..=at])).collect();
    if let [first, second, ..] = passages[..] {
        record.set("period", (second - first) as f64 / steps as f64);
    }
    record
}

/// Computes Fig. 4's worst case in units of chi Qmax: two blind intervals act after the link is
/// full, then equation 6.
fn recurrence() -> Record {
    let (mut queue, mut excess, mut pending) = (0.0_f64, 1.0, 1.0);
    let mut peak = 0.0_f64;
    for _ in 0..30 {
        let before = queue;
        queue = (queue + excess).max(0.0);
        peak = peak.max(queue);
        excess += pending;
        pending = -ALPHA * (queue - before) - BETA * queue;
    }
    let mut record = Record::default();
    record.set("peak", peak);
    record
}

fn find(_setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for error in ERRORS {
        let record = results.get(&format!("fluid {error}"));
        findings.measure(format!("fluid.{error}.rest"), record.number("rest"));
        findings.measure(format!("fluid.{error}.period"), record.number("period"));
    }
    findings.measure("recurrence.peak", results.get("recurrence").number("peak"));
    let mut drops = 0.0;
    for mbps in RATES {
        let record = results.get(&format!("blind {mbps}"));
        // The largest delay includes the packet's own transmission.
        let bytes = record.number("link.link.delay.max") * mbps as f64 * 1e3 / 8.0 - 1500.0;
        findings.measure(format!("blind.{mbps}.peak"), bytes / QMAX as f64);
        drops += record.number("link.link.drops");
    }
    findings.measure("blind.drops", drops);
    for (name, product, _) in growth() {
        let record = results.get(&format!("grow {name}"));
        let goal = 0.9 * (product * QMAX * 8) as f64 / D / 1e6;
        let series = record.series("link.link.throughput");
        let at = series.iter().position(|mbps| *mbps >= goal);
        // Feedback on the first packets acts in the third interval.
        let intervals = at.map_or(f64::NAN, |at| at as f64 - 2.0);
        findings.measure(format!("grow.{name}.intervals"), intervals);
    }
    let ratio = findings.get("grow.half.intervals") / findings.get("grow.4.intervals");
    findings.measure("grow.half.ratio", ratio);
    Ok(findings)
}

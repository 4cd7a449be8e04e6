//! A path over two cellular links (Fig. 7c of the ABC paper).

use paceline_cc::Span;
use paceline_path::BufferSize;
use paceline_report::{Palette, Scatter};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};

use super::Experiment;
use super::common::{SCHEMES, better, dot, scheme};
use crate::findings::Findings;
use crate::front::distance;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "two-links",
    title: "Two cellular links in a row",
    about: "A path over Verizon's LTE uplink and then its downlink, each with a buffer of 250 \
            packets and the scheme's router; round-trip propagation delay 100 ms. Delay is one \
            way, less the 50 ms of propagation.",
    plan,
    find,
};

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let (up, down) = (setting.verizon_up()?, setting.verizon_down()?);
    let mut tasks = Vec::new();
    for (short, text) in SCHEMES {
        let mut scenario = Scenario::new(short);
        scenario.duration = setting.length(140, 30);
        for (name, cellular) in [("up", &up), ("down", &down)] {
            let mut link = LinkSpec::new(name, Capacity::trace(cellular.trace.clone()));
            link.buffer = BufferSize::Packets(250);
            scenario.links.push(link);
        }
        let mut flow = FlowSpec::bulk(scheme(text)?, &["up", "down"]);
        flow.rtt = Span::from_millis(100);
        scenario.flows.push(flow);
        tasks.push(Task::scenario(short, scenario));
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings {
        traces: vec![setting.verizon_up()?.name, setting.verizon_down()?.name],
        ..Findings::default()
    };
    let palette = Palette::new(SCHEMES.iter().map(|(short, _)| *short));
    let mut dots = Vec::new();
    for (short, _) in SCHEMES {
        let record = results.get(short);
        let (throughput, delay) =
            (record.number("all.goodput"), record.number("all.owd.p95") - 50.0);
        findings.measure(format!("{short}.throughput"), throughput);
        findings.measure(format!("{short}.p95"), delay);
        dots.push(dot(short, &palette, (delay, throughput)));
    }
    let abc = (findings.get("abc.throughput"), findings.get("abc.p95"));
    let others = SCHEMES.iter().filter(|(short, _)| *short != "abc").map(|(short, _)| {
        (findings.get(&format!("{short}.throughput")), findings.get(&format!("{short}.p95")))
    });
    let others: Vec<(f64, f64)> = others.collect();
    let better = better(abc, others.iter().copied());
    findings.measure("better", better);
    let front = distance(abc, others);
    findings.measure("distance", front);
    let scatter = Scatter {
        label: "Throughput over delay on two links".into(),
        x_title: "95th-percentile delay beyond propagation (ms)".into(),
        y_title: "Throughput (Mbit/s)".into(),
        dots,
        ..Scatter::default()
    };
    findings.figure("tradeoff", scatter.figure(), "Throughput over delay on both links together.");
    Ok(findings)
}

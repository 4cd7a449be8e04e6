//! ABC and XCP over links of constant rate (§6 of the ABC paper).

use paceline_cc::Rate;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};

use super::Experiment;
use super::common::{JITTER, least, mean, most, scheme};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "abc-fixed",
    title: "ABC and XCP on links of constant rate",
    about: "One flow and four flows of ABC and of XCP over 12, 24 and 48 Mbit/s, RTT 100 ms, a \
            buffer of 250 packets.",
    plan,
    find,
};

/// Short names for measures, and the schemes.
const SCHEMES: [(&str, &str); 2] = [("abc", "abc"), ("xcp", "xcp[variant=abc]")];
/// Rates in Mbit/s.
const RATES: [u32; 3] = [12, 24, 48];
const COUNTS: [u32; 2] = [1, 4];

fn run(short: &str, rate: u32, count: u32) -> String {
    format!("{short}, {rate} Mbit/s, {count}")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for (short, text) in SCHEMES {
        for rate in RATES {
            for count in COUNTS {
                let mut scenario = Scenario::new("constant");
                let capacity = Capacity::Constant(Rate::from_mbps(f64::from(rate)));
                scenario.links.push(LinkSpec::new("link", capacity));
                scenario.flows.push(FlowSpec::bulk(scheme(text)?, &["link"]).with(|flow| {
                    flow.count = count;
                    flow.data.impairments.jitter = Some(JITTER);
                }));
                scenario.duration = setting.length(60, 15);
                scenario.warmup = setting.length(20, 5);
                scenario.seed = setting.seed;
                tasks.push(Task::scenario(run(short, rate, count), scenario));
            }
        }
    }
    Ok(tasks)
}

fn find(_: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let (mut used, mut late) = (Vec::new(), Vec::new());
    for rate in RATES {
        for count in COUNTS {
            let records = SCHEMES.map(|(short, _)| results.get(&run(short, rate, count)));
            for ((short, _), record) in SCHEMES.iter().zip(records) {
                let name = format!("{short}.{rate}.{count}");
                let utilization = record.number("link.link.utilization");
                findings.measure(format!("{name}.utilization"), utilization);
                findings.measure(format!("{name}.p95"), record.number("link.link.delay.p95"));
            }
            let [abc, xcp] = records;
            let ratio = |figure: &str| abc.number(figure) / xcp.number(figure);
            used.push(ratio("link.link.utilization"));
            late.push(ratio("all.rtt.p95"));
        }
    }
    findings.measure("fixed.utilization", mean(used.iter().copied()));
    findings.measure("fixed.utilization.least", least(used));
    findings.measure("fixed.rtt.most", most(late));
    for (short, _) in SCHEMES {
        let jain = RATES.map(|rate| results.get(&run(short, rate, 4)).number("all.jain"));
        findings.measure(format!("fixed.{short}.jain"), least(jain));
    }
    Ok(findings)
}

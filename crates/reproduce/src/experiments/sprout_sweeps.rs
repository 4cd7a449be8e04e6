//! Sprout by its confidence, under loss and among other schemes, and its model's constants (thesis
//! §2.2, §2.4.5, §2.4.6 and §2.5).

use std::sync::Arc;

use paceline_path::Loss;
use paceline_schemes::sprout::{BINS, Belief, Inference, Model, SproutParams, TICK};
use paceline_sim::scenario::Scenario;

use super::Experiment;
use super::common::{better, most};
use super::sprout_cellular::emulation;
use crate::findings::Findings;
use crate::front::distance;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "sprout-sweeps",
    title: "Sprout by confidence, under loss, and among other schemes",
    about: "Links as in the experiment before. Confidence is swept on T-Mobile's UMTS uplink; \
            Bernoulli loss of data and reports on Verizon's LTE, both directions; the end-to-end \
            schemes of this program run beside Sprout on Verizon's LTE downlink.",
    plan,
    find,
};

/// Confidences in per cent.
const CONFIDENCES: [u32; 5] = [95, 75, 50, 25, 5];
/// Loss probabilities in per cent, in each direction.
const LOSSES: [u32; 3] = [0, 5, 10];
/// Indices of Verizon's LTE directions among the thesis' links; and T-Mobile's uplink.
const VERIZON: [(&str, usize); 2] = [("down", 0), ("up", 1)];
const UMTS_UP: usize = 7;
/// The end-to-end schemes beside Sprout, in place of the students' schemes.
const OTHERS: [&str; 17] = [
    "sprout-ewma",
    "cubic",
    "newreno",
    "vegas",
    "compound",
    "ledbat",
    "bbr",
    "bbr3",
    "copa",
    "vivace",
    "verus",
    "c2tcp[variant=ifip2018]",
    "verus[r=2]",
    "copa[delta=0.1]",
    "c2tcp[variant=ifip2018,target=80ms]",
    "vegas[alpha=4,beta=8]",
    "vivace[utility=loss]",
];

fn confidence(percent: u32) -> String {
    format!("sprout[confidence={}]", f64::from(percent) / 100.0)
}

fn lossy(way: &str, percent: u32) -> String {
    format!("{percent} % of loss each way, {way}link")
}

fn lose(scenario: &mut Scenario, percent: u32) {
    if percent > 0 {
        let flow = &mut scenario.flows[0];
        flow.data.impairments.loss = Loss::Bernoulli(f64::from(percent) / 100.0);
        flow.acks.impairments.loss = Loss::Bernoulli(f64::from(percent) / 100.0);
    }
}

/// TCPs under loss, and the largest loss in per cent.
const TCPS: [&str; 2] = ["cubic", "newreno"];
const MOST_LOSS: u32 = 10;

fn lossy_tcp(text: &str, way: &str, percent: u32) -> String {
    format!("{text}: {}", lossy(way, percent))
}

/// Returns the name of the task of a scheme beside Sprout.
fn beside(text: &str) -> String {
    format!("{text} for the frontier")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let all = setting.sprout_traces()?;
    let run = |text: &str, at: usize| emulation(("", text), &all[at], &all[at ^ 1], setting);
    let mut tasks = Vec::new();
    for percent in CONFIDENCES {
        let text = confidence(percent);
        tasks.push(Task::with_self_inflicted(text.clone(), run(&text, UMTS_UP)?));
    }
    tasks.push(Task::with_self_inflicted("sprout-ewma", run("sprout-ewma", UMTS_UP)?));
    for (way, at) in VERIZON {
        for percent in LOSSES {
            let mut scenario = run("sprout", at)?;
            lose(&mut scenario, percent);
            tasks.push(Task::with_self_inflicted(lossy(way, percent), scenario));
        }
        for text in TCPS {
            for percent in [0, MOST_LOSS] {
                let mut scenario = run(text, at)?;
                lose(&mut scenario, percent);
                tasks.push(Task::scenario(lossy_tcp(text, way, percent), scenario));
            }
        }
    }
    for text in OTHERS.into_iter().chain(["sprout"]) {
        tasks.push(Task::with_self_inflicted(beside(text), run(text, 0)?));
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let traces = setting.sprout_traces()?;
    let mut findings = Findings {
        traces: [0, 1, UMTS_UP].map(|at| traces[at].name.clone()).to_vec(),
        ..Findings::default()
    };
    confidences(results, &mut findings);
    for (way, _) in VERIZON {
        for percent in LOSSES {
            let record = |percent| results.get(&lossy(way, percent));
            let (own, without) = (record(percent), record(0));
            let name = format!("loss.{way}.{percent}");
            findings.measure(format!("{name}.goodput"), own.number("all.goodput"));
            let kept = own.number("all.goodput") / without.number("all.goodput");
            findings.measure(format!("{name}.kept"), kept);
            findings.measure(format!("{name}.delay"), own.number("all.self_inflicted"));
        }
    }
    for (way, _) in VERIZON {
        let goodput =
            |text, percent| results.get(&lossy_tcp(text, way, percent)).number("all.goodput");
        for text in TCPS {
            let kept = goodput(text, MOST_LOSS) / goodput(text, 0);
            findings.measure(format!("tcp.{text}.{way}.kept"), kept);
        }
        let own = findings.get(&format!("loss.{way}.{MOST_LOSS}.goodput"));
        findings.measure(format!("tcp.sprout/cubic.{way}"), own / goodput("cubic", MOST_LOSS));
    }
    frontier(results, &mut findings);
    model(&mut findings);
    Ok(findings)
}

fn confidences(results: &Results, findings: &mut Findings) {
    let figures = |task: &str| {
        let record = results.get(task);
        (record.number("link.link.throughput"), record.number("all.self_inflicted"))
    };
    let ewma = figures("sprout-ewma");
    let capacity = results.get("sprout-ewma").number("link.link.capacity");
    findings.measure("confidence.capacity", capacity);
    let mut rows = vec![];
    let mut counts = [("beats", 0), ("faster", 0), ("shorter", 0)];
    for percent in CONFIDENCES {
        let own = figures(&confidence(percent));
        findings.measure(format!("confidence.{percent}.throughput"), own.0);
        findings.measure(format!("confidence.{percent}.delay"), own.1);
        let (faster, shorter) = (own.0 > ewma.0, own.1 < ewma.1);
        for (count, holds) in counts.iter_mut().zip([faster && shorter, faster, shorter]) {
            count.1 += u32::from(holds);
        }
        rows.push(vec![format!("{percent} %"), format!("{:.3}", own.0), format!("{:.0}", own.1)]);
    }
    for (name, count) in counts {
        // Count only if everything was measured.
        let known = ewma.0.is_finite() && ewma.1.is_finite();
        findings
            .measure(format!("confidence.{name}"), if known { f64::from(count) } else { f64::NAN });
    }
    rows.push(vec!["Sprout-EWMA".into(), format!("{:.3}", ewma.0), format!("{:.0}", ewma.1)]);
    findings.measure("confidence.ewma.throughput", ewma.0);
    findings.measure("confidence.ewma.delay", ewma.1);
    findings.sweep(
        "Sprout by confidence",
        "T-Mobile's UMTS uplink, RTT 40 ms.",
        &["confidence", "Mbit/s", "self-inflicted delay, ms"],
        rows,
    );
}

fn frontier(results: &Results, findings: &mut Findings) {
    let figures = |text: &str| {
        let record = results.get(&beside(text));
        (record.number("link.link.throughput"), record.number("all.end_to_end"))
    };
    let own = figures("sprout");
    let others: Vec<(f64, f64)> = OTHERS.iter().map(|text| figures(text)).collect();
    findings.measure("frontier.distance", distance(own, others.iter().copied()));
    findings.measure("frontier.better", better(own, others.iter().copied()));
    let power = |point: &(f64, f64)| point.0 / point.1;
    let best = most(others.iter().map(power));
    findings.measure("frontier.power", best / power(&own));
    let row = |text: &str, point: (f64, f64)| {
        vec![
            format!("`{text}`"),
            format!("{:.2}", point.0),
            format!("{:.0}", point.1),
            format!("{:.2}", power(&point) / power(&own)),
        ]
    };
    let mut rows = vec![row("sprout", own)];
    rows.extend(OTHERS.iter().zip(others).map(|(text, point)| row(text, point)));
    findings.sweep(
        "Sprout among other schemes",
        "Verizon's LTE downlink, RTT 40 ms, unlimited queue; power is throughput over delay.",
        &["scheme", "Mbit/s", "95 % end-to-end delay, ms", "power over Sprout's"],
        rows,
    );
}

/// Measures the model's constants with its parts.
fn model(findings: &mut Findings) {
    let params = SproutParams::default();
    let mut inference = Inference::new(&params, Arc::new(params.tables()));
    // After many ticks of ten packets each, the inference is certain of 500 packets per second.
    for _ in 0..5000 {
        inference.observe(10.0);
    }
    let spread = |belief: &Belief| {
        let width = 1000.0 / (BINS - 1) as f64;
        let middle = |bin: usize| (bin as f64 + 0.5) * width;
        let mean: f64 = belief.p().iter().enumerate().map(|(bin, p)| p * middle(bin)).sum();
        let square = |(bin, p): (usize, &f64)| p * (middle(bin) - mean).powi(2);
        belief.p().iter().enumerate().map(square).sum::<f64>()
    };
    let before = spread(inference.belief());
    inference.evolve();
    // Variances add up from tick to tick.
    let second = (spread(inference.belief()) - before) / TICK.as_secs_f64();
    findings.measure("model.sigma", second.sqrt());
    findings.measure("model.rates", (BINS - 1) as f64);
    findings.measure("model.tick", TICK.as_millis_f64());
    findings.measure("model.ticks", inference.forecast().len() as f64);
    findings.measure("model.confidence", params.confidence);
    findings.measure("model.lookahead", f64::from(params.lookahead) * TICK.as_millis_f64());
}

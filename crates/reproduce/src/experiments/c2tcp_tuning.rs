//! C2TCP's parameters and its resilience to loss, on AT&T's LTE downlink (its paper's §IV-D, -E).

use paceline_cc::Span;
use paceline_path::{BufferSize, Loss};
use paceline_report::{Cell, Dot, Marker, Palette, Scatter, Shape, Table};
use paceline_sim::compare::Comparison;
use paceline_sim::scenario::Capacity;

use super::Experiment;
use super::common::scheme;
use crate::findings::Findings;
use crate::run::Results;
use crate::setting::{Cellular, Setting};
use crate::task::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "c2tcp-tuning",
    title: "C2TCP: Target, Interval and loss",
    about: "AT&T's LTE downlink, round-trip propagation delay 40 ms, an unlimited queue. Target \
            and Interval are swept one by one; Bernoulli loss is swept for each scheme and the \
            throughput taken relative to the one without loss.",
    plan,
    find,
};

const TARGETS: [u32; 6] = [50, 60, 70, 80, 90, 100];
const INTERVALS: [u32; 6] = [75, 100, 125, 150, 175, 200];
const LOSSES: [f64; 5] = [0.0, 0.001, 0.003, 0.01, 0.02];
const SCHEMES: [&str; 6] = ["c2tcp", "bbr", "vegas", "cubic", "sprout", "verus"];

fn link(setting: &Setting) -> Result<Cellular, String> {
    let all = setting.c2tcp_traces()?;
    all.into_iter().nth(4).ok_or_else(|| "the trace of AT&T's downlink is missing".into())
}

fn task(
    name: String,
    text: &str,
    cellular: &Cellular,
    loss: f64,
    length: Span,
) -> Result<Task, String> {
    let capacity = Capacity::trace(cellular.trace.clone());
    let comparison = Comparison {
        rtt: Span::from_millis(40),
        buffer: BufferSize::Unlimited,
        duration: length,
        ..Comparison::new(&cellular.name, capacity, scheme(text)?)
    };
    let mut scenario = comparison.scenario();
    if loss > 0.0 {
        scenario.flows[0].data.impairments.loss = Loss::Bernoulli(loss);
    }
    Ok(Task::scenario(name, scenario))
}

fn lossy(scheme: &str, loss: f64) -> String {
    format!("{scheme} at {} % loss", 100.0 * loss)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let cellular = link(setting)?;
    let length = setting.length(120, 40);
    let mut tasks = Vec::new();
    for (parameter, values) in [("target", TARGETS), ("interval", INTERVALS)] {
        for value in values {
            let text = format!("c2tcp[{parameter}={value}ms]");
            tasks.push(task(text.clone(), &text, &cellular, 0.0, length)?);
        }
    }
    tasks.push(task("codel".into(), "cubic+codel", &cellular, 0.0, length)?);
    for scheme in SCHEMES {
        for loss in LOSSES {
            tasks.push(task(lossy(scheme, loss), scheme, &cellular, loss, length)?);
        }
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings { traces: vec![link(setting)?.name], ..Findings::default() };
    let palette = Palette::new(["c2tcp", "cubic"]);
    let codel = results.get("codel");
    let throughput = "link.link.throughput";
    let delay = "link.link.delay.mean";
    findings.measure("codel.throughput", codel.number(throughput));
    findings.measure("codel.mean", codel.number(delay));
    let dot = |label: String, record: &crate::Record, scheme: &str| Dot {
        x: record.number(delay),
        y: record.number(throughput),
        tooltip: label.clone(),
        label,
        paint: palette.paint(scheme),
        marker: Marker { shape: Shape::Circle, filled: true, radius: 5.0 },
        counts: true,
        tie: None,
    };
    for (parameter, values) in [("target", TARGETS), ("interval", INTERVALS)] {
        let mut dots = vec![dot("cubic+codel".into(), codel, "cubic")];
        for value in values {
            let record = results.get(&format!("c2tcp[{parameter}={value}ms]"));
            findings.measure(format!("{parameter}.{value}.throughput"), record.number(throughput));
            findings.measure(format!("{parameter}.{value}.mean"), record.number(delay));
            dots.push(dot(format!("{value} ms"), record, "c2tcp"));
        }
        let scatter = Scatter {
            label: format!("C2TCP's {parameter}"),
            x_title: "Mean queueing delay (ms)".into(),
            y_title: "Throughput (Mbit/s)".into(),
            log: Some(false),
            dots,
            ..Scatter::default()
        };
        findings.figure(
            parameter,
            scatter.figure(),
            &format!("C2TCP's throughput and delay by its {parameter}; Cubic over CoDel beside."),
        );
    }
    // Is there a setting that beats CoDel on both?
    let beats = TARGETS.iter().filter(|value| {
        findings.get(&format!("target.{value}.throughput")) >= codel.number(throughput)
            && findings.get(&format!("target.{value}.mean")) <= codel.number(delay)
    });
    let beats = beats.count() as f64;
    findings.measure("target.beats_codel", beats);

    let mut rows = Vec::new();
    for scheme in SCHEMES {
        let clean = results.get(&lossy(scheme, 0.0)).number("all.goodput");
        let mut row = vec![Cell::text(scheme)];
        for loss in LOSSES {
            let kept = results.get(&lossy(scheme, loss)).number("all.goodput") / clean;
            findings.measure(format!("{scheme}.kept.{}", 100.0 * loss), kept);
            row.push(Cell::number(kept, 2));
        }
        rows.push(row);
    }
    let heads = std::iter::once("scheme".to_string())
        .chain(LOSSES.iter().map(|loss| format!("{} %", 100.0 * loss)));
    let columns = heads.map(|head| (head, String::new())).collect();
    findings.table(
        "loss",
        Table { columns, rows },
        "Goodput under random loss, relative to the one without (Fig. 8).",
    );
    Ok(findings)
}

//! C2TCP's parameters and its resilience to loss, on AT&T's LTE downlink (its paper's §IV-D, -E).

use paceline_cc::Span;
use paceline_path::Loss;
use paceline_report::{Cell, Dot, Marker, Palette, Scatter, Shape, Table};

use super::Experiment;
use super::common::{BBR, C2TCP, CODEL_30, c2tcp_emulation, least, most};
use crate::findings::Findings;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "c2tcp-tuning",
    title: "C2TCP: Target, Interval and loss",
    about: "AT&T's LTE downlink, round-trip propagation delay 40 ms, an unlimited queue, \
            acknowledgements over the uplink, the recording once from its beginning to its end. Target \
            and Interval are swept one by one; Bernoulli loss is swept for each scheme and the \
            throughput taken relative to the one without loss.",
    plan,
    find,
};

const TARGETS: [u32; 6] = [50, 60, 70, 80, 90, 100];
const INTERVALS: [u32; 6] = [75, 100, 125, 150, 175, 200];
/// Length of runs in a quick reproduction.
const QUICK_LENGTH: Span = Span::from_secs(40);
const LOSSES: [f64; 7] = [0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1];
const SCHEMES: [(&str, &str); 6] = [
    ("c2tcp", C2TCP),
    ("bbr", BBR),
    ("vegas", "vegas"),
    ("cubic", "cubic"),
    ("sprout", "sprout"),
    ("verus", "verus"),
];

/// Losses at which checks read a scheme, beside the run without loss.
const READ: [(&str, &[f64]); 6] = [
    ("c2tcp", &[0.003, 0.01]),
    ("bbr", &[0.003, 0.02]),
    ("vegas", &[0.003]),
    ("cubic", &[0.003, 0.01]),
    ("sprout", &[0.02]),
    ("verus", &[0.02]),
];

fn is_read(scheme: &str, loss: f64) -> bool {
    loss == 0.0 || READ.iter().any(|(short, losses)| *short == scheme && losses.contains(&loss))
}

/// Returns the losses of a scheme's runs: with those that only show causes, all.
fn losses(setting: &Setting, scheme: &str) -> impl Iterator<Item = f64> {
    LOSSES.into_iter().filter(move |loss| setting.causes || is_read(scheme, *loss))
}

/// C2TCP without the kernel's second in which RTTs are ignored, with acknowledgements over the
/// uplink, and with acknowledgements that meet no queue. Names of measures, and whether
/// acknowledgements meet a queue.
const UNSETTLED: [(&str, bool); 2] = [("c2tcp.unsettled", true), ("c2tcp.unsettled.free", false)];

/// Returns the rows of [`UNSETTLED`], which only show a cause.
fn unsettled(setting: &Setting) -> &'static [(&'static str, bool)] {
    if setting.causes { &UNSETTLED } else { &[] }
}

/// Returns AT&T's downlink and uplink.
fn links(setting: &Setting) -> Result<[Cellular; 2], String> {
    let mut all = setting.c2tcp_traces()?.into_iter().skip(4);
    match (all.next(), all.next()) {
        (Some(down), Some(up)) => Ok([down, up]),
        _ => Err("the traces of AT&T's LTE are missing".into()),
    }
}

fn tuned(parameter: &str, value: u32) -> String {
    C2TCP.replace(']', &format!(",{parameter}={value}ms]"))
}

fn task(
    name: String,
    text: &str,
    [down, up]: &[Cellular; 2],
    loss: f64,
    length: Span,
) -> Result<Task, String> {
    let mut scenario = c2tcp_emulation(text, down, up, length)?.scenario();
    if loss > 0.0 {
        scenario.flows[0].data.impairments.loss = Loss::Bernoulli(loss);
    }
    Ok(Task::scenario(name, scenario))
}

fn lossy(scheme: &str, loss: f64) -> String {
    format!("{scheme} at {} % loss", 100.0 * loss)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let both = links(setting)?;
    let length = if setting.quick { QUICK_LENGTH } else { both[0].trace.period() };
    let mut tasks = Vec::new();
    for (parameter, values) in [("target", TARGETS), ("interval", INTERVALS)] {
        for value in values {
            let text = tuned(parameter, value);
            tasks.push(task(text.clone(), &text, &both, 0.0, length)?);
        }
    }
    tasks.push(task("codel".into(), CODEL_30, &both, 0.0, length)?);
    for (short, scheme) in SCHEMES {
        for loss in losses(setting, short) {
            let task = task(lossy(short, loss), scheme, &both, loss, length)?;
            tasks.push(if is_read(short, loss) { task } else { task.once() });
        }
    }
    for (name, queued) in unsettled(setting) {
        for loss in [0.0, 0.003] {
            let mut scenario =
                c2tcp_emulation("c2tcp[variant=ifip2018,settle=0s]", &both[0], &both[1], length)?;
            if !*queued {
                scenario.reverse = None;
            }
            let mut scenario = scenario.scenario();
            if loss > 0.0 {
                scenario.flows[0].data.impairments.loss = Loss::Bernoulli(loss);
            }
            tasks.push(Task::scenario(lossy(name, loss), scenario).once());
        }
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings =
        Findings { traces: links(setting)?.map(|link| link.name).to_vec(), ..Findings::default() };
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
            let record = results.get(&tuned(parameter, value));
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
    // Counts the targets that beat CoDel in one figure, and in the other.
    let count = |better: &dyn Fn(u32) -> bool| {
        TARGETS.iter().filter(|&&target| better(target)).count() as f64
    };
    let below =
        count(&|target| findings.get(&format!("target.{target}.mean")) < codel.number(delay));
    let above = count(&|target| {
        findings.get(&format!("target.{target}.throughput")) > codel.number(throughput)
    });
    findings.measure("target.below_codel", below);
    findings.measure("target.above_codel", above);
    let both = count(&|target| {
        findings.get(&format!("target.{target}.mean")) <= codel.number(delay)
            && findings.get(&format!("target.{target}.throughput")) >= codel.number(throughput)
    });
    findings.measure("target.beats_codel", both);
    let each = |part: &str| TARGETS.map(|target| findings.get(&format!("target.{target}.{part}")));
    let lowest = least(each("mean"));
    let fastest = most(each("throughput"));
    findings.measure("target.lowest/codel", lowest / codel.number(delay));
    findings.measure("target.fastest/codel", fastest / codel.number(throughput));
    for (name, _) in unsettled(setting) {
        let goodput = |loss| results.get(&lossy(name, loss)).number("all.goodput");
        findings.measure(format!("{name}.kept.0.3"), goodput(0.003) / goodput(0.0));
    }

    let mut rows = Vec::new();
    for (scheme, _) in SCHEMES {
        let clean = results.get(&lossy(scheme, 0.0)).number("all.goodput");
        let mut row = vec![Cell::text(scheme)];
        for loss in losses(setting, scheme) {
            let record = results.get(&lossy(scheme, loss));
            let kept = record.number("all.goodput") / clean;
            let late = record.number("link.link.delay.mean");
            findings.measure(format!("{scheme}.delay.{}", 100.0 * loss), late);
            findings.measure(format!("{scheme}.kept.{}", 100.0 * loss), kept);
            row.push(Cell::number(kept, 2));
        }
        rows.push(row);
    }
    if !setting.causes {
        return Ok(findings);
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

//! C2TCP beside other flows (its paper's §IV-C), and its condition (§III-A).

use paceline_cc::Setup;
use paceline_cc::{Feedback, Rate, SchemeSpec, Span, Time};
use paceline_path::BufferSize;
use paceline_report::{Chart, Fold, Palette, Panel, Series, Shade};
use paceline_sim::metrics::jain;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record as Recording, Scenario};

use super::Experiment;
use super::common::{BBR, C2TCP, mean, scheme};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "c2tcp-sharing",
    title: "C2TCP beside other flows",
    about: "A flow that has the link to itself, and 30 s later a second one: 24 Mbit/s, \
            round-trip propagation delay 40 ms, a buffer of the bandwidth-delay product. Shares \
            are taken from 35 s on.",
    plan,
    find,
};

/// The first flow and the second.
const PAIRS: [(&str, &str); 8] = [
    ("cubic", "bbr"),
    ("cubic", "verus"),
    ("cubic", "vegas"),
    ("cubic", "c2tcp"),
    ("newreno", "c2tcp"),
    ("newreno", "cubic"),
    ("c2tcp", "c2tcp"),
    ("c2tcp", "cubic"),
];

/// Returns the scheme for a short name.
fn text(short: &str) -> &str {
    match short {
        "c2tcp" => C2TCP,
        "bbr" => BBR,
        other => other,
    }
}

fn name(first: &str, second: &str) -> String {
    format!("{first} then {second}")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for (first, second) in PAIRS {
        let mut scenario = Scenario::new(&name(first, second));
        scenario.duration = setting.length(120, 70);
        scenario.warmup = Span::from_secs(35);
        scenario.record = Recording::Series(Span::from_secs(1));
        let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(24.0)));
        link.buffer = BufferSize::Bdp(1.0);
        scenario.links.push(link);
        for (which, short, start) in [("first", first, 0), ("second", second, 30)] {
            let mut flow = FlowSpec::bulk(scheme(text(short))?, &["link"]);
            flow.name = which.into();
            flow.rtt = Span::from_millis(40);
            flow.start = Span::from_secs(start);
            scenario.flows.push(flow);
        }
        tasks.push(Task::scenario(name(first, second), scenario));
    }
    for (name, text) in CONDITIONS {
        tasks.push(Task::other(name, text, 0.1, move || condition(text)));
    }
    Ok(tasks)
}

/// Names of the tasks, and their schemes: the paper's condition alone, and with the settling time
/// of C2TCP's kernel, which the other claims use.
const CONDITIONS: [(&str, &str); 2] =
    [("condition", "c2tcp[variant=ifip2018,settle=0s]"), ("condition, kernel", C2TCP)];

/// Plays two histories of a second, one below Target and one above it, each followed by 90 ms above
/// it. Counts the back-offs in these 90 ms.
fn condition(text: &str) -> Result<Record, String> {
    let mut record = Record::default();
    for (history, before) in [("good", 40), ("bad", 140)] {
        let spec = SchemeSpec::parse(text).map_err(|error| error.to_string())?;
        let halves =
            paceline_schemes::registry::build(&spec.sender).map_err(|error| error.to_string())?;
        let mut sender = (halves.controller)(&Setup::default());
        let mut rtts = vec![before; 200];
        rtts.extend([140; 18]);
        let mut counts = Vec::new();
        for (at, rtt) in (0u64..).zip(rtts) {
            let cwnd = sender.plan().cwnd;
            let now = Time::from_millis(1000 + 5 * at);
            sender.on_feedback(&feedback(now, Span::from_millis(rtt), cwnd));
            sender.inspect(&mut |name, value| {
                if name == "backoffs" {
                    counts.push(value);
                }
            });
        }
        let cuts = counts.last().unwrap_or(&f64::NAN) - counts.get(199).unwrap_or(&f64::NAN);
        record.set(format!("{history}.cuts"), cuts);
    }
    Ok(record)
}

fn feedback(now: Time, rtt: Span, cwnd: u64) -> Feedback<'static> {
    let mut feedback = Feedback::new(now, 1500);
    (feedback.acked, feedback.acked_packets) = (15_000, 10);
    (feedback.prior_in_flight, feedback.in_flight) = (cwnd, cwnd);
    feedback.cwnd_limited = true;
    (feedback.rtt, feedback.srtt) = (Some(rtt), rtt);
    feedback.min_rtt = Span::from_millis(40);
    feedback
}

fn find(_: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let palette = Palette::new(["cubic", "newreno", "c2tcp", "bbr", "verus", "vegas"]);
    for (first, second) in PAIRS {
        let record = results.get(&name(first, second));
        let goodput = |flow: &str| record.number(&format!("flow.{flow}.goodput"));
        let shares = [goodput("first"), goodput("second")];
        let key = format!("{first}+{second}");
        findings.measure(format!("{key}.second"), shares[1] / (shares[0] + shares[1]));
        findings.measure(format!("{key}.jain"), jain(&shares));
        let late = record.series("flow.second.goodput");
        findings.measure(format!("{key}.second_mbps"), mean(late.into_iter().skip(35)));
        let line = |flow: &str, text: &str| Series {
            name: format!("{flow}: {text}"),
            quantity: "goodput".into(),
            unit: "Mbit/s".into(),
            bin_s: record.number("bin"),
            values: record.series(&format!("flow.{flow}.goodput")),
            paint: palette.paint(if first == second && flow == "second" { "cubic" } else { text }),
            shade: Shade::Line,
            fold: Fold::Mean,
            label: vec![text.to_string()],
        };
        let chart = Chart {
            label: format!("Shares of {first} and {second}"),
            panels: vec![Panel {
                title: "Mbit/s".into(),
                height: 120.0,
                log: false,
                series: vec![line("first", first), line("second", second)],
            }],
        };
        findings.figure(
            &key,
            chart.figure(),
            &format!("A {first} flow, joined by a {second} flow after 30 s."),
        );
    }
    for (task, key) in [("condition", "condition"), ("condition, kernel", "kernel")] {
        for history in ["good", "bad"] {
            let cuts = results.get(task).number(&format!("{history}.cuts"));
            findings.measure(format!("{key}.{history}"), cuts);
        }
    }
    Ok(findings)
}

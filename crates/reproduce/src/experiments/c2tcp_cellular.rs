//! C2TCP and others over cellular links with unlimited queues (its paper's §IV-A and -B).

use paceline_cc::Span;
use paceline_report::{
    Palette, RunView, bars_figure, scatter_figure, summary_table, time_series_figure,
};
use paceline_requests::compare::Comparison;
use paceline_sim::scenario::{Record, Scenario};

use super::common::{BBR, C2TCP, CODEL_30, c2tcp_emulation, mean, on, view};
use super::{Experiment, verus_starts};
use crate::findings::Findings;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "c2tcp-cellular",
    title: "C2TCP over cellular links",
    about: "One backlogged flow of each scheme over each trace of five networks, both directions: \
            round-trip propagation delay 40 ms, an unlimited queue, acknowledgements over the \
            other direction's link, for as long as the recording of the downlink lasts (Sprout: \
            the recording in use), as in the authors' scripts. TCP's hosts hold 2.2 MB of a \
            flow's data. Delay is the queueing delay.",
    plan,
    find,
};

const SCHEMES: [(&str, &str); 8] = [
    ("c2tcp", C2TCP),
    ("newreno", "newreno"),
    ("vegas", "vegas"),
    ("cubic", "cubic"),
    ("sprout", "sprout"),
    ("verus", "verus"),
    ("bbr", BBR),
    ("codel", CODEL_30),
];

/// Schemes in the time series of one minute.
const MINUTE: [(&str, &str); 2] = [("c2tcp", C2TCP), ("cubic", "cubic")];

/// Number of traces in a quick reproduction.
const QUICK: usize = 4;
const QUICK_LENGTH: Span = Span::from_secs(30);

/// Returns the name of the task for the time series of one minute.
fn minute(scheme: &str) -> String {
    format!("a minute of {scheme}")
}

/// Bytes of a TCP flow's data in the hosts' socket buffers: on the five recordings whose figures
/// the authors published, Cubic's mean delay times its rate is 2.0 to 2.2 MB. (Linux' default send
/// buffer of 4 MiB also counts the memory around the data.)
const SOCKET: u64 = 2_200_000;

/// Schemes that fill any queue; they also run without the hosts' limit.
const ENDLESS: [&str; 2] = ["cubic", "newreno"];
/// Verus' largest delay over its smallest: its authors' program has used 2 and 6, and its paper
/// tries these values. Last row: a socket's buffer ends bursts.
const VERUS_R: [(&str, &str); 4] = [
    ("2", "verus[r=2]"),
    ("4", "verus[r=4]"),
    ("6", "verus"),
    ("6, socket of 92 packets", "verus[socket=92]"),
];

/// Vegas' smallest and largest number of packets in queues: Linux' and the next larger ones.
const VEGAS_ALPHA: [(&str, &str); 3] = [
    ("2 and 4 (Linux)", "vegas"),
    ("3 and 6", "vegas[alpha=3,beta=6]"),
    ("4 and 8", "vegas[alpha=4,beta=8]"),
];

/// Returns the name of the task without the hosts' limit.
fn endless(short: &str, trace: &str) -> String {
    format!("{}, no limit of the hosts'", on(short, trace))
}

/// Returns a scenario with the socket buffers of the paper's hosts; Sprout and Verus are not TCP
/// and have none.
fn hosted(comparison: &Comparison, short: &str) -> Scenario {
    let mut scenario = comparison.scenario();
    if !["sprout", "verus"].contains(&short) {
        scenario.flows[0].receive_window = Some(SOCKET);
    }
    scenario
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let all = setting.c2tcp_traces()?;
    let mut tasks = Vec::new();
    for (at, cellular) in setting.some(all.clone(), QUICK).into_iter().enumerate() {
        // The recordings come in pairs, one of each direction.
        let acks = &all[at ^ 1];
        for (short, scheme) in SCHEMES {
            // The authors' scripts run Sprout until the recording ends, and other schemes for the
            // length of the downlink's recording.
            let timed = if short == "sprout" { &cellular } else { &all[at & !1] };
            let length = if setting.quick { QUICK_LENGTH } else { timed.trace.period() };
            let comparison = c2tcp_emulation(scheme, &cellular, acks, length)?;
            let scenario = hosted(&comparison, short);
            tasks.push(Task::scenario(on(short, &cellular.name), scenario));
            if ENDLESS.contains(&short) {
                let name = endless(short, &cellular.name);
                // Only bounds stated before the first run read it. Queues without a limit hold
                // minutes of data, which takes as long to simulate as all other tasks together.
                tasks.push(Task::scenario(name, comparison.scenario()).once());
            }
        }
        if !setting.causes {
            continue;
        }
        for (_, text) in VERUS_R.iter().filter(|(_, text)| *text != "verus") {
            let length = if setting.quick { QUICK_LENGTH } else { all[at & !1].trace.period() };
            let scenario = c2tcp_emulation(text, &cellular, acks, length)?.scenario();
            tasks.push(Task::scenario(on(text, &cellular.name), scenario).once());
        }
        for (_, text) in VEGAS_ALPHA.iter().filter(|(_, text)| *text != "vegas") {
            let length = if setting.quick { QUICK_LENGTH } else { all[at & !1].trace.period() };
            let comparison = c2tcp_emulation(text, &cellular, acks, length)?;
            let name = on(text, &cellular.name);
            tasks.push(Task::scenario(name, hosted(&comparison, "vegas")).once());
        }
    }
    if setting.causes {
        tasks.extend(verus_starts::plan(setting)?.into_iter().map(Task::once));
    }
    for (short, scheme) in MINUTE {
        let (down, up) = (setting.verizon_down()?, setting.verizon_up()?);
        let length = Span::from_secs(60);
        let mut scenario = hosted(&c2tcp_emulation(scheme, &down, &up, length)?, short);
        scenario.record = Record::Series(Span::from_millis(200));
        tasks.push(Task::scenario(minute(short), scenario));
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let traces = setting.some(setting.c2tcp_traces()?, QUICK);
    let mut findings = Findings {
        traces: traces.iter().map(|cellular| cellular.name.clone()).collect(),
        ..Findings::default()
    };
    let mut views: Vec<RunView> = Vec::new();
    for cellular in &traces {
        for (short, _) in SCHEMES {
            let record = results.get(&on(short, &cellular.name));
            views.push(view(short, &cellular.name, "link", record));
        }
    }
    let of = |scheme: &str| -> Vec<&RunView> {
        views.iter().filter(|view| view.scheme == scheme).collect()
    };
    for (short, _) in SCHEMES {
        let own = of(short);
        let mut add = |part: &str, figure: fn(&RunView) -> f64| {
            findings.measure(format!("{short}.{part}"), mean(own.iter().map(|view| figure(view))));
        };
        add("throughput", |view| view.throughput_mbps);
        add("mean", |view| view.queue_delay_ms.mean);
        add("p95", |view| view.queue_delay_ms.p95);
    }
    for (short, _) in SCHEMES {
        for part in ["throughput", "mean", "p95"] {
            let ratio =
                findings.get(&format!("{short}.{part}")) / findings.get(&format!("c2tcp.{part}"));
            findings.measure(format!("{short}/c2tcp.{part}"), ratio);
        }
    }
    for short in ENDLESS {
        for (part, figure) in [
            ("throughput", "link.link.throughput"),
            ("mean", "link.link.delay.mean"),
            ("p95", "link.link.delay.p95"),
        ] {
            let of =
                |cellular: &Cellular| results.get(&endless(short, &cellular.name)).number(figure);
            let value = mean(traces.iter().map(of));
            findings.measure(format!("endless.{short}.{part}"), value);
            let ratio = value / findings.get(&format!("c2tcp.{part}"));
            findings.measure(format!("endless.{short}/c2tcp.{part}"), ratio);
        }
    }
    if setting.causes {
        verus_by_r(&traces, results, &mut findings);
        verus_starts::find(results, &mut findings);
        vegas_by_alpha(&traces, results, &mut findings);
    }
    per_network(&traces, &views, &mut findings);

    let palette = Palette::new(SCHEMES.iter().map(|(short, _)| *short));
    let minutes: Vec<RunView> = ["c2tcp", "cubic"]
        .iter()
        .map(|scheme| view(scheme, "a minute", "link", results.get(&minute(scheme))))
        .collect();
    findings.measure("minute.cubic.max", minutes[1].queue_delay_ms.max);
    findings.measure("minute.cubic.p95", minutes[1].queue_delay_ms.p95);
    findings.measure("minute.c2tcp.p95", minutes[0].queue_delay_ms.p95);
    findings.figure(
        "minute",
        time_series_figure(&minutes, &palette),
        "A minute of Verizon's LTE downlink (Fig. 2 of the paper).",
    );
    findings.figure(
        "tradeoff",
        scatter_figure(&views, &palette),
        "Utilisation over the 95th percentile of the queueing delay.",
    );
    findings.figure(
        "bars",
        bars_figure(&views, &palette),
        "Utilisation and 95th-percentile queueing delay on each trace (Fig. 4).",
    );
    findings.table("summary", summary_table(&views, &palette), "All runs.");
    Ok(findings)
}

/// Evaluates Verus by its r, and finds the recording on which its mean delay depends most.
fn verus_by_r(traces: &[Cellular], results: &Results, findings: &mut Findings) {
    let mut rows = Vec::new();
    for (r, text) in VERUS_R {
        let each: Vec<(&str, [f64; 3])> = traces
            .iter()
            .map(|cellular| {
                let record = results.get(&on(text, &cellular.name));
                let figures = ["throughput", "delay.mean", "delay.p95"];
                let figures = figures.map(|figure| record.number(&format!("link.link.{figure}")));
                (cellular.name.as_str(), figures)
            })
            .collect();
        let over = |at: usize| mean(each.iter().map(|(_, figures)| figures[at]));
        let largest = each.iter().max_by(|a, b| a.1[1].total_cmp(&b.1[1]));
        let mut row = vec![r.to_string()];
        row.push(format!("{:.2}", over(0)));
        row.extend([1, 2].map(|at| format!("{:.0}", over(at))));
        row.push(largest.map_or_else(String::new, |(name, figures)| {
            format!("{name}: {:.0} and {:.0} ms", figures[1], figures[2])
        }));
        for (part, at) in [("throughput", 0), ("mean", 1), ("p95", 2)] {
            let r = if text.contains("socket") { "socket" } else { r };
            findings.measure(format!("verus.r.{r}.{part}"), over(at));
        }
        rows.push(row);
    }
    let columns = ["r", "Mbit/s", "mean, ms", "p95, ms", "the largest mean"];
    findings.sweep(
        "Verus by r, RTT 40 ms",
        "Verus over the ten recordings by the largest delay over the smallest that it aims at. \
         The paper has 5.41 Mbit/s, 561 and 3481 ms, and does not tell r; the program has been \
         published with 2 and with 6. In the last row a burst ends where the socket is full.",
        &columns,
        rows,
    );
}

/// Evaluates Vegas by the number of packets that it keeps in queues.
fn vegas_by_alpha(traces: &[Cellular], results: &Results, findings: &mut Findings) {
    let row = |(packets, text): (&str, &str)| {
        let over = |figure: &str| {
            let of = |cellular: &Cellular| results.get(&on(text, &cellular.name)).number(figure);
            mean(traces.iter().map(of))
        };
        let rate = over("link.link.throughput");
        let [middle, late] = ["mean", "p95"].map(|part| over(&format!("link.link.delay.{part}")));
        vec![packets.into(), format!("{rate:.2}"), format!("{middle:.0}"), format!("{late:.0}")]
    };
    findings.sweep(
        "Vegas by alpha and beta, RTT 40 ms",
        "Vegas over the ten recordings by the packets that it keeps in queues. The paper has 3.26 Mbit/s, \
         60 and 199 ms; its kernel has 2 and 4.",
        &["alpha and beta", "Mbit/s", "mean, ms", "p95, ms"],
        VEGAS_ALPHA.into_iter().map(row).collect(),
    );
}

/// Checks on each network whether C2TCP's delay is low, and whether Cubic and NewReno are fastest.
fn per_network(traces: &[Cellular], views: &[RunView], findings: &mut Findings) {
    let (mut low, mut fast) = (0, 0);
    for (at, cellular) in traces.iter().enumerate() {
        let own: Vec<&RunView> = views.iter().filter(|view| view.trace == cellular.name).collect();
        let figure = |scheme: &str, of: fn(&RunView) -> f64| {
            own.iter().find(|view| view.scheme == scheme).map_or(f64::NAN, |view| of(view))
        };
        let delay = |scheme: &str| figure(scheme, |view| view.queue_delay_ms.mean);
        for scheme in ["c2tcp", "bbr"] {
            findings.measure(format!("link{}.{scheme}.mean", at + 1), delay(scheme));
        }
        let speed = |scheme: &str| figure(scheme, |view| view.throughput_mbps);
        // Low: below every scheme that fills the queue.
        let bloated = ["newreno", "cubic", "verus", "bbr"];
        low += usize::from(bloated.iter().all(|other| delay("c2tcp") < delay(other)));
        let others = ["c2tcp", "vegas", "sprout", "verus", "bbr"];
        let slower = |scheme: &str| others.iter().all(|other| speed(scheme) >= 0.98 * speed(other));
        fast += usize::from(slower("cubic") && slower("newreno"));
    }
    compromises(traces, views, findings);
    findings.measure("links", traces.len() as f64);
    findings.measure("c2tcp.low", low as f64 / traces.len() as f64);
    findings.measure("cubic.fast", fast as f64 / traces.len() as f64);
}

/// Returns the share of links on which a statement of §IV-A about Vegas, Sprout and Verus holds, for
/// each of them.
fn compromises(traces: &[Cellular], views: &[RunView], findings: &mut Findings) {
    let far = ["sprout", "bbr", "vegas", "c2tcp"];
    let mut counts = [("low", 0), ("compromise", 0), ("verus.better", 0), ("verus.far", 0)];
    // The same as the last one, for one of the four.
    let mut far_from = [0; 4];
    for cellular in traces {
        let figure = |scheme: &str, of: fn(&RunView) -> f64| {
            let is_own = |view: &&RunView| view.trace == cellular.name && view.scheme == scheme;
            views.iter().find(is_own).map_or(f64::NAN, of)
        };
        let speed = |scheme: &str| figure(scheme, |view| view.throughput_mbps);
        let delay = |scheme: &str| figure(scheme, |view| view.queue_delay_ms.mean);
        let late = |scheme: &str| figure(scheme, |view| view.queue_delay_ms.p95);
        let (careful, full) = (["vegas", "sprout"], ["cubic", "newreno"]);
        let each = |holds: &dyn Fn(&str, &str) -> bool| {
            careful.iter().all(|own| full.iter().all(|other| holds(own, other)))
        };
        let is_far = |other: &&str| delay("verus") >= 2.0 * delay(other);
        let holds = [
            each(&|own, other| delay(own) < delay(other) && delay(own) < delay("verus")),
            each(&|own, other| speed(own) <= 0.95 * speed(other)),
            full.iter().all(|other| delay("verus") < delay(other) && late("verus") < late(other)),
            far.iter().all(is_far),
        ];
        for (count, holds) in counts.iter_mut().zip(holds) {
            count.1 += u32::from(holds);
        }
        for (count, other) in far_from.iter_mut().zip(&far) {
            *count += u32::from(is_far(other));
        }
    }
    for (name, count) in counts {
        findings.measure(format!("links.{name}"), f64::from(count) / traces.len() as f64);
    }
    for (other, count) in far.iter().zip(far_from) {
        let share = f64::from(count) / traces.len() as f64;
        findings.measure(format!("links.verus.far.{other}"), share);
    }
}

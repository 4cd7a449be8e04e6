//! Sprout and others over the thesis' cellular links (chapter 2, Figs 2-1 to 2-4, 2-9 and 2-10).

use paceline_cc::{Rate, Span};
use paceline_flow::{Video, Workload};
use paceline_path::BufferSize;
use paceline_report::{Palette, RunView, scatter_figure, summary_table, time_series_figure};
use paceline_requests::compare::Comparison;
use paceline_sim::scenario::{Capacity, Record, Scenario};

use super::Experiment;
use super::common::{least, mean, most, on, scheme, view};
use crate::findings::Findings;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "sprout-cellular",
    title: "Sprout over cellular links",
    about: "One flow of each scheme over each direction of four networks: round-trip propagation \
            delay 40 ms, an unlimited queue, acknowledgements over the other direction's \
            recording, for as long as the recording lasts, the first minute left out. TCP's hosts \
            hold 2.2 MB of a flow's data. Delay is self-inflicted (thesis §2.4.1): the 95th \
            percentile of the age of the newest packet, less the omniscient protocol's.",
    plan,
    find,
};

/// Short names for measures, and the schemes. The video represents Skype, Hangouts and Facetime.
pub(super) const SCHEMES: [(&str, &str); 8] = [
    ("sprout", "sprout"),
    ("ewma", "sprout-ewma"),
    ("compound", "compound"),
    ("vegas", "vegas"),
    ("ledbat", "ledbat"),
    ("cubic", "cubic"),
    ("codel", "cubic+codel"),
    ("video", "gcc[variant=mmsys2016]"),
];
/// End-to-end schemes with which Sprout is compared.
const END_TO_END: [&str; 6] = ["ewma", "compound", "vegas", "ledbat", "cubic", "video"];
/// The TCPs that react to delay.
const TCPS: [&str; 3] = ["compound", "vegas", "ledbat"];
/// Bytes of a TCP flow's data that the hosts buffer, as in the C2TCP paper's figures. The thesis
/// does not state it.
const SOCKET: u64 = 2_200_000;
/// Other buffer sizes for Cubic and Compound; the thesis ran Compound on Windows 7.
const HOSTS: [(&str, u64); 4] =
    [("64 kB", 65_535), ("256 kB", 262_144), ("1 MB", 1_000_000), ("2.2 MB", SOCKET)];
const HOSTED: [&str; 2] = ["cubic", "compound"];
/// Length of a bin of the time series.
const BIN: Span = Span::from_millis(200);
/// In a quick reproduction: number of traces, length of a run in seconds, and seconds left out at
/// the beginning.
const QUICK: (usize, u64, u64) = (4, 60, 10);

/// Returns a video like Skype's: up to 5 Mbit/s (thesis, footnote 7).
fn video() -> Workload {
    Workload::Video(Video {
        max: Rate::from_mbps(5.0),
        // As stated before the first run: Video's defaults of that time.
        lag: Span::from_millis(200),
        fall_lag: Span::from_millis(200),
        noise: 0.2,
        key_every: 300,
        small_below: Rate::ZERO,
        requests: 0,
        key_gap: Span::ZERO,
        overshoot_window: Span::ZERO,
        ..Video::default()
    })
}

/// Returns the emulation of the thesis; `short` is the scheme's short name.
pub(super) fn emulation(
    (short, text): (&str, &str),
    cellular: &Cellular,
    acks: &Cellular,
    setting: &Setting,
) -> Result<Scenario, String> {
    let length = match setting.quick {
        true => Span::from_secs(QUICK.1),
        false => cellular.trace.period(),
    };
    let comparison = Comparison {
        reverse: Some(Capacity::trace(acks.trace.clone())),
        rtt: Span::from_millis(40),
        buffer: BufferSize::Unlimited,
        duration: length,
        warmup: setting.length(60, QUICK.2),
        ..Comparison::new(&cellular.name, Capacity::trace(cellular.trace.clone()), scheme(text)?)
    };
    let mut scenario = comparison.scenario();
    let flow = &mut scenario.flows[0];
    match short {
        "video" => flow.workload = video(),
        "compound" | "vegas" | "cubic" | "codel" => flow.receive_window = Some(SOCKET),
        _ => {}
    }
    Ok(scenario)
}

/// Returns the name of the task with this buffer size at the hosts.
fn hosted(short: &str, size: &str, trace: &str) -> String {
    match size {
        "2.2 MB" => on(short, trace),
        _ => format!("{}, hosts hold {size}", on(short, trace)),
    }
}

/// Returns the name of the task for the time series.
fn minute(short: &str) -> String {
    format!("over time: {short}")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let all = setting.sprout_traces()?;
    let mut tasks = Vec::new();
    for (at, cellular) in setting.some(all.clone(), QUICK.0).into_iter().enumerate() {
        // The recordings come in pairs, one for each direction.
        for (short, text) in SCHEMES {
            let scenario = emulation((short, text), &cellular, &all[at ^ 1], setting)?;
            if setting.causes && HOSTED.contains(&short) {
                for (size, bytes) in HOSTS.into_iter().filter(|(_, bytes)| *bytes != SOCKET) {
                    let mut scenario = scenario.clone();
                    scenario.flows[0].receive_window = Some(bytes);
                    let name = hosted(short, size, &cellular.name);
                    tasks.push(Task::with_self_inflicted(name, scenario).once());
                }
            }
            tasks.push(Task::with_self_inflicted(on(short, &cellular.name), scenario));
        }
    }
    for (short, text) in SCHEMES.into_iter().filter(|(short, _)| SHOWN.contains(short)) {
        let mut scenario = emulation((short, text), &all[0], &all[1], setting)?;
        scenario.warmup = Span::ZERO;
        scenario.record = Record::Series(BIN);
        tasks.push(Task::scenario(minute(short), scenario));
    }
    Ok(tasks)
}

/// Schemes in the time series.
const SHOWN: [&str; 2] = ["sprout", "video"];

/// Figures of one run: throughput in Mbit/s, utilisation, self-inflicted delay in ms.
#[derive(Copy, Clone)]
struct Point {
    throughput: f64,
    utilization: f64,
    delay: f64,
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let traces = setting.some(setting.sprout_traces()?, QUICK.0);
    let mut findings = Findings {
        traces: traces.iter().map(|cellular| cellular.name.clone()).collect(),
        ..Findings::default()
    };
    let point = |short: &str, cellular: &Cellular| {
        let record = results.get(&on(short, &cellular.name));
        Point {
            throughput: record.number("link.link.throughput"),
            utilization: record.number("link.link.utilization"),
            delay: record.number("all.self_inflicted"),
        }
    };
    let of = |short: &str| -> Vec<Point> {
        traces.iter().map(|cellular| point(short, cellular)).collect()
    };
    for (short, _) in SCHEMES {
        let own = of(short);
        findings.measure(format!("{short}.delay"), mean(own.iter().map(|p| p.delay)) / 1e3);
        findings.measure(format!("{short}.throughput"), mean(own.iter().map(|p| p.throughput)));
        findings.measure(format!("{short}.utilization"), mean(own.iter().map(|p| p.utilization)));
    }
    for (short, _) in SCHEMES {
        for (other, _) in SCHEMES.iter().filter(|(other, _)| *other != short) {
            for part in ["delay", "throughput", "utilization"] {
                let ratio = findings.get(&format!("{short}.{part}"))
                    / findings.get(&format!("{other}.{part}"));
                findings.measure(format!("{short}/{other}.{part}"), ratio);
            }
            let pairs = of(short).into_iter().zip(of(other));
            let speedup = mean(pairs.map(|(own, other)| own.throughput / other.throughput));
            findings.measure(format!("{short}/{other}.speedup"), speedup);
        }
    }
    compare(&of, &mut findings);
    table(&traces, &of, &mut findings);
    if setting.causes {
        hosts(&traces, results, &mut findings);
    }
    over_time(results, &mut findings);
    gaps(&traces[0], &mut findings);
    exhibits(&traces, results, &mut findings);
    Ok(findings)
}

/// Compares Sprout with the best and the worst of the other schemes (§2.4.2).
fn compare(of: &dyn Fn(&str) -> Vec<Point>, findings: &mut Findings) {
    let each: Vec<Vec<Point>> = END_TO_END.iter().map(|short| of(short)).collect();
    let own = of("sprout");
    let lowest = |at: usize| least(each.iter().map(|points| points[at].delay));
    let low = own.iter().enumerate().filter(|(at, own)| own.delay <= 1.5 * lowest(*at)).count();
    findings.measure("sprout.low", low as f64 / own.len() as f64);
    let of = |names: &[&str], part: &str| -> Vec<f64> {
        names.iter().map(|name| findings.get(&format!("{name}.{part}"))).collect()
    };
    let sprout = |part: &str| findings.get(&format!("sprout.{part}"));
    let slower = ["compound", "vegas", "ledbat", "video"];
    let others: Vec<&str> = SCHEMES.iter().map(|(short, _)| *short).collect();
    let others: Vec<&str> = others.into_iter().filter(|short| *short != "ewma").collect();
    let measures = [
        ("others/sprout.delay", least(of(&END_TO_END, "delay")) / sprout("delay")),
        ("sprout/slower.throughput", sprout("throughput") / most(of(&slower, "throughput"))),
        (
            "ewma/others.throughput",
            findings.get("ewma.throughput") / most(of(&others, "throughput")),
        ),
        (
            "video/tcps.throughput",
            findings.get("video.throughput") / least(of(&TCPS, "throughput")),
        ),
        ("video/tcps.delay", findings.get("video.delay") / most(of(&TCPS, "delay"))),
    ];
    for (name, value) in measures {
        findings.measure(name, value);
    }
}

/// Lists each scheme on each link, as Fig. 2-9 does.
fn table(traces: &[Cellular], of: &dyn Fn(&str) -> Vec<Point>, findings: &mut Findings) {
    let each: Vec<Vec<Point>> = SCHEMES.iter().map(|(short, _)| of(short)).collect();
    let rows = traces.iter().enumerate().map(|(at, cellular)| {
        let cell =
            |points: &Vec<Point>| format!("{:.2}, {:.0}", points[at].throughput, points[at].delay);
        let mut row = vec![cellular.name.clone()];
        row.extend(each.iter().map(cell));
        row
    });
    let rows = rows.collect();
    let mut columns = vec!["link"];
    columns.extend(SCHEMES.iter().map(|(short, _)| *short));
    findings.sweep(
        "Sprout's links",
        "Mbit/s and self-inflicted delay in ms of each scheme on each of the thesis' links. \
         `ewma` is Sprout-EWMA, `codel` Cubic over CoDel, `video` a video over `gcc`.",
        &columns,
        rows,
    );
}

/// Evaluates Cubic and Compound by the buffer size of their hosts.
fn hosts(traces: &[Cellular], results: &Results, findings: &mut Findings) {
    let mut rows = Vec::new();
    for (size, _) in HOSTS {
        let mut row = vec![size.to_string()];
        for short in HOSTED {
            let over = |figure: &dyn Fn(&Cellular) -> f64| mean(traces.iter().map(figure));
            let record = |cellular: &Cellular| results.get(&hosted(short, size, &cellular.name));
            let delay = over(&|cellular| record(cellular).number("all.self_inflicted")) / 1e3;
            let speedup = over(&|cellular| {
                let sprout = results.get(&on("sprout", &cellular.name));
                let [own, sprout] =
                    [record(cellular), sprout].map(|record| record.number("link.link.throughput"));
                sprout / own
            });
            let relative = delay / findings.get("sprout.delay");
            row.extend([speedup, relative].map(|value| format!("{value:.2}")));
        }
        rows.push(row);
    }
    findings.sweep(
        "TCP by what hosts hold",
        "Sprout's speed-up over Cubic and Compound, and their delay over Sprout's, by how much of a \
         flow's data the hosts hold. The thesis has 0.91 and 79 for Cubic, 1.3 and 4.8 for \
         Compound.",
        &["hosts hold", "over Cubic", "Cubic's delay", "over Compound", "Compound's delay"],
        rows,
    );
}

/// Evaluates Sprout and the video over time (Fig. 2-1).
fn over_time(results: &Results, findings: &mut Findings) {
    for short in SHOWN {
        let record = results.get(&minute(short));
        for part in ["p95", "max"] {
            let value = record.number(&format!("link.link.delay.{part}"));
            findings.measure(format!("minute.{short}.{part}"), value);
        }
        let delays = record.series("link.link.delay");
        for (name, limit) in [("stretch", 100.0), ("stretch500", 500.0)] {
            findings.measure(format!("minute.{short}.{name}"), stretch(&delays, limit));
        }
    }
    let palette = Palette::new(SHOWN);
    let views: Vec<RunView> = SHOWN
        .iter()
        .map(|short| view(short, "over time", "link", results.get(&minute(short))))
        .collect();
    findings.figure(
        "over time",
        time_series_figure(&views, &palette),
        "Sprout and a video over Verizon's LTE downlink (Fig. 2-1 of the thesis).",
    );
}

/// Returns the longest time in seconds without a bin at or below `limit`. Bins in which no packet
/// left the queue count as part of the time around them.
fn stretch(delays: &[f64], limit: f64) -> f64 {
    if delays.is_empty() {
        return f64::NAN;
    }
    let (mut longest, mut now, mut above) = (0, 0, 0);
    for delay in delays {
        now += 1;
        if *delay > limit {
            above = now;
        } else if *delay <= limit {
            longest = longest.max(above);
            (now, above) = (0, 0);
        }
    }
    longest.max(above) as f64 * BIN.as_secs_f64()
}

/// Evaluates the gaps between a recording's opportunities (Fig. 2-4).
fn gaps(cellular: &Cellular, findings: &mut Findings) {
    let times = cellular.trace.opportunities();
    let gaps: Vec<u32> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let below = gaps.iter().filter(|gap| **gap < 20).count();
    findings.measure("gaps", gaps.len() as f64);
    findings.measure("gaps.below", below as f64 / gaps.len() as f64);
    findings.measure("gaps.longest", gaps.iter().copied().max().unwrap_or(0) as f64 / 1e3);
}

fn exhibits(traces: &[Cellular], results: &Results, findings: &mut Findings) {
    let palette = Palette::new(SCHEMES.iter().map(|(short, _)| *short));
    let mut views: Vec<RunView> = Vec::new();
    for cellular in traces {
        for (short, _) in SCHEMES {
            let record = results.get(&on(short, &cellular.name));
            views.push(view(short, &cellular.name, "link", record));
        }
    }
    findings.figure(
        "tradeoff",
        scatter_figure(&views, &palette),
        "Utilisation over the 95th percentile of the queueing delay (Fig. 2-10 has the \
         self-inflicted delay).",
    );
    findings.table("summary", summary_table(&views, &palette), "All runs.");
}

#[cfg(test)]
mod tests {
    use super::stretch;

    #[test]
    fn a_stretch_lasts_from_its_first_bin_above_to_its_last() {
        let none = f64::NAN;
        assert_eq!(stretch(&[50.0, 50.0], 100.0), 0.0);
        assert!((stretch(&[50.0, 150.0, none, 150.0, 50.0, 150.0], 100.0) - 0.6).abs() < 1e-9);
        assert!(stretch(&[], 100.0).is_nan());
    }
}

//! Schemes at an 802.11n access point whose modulation changes (§7.3, Fig. 9, appendix D, Fig. 16
//! of the ABC paper).

use paceline_cc::Span;
use paceline_path::BufferSize;
use paceline_report::{Cell, Palette, Scatter, Table};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, McsSpec, Scenario};

use super::Experiment;
use super::common::{BBR, COPA, crowded, dot, least, mcs, mean, most, scheme};
use super::wifi_sweeps;
use crate::findings::Findings;
use crate::front::distance;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "wifi",
    title: "Wi-Fi",
    about: "An 802.11n access point (batches of up to 20 frames, 2 % of frames lost, 250 packets \
            of buffer) beside five stations of other networks that are on air for 1 ms each 20 ms \
            or so; RTT 20 ms. The modulation alternates between MCS 1 and 7 every 2 s, or walks \
            from 3 to 7 one step each 2 s. Two users share one FIFO. Three runs of 45 s.",
    plan,
    find,
};

/// Short names for measures, and the schemes.
const SCHEMES: [(&str, &str); 9] = [
    ("abc_20", "abc[dt=20ms]"),
    ("abc_60", "abc[dt=60ms]"),
    ("abc_100", "abc[dt=100ms]"),
    ("cubic", "cubic"),
    ("codel", "cubic+codel"),
    ("bbr", BBR),
    ("copa", COPA),
    ("vegas", "vegas"),
    ("pcc", "vivace"),
];
const OURS: [&str; 3] = ["abc_20", "abc_60", "abc_100"];
/// Places: short name, number of users, title.
const PLACES: [(&str, u32, &str); 3] = [
    ("single", 1, "One user, MCS 1 and 7 (Fig. 9a)"),
    ("shared", 2, "Two users, one FIFO, MCS 1 and 7 (Fig. 9b)"),
    ("walk", 1, "One user, MCS 3 to 7 at random (Fig. 16)"),
];

fn runs(setting: &Setting) -> u64 {
    if setting.quick { 1 } else { 3 }
}

fn name(place: &str, short: &str, run: u64) -> String {
    format!("{place}: {short}, run {run}")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let every = Span::from_secs(2);
    let alternating = McsSpec::Steps {
        steps: vec![(Span::ZERO, mcs(1)?), (every, mcs(7)?)],
        period: Some(every * 2),
    };
    let walk = McsSpec::Walk { min: mcs(3)?, max: mcs(7)?, every };
    let mut tasks = Vec::new();
    for (place, users, _) in PLACES {
        for (short, text) in SCHEMES {
            for run in 0..runs(setting) {
                let name = name(place, short, run);
                let mut scenario = Scenario::new(place);
                scenario.duration = Span::from_secs(45);
                scenario.seed = setting.seed + run;
                let spec =
                    crowded(if place == "walk" { walk.clone() } else { alternating.clone() });
                let mut link = LinkSpec::new("link", Capacity::Wifi(Box::new(spec)));
                link.buffer = BufferSize::Packets(250);
                scenario.links.push(link);
                for user in 1..=users {
                    let mut flow = FlowSpec::bulk(scheme(text)?, &["link"]);
                    flow.name = format!("user {user}");
                    flow.rtt = Span::from_millis(20);
                    scenario.flows.push(flow);
                }
                tasks.push(Task::scenario(name, scenario));
            }
        }
    }
    if setting.causes {
        tasks.extend(wifi_sweeps::plan(setting)?.into_iter().map(Task::once));
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let palette = Palette::new(SCHEMES.iter().map(|(short, _)| *short));
    let mut rows = Vec::new();
    for (place, users, title) in PLACES {
        let mut dots = Vec::new();
        for (short, _) in SCHEMES {
            let over = |what: &dyn Fn(&crate::Record) -> f64| {
                mean((0..runs(setting)).map(|run| what(results.get(&name(place, short, run)))))
            };
            // The sum of the users' throughputs, and the mean of their one-way delays without
            // propagation, which is half of the RTT.
            let throughput = over(&|record| {
                (1..=users).map(|user| record.number(&format!("flow.user {user}.goodput"))).sum()
            });
            let delay = over(&|record| {
                let each = |user| record.number(&format!("flow.user {user}.owd.p95")) - 10.0;
                mean((1..=users).map(each))
            });
            let used = over(&|record| record.number("link.link.utilization"));
            findings.measure(format!("{place}.{short}.throughput"), throughput);
            findings.measure(format!("{place}.{short}.p95"), delay);
            findings.measure(format!("{place}.{short}.used"), used);
            dots.push(dot(short, &palette, (delay, throughput)));
            rows.push(vec![
                Cell::text(place),
                Cell::code(short),
                Cell::number(throughput, 2),
                Cell::number(100.0 * used, 1),
                Cell::number(delay, 1),
            ]);
        }
        relative(place, &mut findings);
        let scatter = Scatter {
            label: title.into(),
            x_title: "95th-percentile delay beyond propagation (ms)".into(),
            y_title: "Throughput (Mbit/s)".into(),
            dots,
            ..Scatter::default()
        };
        findings.figure(place, scatter.figure(), title);
    }
    let columns = [
        ("where", "one user, two users, or a walk of the modulation"),
        ("scheme", ""),
        ("Mbit/s", "the users' together"),
        ("used %", "of what a backlogged user would get"),
        ("p95 ms", "delay beyond propagation, mean over users"),
    ];
    let columns = columns.map(|(head, hint)| (head.to_string(), hint.to_string())).to_vec();
    findings.table("all", Table { columns, rows }, "Means over all runs.");
    if setting.causes {
        wifi_sweeps::find(setting, results, &mut findings);
    }
    Ok(findings)
}

/// Computes the paper's figures relative to ABC with a delay threshold of 100 ms.
fn relative(place: &str, findings: &mut Findings) {
    let get = |findings: &Findings, short: &str, what: &str| {
        findings.get(&format!("{place}.{short}.{what}"))
    };
    let others = SCHEMES.iter().map(|(short, _)| *short).filter(|short| !OURS.contains(short));
    for short in others.clone() {
        for what in ["throughput", "p95"] {
            let (own, other) = (get(findings, "abc_100", what), get(findings, short, what));
            findings.measure(format!("{place}.{short}.{what}.relative"), other / own);
            findings.measure(format!("{place}.{short}.{what}.gain"), own / other);
        }
    }
    // Counts the schemes that one of ABC's versions equals or beats in both figures.
    let beaten = |short: &str| {
        OURS.iter().any(|own| {
            get(findings, short, "throughput") >= get(findings, own, "throughput")
                && get(findings, short, "p95") <= get(findings, own, "p95")
        })
    };
    let figures = || {
        others.clone().chain(OURS).flat_map(|short| ["throughput", "p95"].map(|what| (short, what)))
    };
    let is_measured = figures().all(|(short, what)| get(findings, short, what).is_finite());
    let better = others.clone().filter(|short| beaten(short)).count() as f64;
    let better = if is_measured { better } else { f64::NAN };
    let gains = ["codel", "copa", "vegas"]
        .map(|short| findings.get(&format!("{place}.{short}.throughput.gain")));
    let largest = most(gains);
    let point = |short: &str| (get(findings, short, "throughput"), get(findings, short, "p95"));
    let fronts = OURS.map(|own| distance(point(own), others.clone().map(point)));
    for (own, front) in OURS.iter().zip(fronts) {
        findings.measure(format!("{place}.{own}.distance"), front);
    }
    findings.measure(format!("{place}.distance"), least(fronts));
    findings.measure(format!("{place}.better"), better);
    findings.measure(format!("{place}.gain.largest"), largest);
}

//! Settings of the Wi-Fi link that the ABC paper leaves open: the RTT and the load of the channel;
//! and PCC's algorithm.

use paceline_cc::Span;
use paceline_path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, McsSpec, Scenario};

use super::common::{BBR, COPA, crowded, mcs, mean, scheme};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

/// RTTs in milliseconds.
const RTTS: [u64; 5] = [5, 10, 20, 30, 40];
/// Mean time between two transmissions of 1 ms by each of the five competitors, in milliseconds.
const GAPS: [u64; 3] = [10, 20, 40];
const SCHEMES: [(&str, &str); 5] = [
    ("abc", "abc[dt=100ms]"),
    ("codel", "cubic+codel"),
    ("copa", COPA),
    ("vegas", "vegas"),
    ("bbr", BBR),
];
/// Schemes with one user: Cubic over CoDel with Linux' growth, as in all experiments, and with RFC
/// 9438's.
const ALONE: [(&str, &str); 5] = [
    ("abc", "abc[dt=100ms]"),
    ("codel", "cubic+codel"),
    ("codel.rfc9438", "cubic[variant=rfc9438]+codel"),
    ("copa", COPA),
    ("vegas", "vegas"),
];
/// RTTs with one user, in milliseconds.
const ALONE_RTTS: [u64; 4] = [10, 15, 20, 30];
/// PCC's rows: name, scheme, and seconds between two changes of the modulation; `None` for a
/// constant MCS 7.
const PCC: [(&str, &str, Option<u64>); 8] = [
    ("kernel, latency", "vivace", Some(2)),
    ("kernel, loss", "vivace[utility=loss]", Some(2)),
    ("nsdi2018, latency", "vivace[variant=nsdi2018]", Some(2)),
    ("nsdi2018, loss", "vivace[variant=nsdi2018,utility=loss]", Some(2)),
    ("paper, latency", "vivace[variant=paper]", Some(2)),
    ("kernel, latency", "vivace", Some(6)),
    ("kernel, latency", "vivace", Some(12)),
    ("kernel, latency", "vivace", None),
];
/// Number of runs of each row with one user.
const RUNS: u64 = 3;

fn name(rtt: u64, gap: u64, short: &str) -> String {
    format!("sweep: {short} at {rtt} ms, competitors each {gap} ms")
}

fn alone_name(rtt: u64, gap: u64, short: &str, run: u64) -> String {
    format!("sweep: one user, {short} at {rtt} ms, competitors each {gap} ms, run {run}")
}

fn pcc_name(text: &str, period: Option<u64>, run: u64) -> String {
    format!("sweep: {text}, {}, run {run}", changes(period))
}

fn changes(period: Option<u64>) -> String {
    period.map_or("MCS 7".into(), |period| format!("MCS 1 and 7 each {period} s"))
}

fn alternating(every: Option<Span>) -> Result<McsSpec, String> {
    let Some(every) = every else { return Ok(McsSpec::constant(mcs(7)?)) };
    let steps = vec![(Span::ZERO, mcs(1)?), (every, mcs(7)?)];
    Ok(McsSpec::Steps { steps, period: Some(every * 2) })
}

/// Returns a scenario with users of one FIFO whose modulation alternates.
fn scenario(
    text: &str,
    users: u32,
    every: Option<Span>,
    rtt: u64,
    gap: u64,
) -> Result<Scenario, String> {
    let mut scenario = Scenario::new("wifi sweep");
    scenario.duration = Span::from_secs(45);
    let mut spec = crowded(alternating(every)?);
    spec.channel.contender_gap = Span::from_millis(gap);
    let mut link = LinkSpec::new("link", Capacity::Wifi(Box::new(spec)));
    link.buffer = BufferSize::Packets(250);
    scenario.links.push(link);
    for user in 1..=users {
        let mut flow = FlowSpec::bulk(scheme(text)?, &["link"]);
        flow.name = format!("user {user}");
        flow.rtt = Span::from_millis(rtt);
        scenario.flows.push(flow);
    }
    Ok(scenario)
}

pub(super) fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let every = Span::from_secs(2);
    let mut tasks = Vec::new();
    for rtt in setting.some(RTTS.to_vec(), 1) {
        for gap in setting.some(GAPS.to_vec(), 1) {
            for (short, text) in SCHEMES {
                let mut scenario = scenario(text, 2, Some(every), rtt, gap)?;
                scenario.seed = setting.seed;
                tasks.push(Task::scenario(name(rtt, gap, short), scenario));
            }
        }
    }
    for (rtt, gap) in alone(setting) {
        for (short, text) in ALONE {
            for run in 0..runs(setting) {
                let mut scenario = scenario(text, 1, Some(every), rtt, gap)?;
                scenario.seed = setting.seed + run;
                tasks.push(Task::scenario(alone_name(rtt, gap, short, run), scenario));
            }
        }
    }
    for (_, text, period) in setting.some(PCC.to_vec(), 1) {
        for run in 0..runs(setting) {
            let mut scenario = scenario(text, 1, period.map(Span::from_secs), 20, 20)?;
            scenario.seed = setting.seed + run;
            scenario.duration = Span::from_secs(48);
            tasks.push(Task::scenario(pcc_name(text, period, run), scenario));
        }
    }
    Ok(tasks)
}

/// Returns the RTTs and gaps of the sweep with one user.
fn alone(setting: &Setting) -> Vec<(u64, u64)> {
    let rows = ALONE_RTTS.iter().flat_map(|rtt| GAPS.map(|gap| (*rtt, gap)));
    setting.some(rows.collect(), 1)
}

fn find_alone(setting: &Setting, results: &Results, findings: &mut Findings) {
    let mut rows = Vec::new();
    for (rtt, gap) in alone(setting) {
        let throughput = |short: &str| {
            let of =
                |run| results.get(&alone_name(rtt, gap, short, run)).number("flow.user 1.goodput");
            mean((0..runs(setting)).map(of))
        };
        let own = throughput("abc");
        let mut row = vec![format!("{rtt} ms"), format!("{gap} ms"), format!("{own:.2}")];
        for (short, _) in ALONE.iter().skip(1) {
            let gain = own / throughput(short);
            findings.measure(format!("sweep.one.{rtt}.{gap}.{short}.gain"), gain);
            row.push(format!("{gain:.2}"));
        }
        rows.push(row);
    }
    findings.sweep(
        "Wi-Fi with one user",
        "One user, MCS 1 and 7 in turn each 2 s, three runs of 45 s a row: ABC's throughput (dt 100 ms) \
         over others'. The paper has up to 1.29 over Cubic+CoDel, Copa and Vegas. The claims run at \
         20 and 20 ms, with Linux' Cubic.",
        &[
            "RTT",
            "each competitor on air once in",
            "ABC, Mbit/s",
            "over CoDel's",
            "over CoDel's with the Cubic of RFC 9438",
            "over Copa's",
            "over Vegas'",
        ],
        rows,
    );
}

pub(super) fn find(setting: &Setting, results: &Results, findings: &mut Findings) {
    find_alone(setting, results, findings);
    let mut rows = Vec::new();
    for rtt in setting.some(RTTS.to_vec(), 1) {
        for gap in setting.some(GAPS.to_vec(), 1) {
            let both = |short: &str, part: &str| {
                let record = results.get(&name(rtt, gap, short));
                [1, 2].map(|user| record.number(&format!("flow.user {user}.{part}"))).iter().sum()
            };
            let throughput = |short: &str| -> f64 { both(short, "goodput") };
            // Mean of both users, minus propagation.
            let delay = |short: &str| -> f64 { both(short, "owd.p95") / 2.0 - rtt as f64 / 2.0 };
            let gain = |short: &str| throughput("abc") / throughput(short);
            let [codel, copa, vegas] = ["codel", "copa", "vegas"].map(gain);
            let bbr = delay("bbr") / delay("abc");
            for (short, value) in [("codel", codel), ("copa", copa), ("vegas", vegas)] {
                findings.measure(format!("sweep.{rtt}.{gap}.{short}.gain"), value);
            }
            findings.measure(format!("sweep.{rtt}.{gap}.bbr.delay"), bbr);
            let mut row = vec![format!("{rtt} ms"), format!("{gap} ms")];
            row.extend([throughput("abc"), codel, copa, vegas, bbr].map(|v| format!("{v:.2}")));
            rows.push(row);
        }
    }
    let columns = [
        "RTT",
        "each competitor on air once in",
        "ABC, Mbit/s",
        "over CoDel's",
        "over Copa's",
        "over Vegas'",
        "BBR's p95 over ABC's",
    ];
    findings.sweep(
        "Wi-Fi by RTT and competitors",
        "Two users of one FIFO, MCS 1 and 7 in turn each 2 s, one run of 45 s a row: ABC's \
         throughput (dt 100 ms) over others', and BBR's delay over ABC's. The paper has 1.38, 1.41 \
         and 1.31 with two users, 2.2 for BBR's delay, and tells neither the RTT nor how busy the \
         channel was. The claims run at 20 and 20 ms.",
        &columns,
        rows,
    );
    let mut rows = Vec::new();
    for (at, (name, text, period)) in setting.some(PCC.to_vec(), 1).into_iter().enumerate() {
        let each: Vec<(f64, f64)> = (0..runs(setting))
            .map(|run| {
                let record = results.get(&pcc_name(text, period, run));
                (record.number("flow.user 1.goodput"), record.number("link.link.utilization"))
            })
            .collect();
        let used = mean(each.iter().map(|one| one.1));
        let (low, high) = each
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |ends, one| (ends.0.min(one.1), ends.1.max(one.1)));
        findings.measure(format!("sweep.pcc.{}.used", at + 1), used);
        rows.push(vec![
            name.to_string(),
            changes(period),
            format!("{:.2}", mean(each.iter().map(|one| one.0))),
            format!("{used:.2}"),
            format!("{low:.2} to {high:.2}"),
        ]);
    }
    findings.sweep(
        "PCC by algorithm and modulation",
        "One user, RTT 20 ms, three runs of 48 s a row: PCC Vivace by which of its authors' \
         algorithms and utilities runs, and by how often the modulation changes. The paper ran the \
         kernel's module with the latency utility, changed MCS each 2 s, and has about 1.04 of \
         ABC's throughput, which would be all of this channel.",
        &["algorithm, utility", "modulation", "Mbit/s", "share of the channel", "over the runs"],
        rows,
    );
}

fn runs(setting: &Setting) -> u64 {
    if setting.quick { 1 } else { RUNS }
}

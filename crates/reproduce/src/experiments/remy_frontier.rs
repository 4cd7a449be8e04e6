//! RemyCCs beside schemes that people have designed: medians of throughput and delay over senders
//! (Figs 3-4, 3-5, 3-7 and 3-8 of Winstein's thesis), on a constant link and on a cellular one.

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, On, Workload};
use paceline_path::BufferSize;
use paceline_remy::score::SenderFigures;
use paceline_remy::{Network, PACKET};
use paceline_report::{Palette, Scatter};
use paceline_sim::scenario::{Capacity, LossRecovery, RttSamples, Scenario};

use super::Experiment;
use super::common::{dot, least, most};
use super::remy_common::{
    DESIGNED, GENERAL, Runs, Scheme, and_designed, deviation, mbps, median, note_missing, tables,
};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const DUMBBELL: Experiment = Experiment {
    name: "remy-dumbbell",
    title: "Remy: one link",
    about: "RemyCCs of 2013 and designed schemes on 15 Mbit/s, RTT 150 ms, 1000 packets: 8 senders \
            with flows of 100 kB, and 12 with the flow lengths of the Internet. Medians over \
            senders and runs of throughput while on, and of the mean delay above that of an idle \
            path.",
    plan: plan_dumbbell,
    find: find_dumbbell,
};

pub(super) const CELLULAR: Experiment = Experiment {
    name: "remy-cellular",
    title: "Remy: a cellular link",
    about: "The same on Verizon's LTE downlink, RTT 50 ms, 1000 packets: 4 and 8 senders with flows \
            of 100 kB. One packet of 1250 bytes passes per opportunity. XCP is given the link's \
            mean rate.",
    plan: plan_cellular,
    find: find_cellular,
};

/// The designed schemes as in ns-2.35, which has Linux' Cubic without HyStart and a Vegas whose step
/// takes two round trips.
const NS2: [(&str, &str); 6] = [
    ("newreno", "newreno[initial_window=2,counts=acks]"),
    ("compound", "compound[initial_window=2]"),
    ("cubic", "cubic[initial_window=2,hystart=off]"),
    ("vegas", "vegas[diff=paper,step=before,initial_window=2]"),
    ("sfqcodel", "cubic[initial_window=2,hystart=off]+sfq_codel"),
    ("xcp", "xcp[initial_window=2]"),
];

/// Returns the runs with the schemes of [`NS2`]: fewer than with the others.
fn ns2_runs(runs: &Runs) -> Runs {
    let name = format!("{}, TCPs as in ns-2", runs.name);
    Runs { name, count: runs.count.min(4), ..runs.clone() }
}

/// Returns the tasks of the schemes as in ns-2: one connection carries all flows of a sender and
/// keeps its window over pauses.
fn plan_ns2(runs: &Runs) -> Result<Vec<Task>, String> {
    let runs = ns2_runs(runs);
    let mut tasks = Vec::new();
    for (short, mut text) in and_designed(Vec::new(), &NS2) {
        match short.as_str() {
            "xcp" => text = with_mean_rate(&text, &runs)?,
            // Its first packet is a SYN of 40 bytes, whose RTT is the smallest one.
            "vegas" => {
                let rtt = runs.network.rtt.as_millis_f64();
                text = text.replace("step=before", &format!("step=before,handshake={rtt}ms"));
            }
            _ => {}
        }
        let change = |scenario: &mut Scenario| keep_connections(&short, false, scenario);
        tasks.extend(runs.changed_tasks(&short, &text, change)?);
    }
    Ok(tasks)
}

fn plan_cellular(setting: &Setting) -> Result<Vec<Task>, String> {
    let all = cellular(setting)?;
    let mut tasks = plan(setting, &all)?;
    let att = att(setting)?;
    tasks.extend(att.1.tasks_of(&tables(setting, &GENERAL))?);
    for (_, runs) in all.iter().chain([&att]) {
        tasks.extend(plan_ns2(runs)?);
    }
    Ok(tasks)
}

fn find_cellular(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let all = cellular(setting)?;
    let mut findings = find(setting, results, &all)?;
    findings.traces = vec![setting.verizon_down()?.name, setting.att_down()?.name];
    let att = att(setting)?;
    for (short, _) in GENERAL {
        points(&att.1, att.0, short, results, &mut findings);
    }
    for (prefix, runs) in all.iter().chain([&att]) {
        let (runs, designed) = (ns2_runs(runs), format!("{prefix}ns2."));
        for (short, _) in NS2 {
            points(&runs, &designed, short, results, &mut findings);
        }
        compare(prefix, &designed, &mut findings);
    }
    Ok(findings)
}

/// Adds the medians of delay and throughput over senders; returns them.
fn points(
    runs: &Runs,
    prefix: &str,
    short: &str,
    results: &Results,
    findings: &mut Findings,
) -> (f64, f64) {
    let senders = runs.senders(short, results);
    let delay = |sender: &SenderFigures| sender.delay_ms - runs.idle_ms();
    let sent = senders.iter().filter(|sender| sender.packets > 0.0);
    let point = (median(sent.map(delay)), median(senders.iter().map(mbps)));
    findings.measure(format!("{prefix}{short}.delay"), point.0);
    findings.measure(format!("{prefix}{short}.throughput"), point.1);
    point
}

/// Initial windows of TCPs in the sweep, in packets, in addition to ns-2.35's two.
const FIRST: [u32; 2] = [4, 10];

/// Returns a TCP with another initial window.
fn with_first(text: &str, packets: u32) -> String {
    text.replace("initial_window=2", &format!("initial_window={packets}"))
}

/// Returns the runs for the sweep of initial windows: fewer runs, on the network of Fig. 3-4.
fn first_windows(setting: &Setting) -> Runs {
    let (_, runs) = dumbbell(setting).swap_remove(0);
    Runs { count: runs.count.min(4), ..runs }
}

fn plan_dumbbell(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = plan(setting, &dumbbell(setting))?;
    if !setting.causes {
        return Ok(tasks);
    }
    for first in FIRST {
        for (short, text) in &DESIGNED[..4] {
            let name = format!("{short} from {first}");
            let swept = first_windows(setting).tasks(&name, &with_first(text, first))?;
            tasks.extend(swept.into_iter().map(Task::once));
        }
    }
    tasks.extend(plan_kept(setting)?);
    Ok(tasks)
}

/// What a connection does after a pause: whether its window is reduced, and the name of the runs.
const AFTER_PAUSES: [(bool, &str); 2] = [(true, "kept"), (false, "kept whole")];

/// Schemes whose receivers send no selective acknowledgements in the authors' scripts for ns-2. For
/// Cubic and Compound the scripts have `TCPSink/Sack1`.
const WITHOUT_SACK: [&str; 3] = ["newreno", "vegas", "xcp"];

/// Makes one connection carry all transfers of a sender, as the authors' scripts for ns-2 do in one
/// of their versions (`sender-app.tcl`; another one resets it after each transfer). Without
/// selective acknowledgements, each acknowledgement gives an RTT sample (`timestamps_`).
fn keep_connections(short: &str, reduces: bool, scenario: &mut Scenario) {
    for flow in &mut scenario.flows {
        flow.slow_start_after_idle = reduces;
        if WITHOUT_SACK.contains(&short) {
            flow.recovery = LossRecovery::NewReno(RttSamples::Each);
        }
        if let Workload::OnOff { fresh, .. } = &mut flow.workload {
            *fresh = false;
        }
    }
}

fn plan_kept(setting: &Setting) -> Result<Vec<Task>, String> {
    let runs = first_windows(setting);
    let mut tasks = Vec::new();
    for (reduces, after) in AFTER_PAUSES {
        for (short, text) in &DESIGNED {
            let change = |scenario: &mut Scenario| keep_connections(short, reduces, scenario);
            let kept = runs.changed_tasks(&format!("{short} {after}"), text, change)?;
            tasks.extend(kept.into_iter().map(Task::once));
        }
    }
    Ok(tasks)
}

/// Adds medians of throughput and delay by what connections keep over pauses.
fn sweep_kept(setting: &Setting, results: &Results, findings: &mut Findings) {
    let runs = first_windows(setting);
    let remy = ["throughput", "delay"].map(|part| findings.get(&format!("d0.1.{part}")));
    let row = |(short, text): &(&str, &str)| {
        let cell = |name: &str| {
            let senders = runs.senders(name, results);
            let sent = senders.iter().filter(|sender| sender.packets > 0.0);
            let delay = median(sent.map(|sender| sender.delay_ms - runs.idle_ms()));
            let rate = median(senders.iter().map(mbps));
            let (faster, longer) = (remy[0] / rate, delay / remy[1]);
            format!("{rate:.2} ({faster:.2}), {delay:.0} ({longer:.1})")
        };
        let name = text[..text.find('[').unwrap_or(text.len())].to_string();
        let queue = text.rsplit_once('+').map_or(String::new(), |(_, queue)| format!("+{queue}"));
        let mut row = vec![name + &queue, cell(short)];
        row.extend(AFTER_PAUSES.map(|(_, after)| cell(&format!("{short} {after}"))));
        row
    };
    findings.sweep(
        "Remy: connections over pauses",
        "15 Mbit/s, RTT 150 ms, eight senders with flows of 100 kB: median throughput in Mbit/s, and the \
         RemyCC's speed-up; median queueing delay in ms, and how many times the RemyCC's it is. In the \
         last two columns one connection carries all flows of a sender, and NewReno, Vegas and XCP repair \
         without selective acknowledgements; four runs.",
        &["", "a connection for each flow", "kept, slow start after pauses", "kept with its window"],
        DESIGNED.iter().map(row).collect(),
    );
}

fn find_dumbbell(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = find(setting, results, &dumbbell(setting))?;
    if !setting.causes {
        return Ok(findings);
    }
    let runs = first_windows(setting);
    let remy = findings.get("d0.1.throughput");
    let row = |(short, text): &(&str, &str)| {
        let cell = |name: &str| {
            let rate = median(runs.senders(name, results).iter().map(mbps));
            format!("{rate:.2} ({:.2})", remy / rate)
        };
        let mut row = vec![text[..text.find('[').unwrap_or(text.len())].to_string(), cell(short)];
        row.extend(FIRST.map(|first| cell(&format!("{short} from {first}"))));
        row
    };
    findings.sweep(
        "Remy: TCPs by their first window",
        "15 Mbit/s, RTT 150 ms, eight senders with flows of 100 kB: median throughput in Mbit/s, and \
         the RemyCC's speed-up, by the packets with which TCPs begin; four runs.",
        &["", "2 packets", "4 packets", "10 packets"],
        DESIGNED[..4].iter().map(row).collect(),
    );
    sweep_kept(setting, results, &mut findings);
    Ok(findings)
}

/// Prefix of measures, and the runs.
type PrefixedRuns = (&'static str, Runs);

fn network(link: Capacity, rtt_ms: u64, senders: u32) -> Network {
    Network::new(Rate::ZERO, Span::from_millis(rtt_ms)).with(|network| {
        (network.link, network.senders) = (link, senders);
        network.on = On::Bytes(Amount::Exponential(100_000.0));
        network.off = Amount::Exponential(0.5);
        network.buffer = BufferSize::Packets(1000);
    })
}

fn runs(setting: &Setting, name: &str, network: Network, count: u64) -> Runs {
    let duration = setting.length(100, 20);
    let count = if setting.quick { 2 } else { count };
    Runs { name: name.to_string(), network, duration, count, seed: setting.seed }
}

fn dumbbell(setting: &Setting) -> Vec<PrefixedRuns> {
    let link = Capacity::Constant(Rate::from_mbps(15.0));
    let icsi = network(link.clone(), 150, 12).with(|network| {
        network.on = On::Bytes(Amount::Icsi { plus: 16_000.0 });
        network.off = Amount::Exponential(0.2);
    });
    vec![
        ("", runs(setting, "flows of 100 kB", network(link, 150, 8), 16)),
        ("icsi.", runs(setting, "ICSI's flows", icsi, 16)),
    ]
}

fn cellular(setting: &Setting) -> Result<Vec<PrefixedRuns>, String> {
    let trace = setting.verizon_down()?.trace;
    let link = Capacity::Trace { trace, opportunity: PACKET, overhead: 0, repeat: true };
    Ok(vec![
        ("n4.", runs(setting, "4 senders", network(link.clone(), 50, 4), 16)),
        ("n8.", runs(setting, "8 senders", network(link, 50, 8), 8)),
    ])
}

/// Returns AT&T's downlink with four senders.
fn att(setting: &Setting) -> Result<PrefixedRuns, String> {
    let trace = setting.att_down()?.trace;
    let link = Capacity::Trace { trace, opportunity: PACKET, overhead: 0, repeat: true };
    Ok(("att.", runs(setting, "4 senders, AT&T", network(link, 50, 4), 4)))
}

/// Returns the schemes; over a trace XCP assumes the mean rate as capacity.
fn schemes(setting: &Setting, runs: &Runs) -> Result<Vec<Scheme>, String> {
    let mut schemes = and_designed(tables(setting, &GENERAL), &DESIGNED);
    if let Capacity::Trace { .. } = runs.network.link {
        for (_, text) in schemes.iter_mut().filter(|(short, _)| short == "xcp") {
            *text = with_mean_rate(text, runs)?;
        }
    }
    Ok(schemes)
}

/// Returns XCP whose router takes the recording's mean rate as the link's capacity.
fn with_mean_rate(xcp: &str, runs: &Runs) -> Result<String, String> {
    let rate = runs.network.packets_per_ms(runs.duration);
    let kbps = rate.map_err(|error| error.to_string())? * f64::from(PACKET) * 8.0;
    Ok(xcp.replace(']', &format!(",capacity={kbps:.0}kbps]")))
}

fn plan(setting: &Setting, all: &[PrefixedRuns]) -> Result<Vec<Task>, String> {
    let each = all.iter().map(|(_, runs)| runs.tasks_of(&schemes(setting, runs)?));
    Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn find(setting: &Setting, results: &Results, all: &[PrefixedRuns]) -> Result<Findings, String> {
    let mut findings = Findings::default();
    note_missing(setting, &GENERAL, &mut findings);
    for (prefix, runs) in all {
        let schemes = schemes(setting, runs)?;
        let palette = Palette::new(schemes.iter().map(|(short, _)| short.as_str()));
        let mut dots = Vec::new();
        for (short, _) in &schemes {
            let point = points(runs, prefix, short, results, &mut findings);
            let senders = runs.senders(short, results);
            let sent = || senders.iter().filter(|sender| sender.packets > 0.0);
            let logs: Vec<f64> = sent().map(|sender| mbps(sender).ln()).collect();
            findings.measure(format!("{prefix}{short}.spread"), deviation(&logs));
            let rates: Vec<f64> = senders.iter().map(mbps).collect();
            let delays: Vec<f64> = sent().map(|sender| sender.delay_ms).collect();
            findings.measure(format!("{prefix}{short}.throughput.deviation"), deviation(&rates));
            findings.measure(format!("{prefix}{short}.delay.deviation"), deviation(&delays));
            let lost = runs.over_runs(short, results, |record| record.number("link.link.drops"));
            findings.measure(format!("{prefix}{short}.drops"), lost);
            dots.push(dot(short, &palette, point));
        }
        compare(prefix, prefix, &mut findings);
        consistency(prefix, &mut findings);
        let scatter = Scatter {
            label: format!("Throughput over delay, {}", runs.name),
            x_title: "Median of senders' mean queueing delays (ms)".into(),
            y_title: "Median throughput while on (Mbit/s)".into(),
            dots,
            ..Scatter::default()
        };
        let caption = format!("Medians over senders and runs: {}.", runs.network);
        findings.figure(&runs.name, scatter.figure(), &caption);
    }
    let spread = findings.get("icsi.d0.1.spread") / findings.get("d0.1.spread");
    findings.measure("icsi/exp.spread", spread);
    Ok(findings)
}

/// Computes the largest deviation of a RemyCC over the smallest of a designed scheme, for throughput
/// and for delay.
fn consistency(prefix: &str, findings: &mut Findings) {
    for part in ["throughput", "delay"] {
        let deviations = |schemes: &[(&str, &str)]| -> Vec<f64> {
            let of = |(short, _): &(&str, &str)| {
                findings.get(&format!("{prefix}{short}.{part}.deviation"))
            };
            schemes.iter().map(of).collect()
        };
        let (remy, designed) = (deviations(&GENERAL), deviations(&DESIGNED));
        findings.measure(format!("{prefix}steady.{part}"), most(remy) / least(designed));
    }
}

/// Computes ratios to the RemyCC of delta 0.1, and the frontier: of the designed schemes whose
/// measures begin with `prefix`, and the RemyCCs with `remy`.
fn compare(remy: &str, prefix: &str, findings: &mut Findings) {
    let at = |findings: &Findings, name: &str, part: &str| {
        findings.get(&format!("{prefix}{name}.{part}"))
    };
    let designed = DESIGNED
        .map(|(short, _)| (short, at(findings, short, "throughput"), at(findings, short, "delay")));
    let general = GENERAL.map(|(short, _)| {
        let of = |part: &str| findings.get(&format!("{remy}{short}.{part}"));
        (of("throughput"), of("delay"))
    });
    let (throughput, delay) = general[0];
    let mut faster = 0.0;
    for (short, other, queue) in designed {
        findings.measure(format!("{prefix}speedup.{short}"), throughput / other);
        findings.measure(format!("{prefix}reduction.{short}"), queue / delay);
        faster += f64::from(u8::from(throughput > other));
    }
    findings.measure(format!("{prefix}speedups_above_1"), faster);
    let rates = designed.map(|(_, throughput, _)| throughput);
    let delays = designed.map(|(_, _, delay)| delay);
    findings.measure(format!("{prefix}d0.1/best.throughput"), throughput / most(rates));
    findings.measure(format!("{prefix}d0.1/lowest.delay"), delay / least(delays));
    // A scheme lies outside if no RemyCC has at least its throughput at no more than its delay.
    let outside = designed.iter().filter(|(_, throughput, delay)| {
        !general.iter().any(|remy| remy.0 >= *throughput && remy.1 <= *delay)
    });
    if general.iter().all(|(throughput, _)| throughput.is_finite()) {
        findings.measure(format!("{prefix}outside"), outside.count() as f64);
    }
    // The TCPs come first, then the schemes that routers assist.
    let (tcps, assisted) = (most(rates[..4].iter().copied()), &rates[4..]);
    findings.measure(
        format!("{prefix}assisted/tcps.throughput"),
        least(assisted.iter().copied()) / tcps,
    );
    let rate = most(assisted.iter().copied()) / general[1].0;
    findings.measure(format!("{prefix}assisted/d1.throughput"), rate);
    let ratio = at(findings, "sfqcodel", "delay") / at(findings, "cubic", "delay");
    findings.measure(format!("{prefix}sfqcodel/cubic.delay"), ratio);
}

//! RemyCCs that share a link: when another flow leaves, and with different RTTs (Figs 3-6 and 3-10
//! of Winstein's thesis); and DCTCP in a data centre (§3.6.5).

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, On};
use paceline_path::BufferSize;
use paceline_remy::{Network, PACKET};
use paceline_report::{Chart, Fold, Palette, Panel, Series, Shade};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record as Recording, Scenario};

use super::Experiment;
use super::common::mean;
use super::remy_common::{
    GENERAL, MBPS, SFQCODEL, Scheme, and_designed, choice, median, note_missing, sums, tables,
};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "remy-sharing",
    title: "Remy: sharing a link",
    about: "Two flows of a RemyCC on 15 Mbit/s, RTT 150 ms, of which one leaves; and four senders \
            with RTTs of 50 to 200 ms on 10 Mbit/s.",
    plan,
    find,
};

/// RTT of the flows, one of which leaves, and length of bins.
const RTT_MS: u64 = 150;
const BIN_MS: u64 = 50;
/// Number of runs in which a flow leaves; time of the departure in the first one, and its increase
/// from run to run.
const DEPARTURES: u64 = 8;
const LEAVES_MS: (u64, u64) = (20_000, 370);
/// Longest processing time at hosts, in the runs that have it.
const HOST_JITTER: Span = Span::from_micros(100);
/// RTTs of the four senders.
const RTTS_MS: [u64; 4] = [50, 100, 150, 200];

/// Returns the schemes in the runs with different RTTs.
fn schemes(setting: &Setting) -> Vec<Scheme> {
    and_designed(tables(setting, &GENERAL), &[("sfqcodel", SFQCODEL)])
}

fn leaving(short: &str, time: u64) -> String {
    format!("{short}, departure {}", time + 1)
}

fn jittery(short: &str, time: u64) -> String {
    format!("{}, processing times", leaving(short, time))
}

fn joining(short: &str, time: u64) -> String {
    format!("{short}, arrival {}", time + 1)
}

fn unequal(short: &str, run: u64) -> String {
    format!("{short}, four RTTs, run {}", run + 1)
}

fn count(setting: &Setting) -> u64 {
    if setting.quick { 2 } else { 16 }
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for (short, text) in tables(setting, &GENERAL[..2]) {
        for time in 0..DEPARTURES {
            // In Remy's simulator hosts have no processing times, and flows start exactly on time.
            let scenario = departure(&text, time, Span::ZERO, setting)?;
            tasks.push(Task::scenario(leaving(&short, time), scenario));
            if setting.causes {
                let scenario = departure(&text, time, HOST_JITTER, setting)?;
                tasks.push(Task::scenario(jittery(&short, time), scenario).once());
            }
            tasks.push(Task::scenario(joining(&short, time), arrival(&text, time, setting)?));
        }
    }
    for (short, text) in schemes(setting) {
        for run in 0..count(setting) {
            tasks.push(Task::scenario(unequal(&short, run), four_rtts(&text, run, setting)?));
        }
    }
    Ok(tasks)
}

/// Returns the time at which the second flow leaves.
fn leaves(time: u64) -> Span {
    Span::from_millis(LEAVES_MS.0 + LEAVES_MS.1 * time)
}

fn departure(text: &str, time: u64, jitter: Span, setting: &Setting) -> Result<Scenario, String> {
    let mut scenario = Scenario::new("a flow leaves");
    scenario.host_jitter = Some(jitter);
    (scenario.mss, scenario.seed) = (PACKET, setting.seed + time);
    scenario.duration = leaves(time) + Span::from_secs(5);
    scenario.record = Recording::Series(Span::from_millis(BIN_MS));
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(15.0)));
    scenario.links.push(link.with(|link| link.buffer = BufferSize::Packets(1000)));
    for (name, stop) in [("stays", None), ("leaves", Some(leaves(time)))] {
        scenario.flows.push(FlowSpec::bulk(choice(text)?, &["link"]).with(|flow| {
            (flow.name, flow.stop) = (name.to_string(), stop);
            flow.rtt = Span::from_millis(RTT_MS);
            // Remy's simulator has no handshake.
            flow.handshake = false;
        }));
    }
    Ok(scenario)
}

/// Returns a scenario in which the second flow begins, instead of leaving, at that time.
fn arrival(text: &str, time: u64, setting: &Setting) -> Result<Scenario, String> {
    let mut scenario = departure(text, time, Span::ZERO, setting)?;
    scenario.name = "a flow begins".into();
    if let Some(flow) = scenario.flows.last_mut() {
        (flow.name, flow.start, flow.stop) = ("joins".into(), leaves(time), None);
    }
    Ok(scenario)
}

fn four_rtts(text: &str, run: u64, setting: &Setting) -> Result<Scenario, String> {
    let network = Network::new(Rate::from_mbps(10.0), Span::ZERO).with(|network| {
        network.senders = 1;
        network.on = On::Bytes(Amount::Icsi { plus: 16_000.0 });
        network.off = Amount::Exponential(0.2);
        network.buffer = BufferSize::Packets(1000);
    });
    let length = setting.length(100, 20);
    let mut scenario = network.scenario(choice(text)?, length, setting.seed + run);
    let flow = scenario.flows.remove(0);
    for rtt in RTTS_MS {
        let delay = Span::from_millis(rtt);
        scenario.flows.push(flow.clone().with(|flow| flow.data.delay = delay));
    }
    Ok(scenario)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    note_missing(setting, &GENERAL, &mut findings);
    for (short, _) in tables(setting, &GENERAL[..2]) {
        let each = |figure: fn(&Record, u64) -> f64| {
            mean((0..DEPARTURES).map(|time| figure(results.get(&leaving(&short, time)), time)))
        };
        findings.measure(format!("{short}.growth"), each(growth));
        findings.measure(
            format!("{short}.rtts"),
            each(|record, time| {
                let (goodput, bin) = staying(record, time);
                round_trips(&goodput, bin, 1.8 * before(&goodput, bin))
            }),
        );
        findings.measure(
            format!("{short}.settled"),
            each(|record, time| {
                let (goodput, bin) = staying(record, time);
                round_trips(&goodput, bin, 0.9 * after(&goodput, bin))
            }),
        );
        let over = |figure: fn(&[f64], usize) -> f64| {
            mean((0..DEPARTURES).map(|time| {
                let (goodput, bin) = staying(results.get(&leaving(&short, time)), time);
                figure(&goodput, bin)
            }))
        };
        findings.measure(format!("{short}.before"), over(before));
        findings.measure(format!("{short}.after"), over(after));
        if setting.causes {
            let with_jitter = (0..DEPARTURES).map(|time| {
                let (goodput, bin) = staying(results.get(&jittery(&short, time)), time);
                after(&goodput, bin)
            });
            findings.measure(format!("{short}.after.jitter"), mean(with_jitter));
        }
        let joins = |figure: fn(&[f64], usize) -> f64| {
            mean((0..DEPARTURES).map(|time| {
                let (share, bin) = joined_share(results.get(&joining(&short, time)), time);
                figure(&share, bin)
            }))
        };
        findings
            .measure(format!("{short}.joined"), joins(|share, bin| round_trips(share, bin, 0.4)));
        findings.measure(
            format!("{short}.joined.share"),
            joins(|share, bin| {
                let second = 1000 / BIN_MS as usize;
                mean(share.iter().skip(bin + second).take(4 * second).copied())
            }),
        );
        show(&short, results.get(&leaving(&short, 0)), &mut findings);
    }
    for (short, _) in schemes(setting) {
        let rate = |at: usize| {
            let runs = (0..count(setting)).filter_map(|run| {
                let sums = sums(results.get(&unequal(&short, run)));
                let flow = sums.get(at).filter(|flow| flow.on_s > 0.0)?;
                Some(flow.bytes as f64 * 8e-6 / flow.on_s)
            });
            mean(runs)
        };
        let rates = [0, 1, 2, 3].map(rate);
        for (rtt, rate) in RTTS_MS.into_iter().zip(rates) {
            findings.measure(format!("{short}.{rtt}ms"), rate);
        }
        findings.measure(format!("{short}.unfairness"), rates[0] / rates[3]);
    }
    Ok(findings)
}

/// Returns the goodput of the flow that stays, and the bin in which the other flow leaves.
fn staying(record: &Record, time: u64) -> (Vec<f64>, usize) {
    let bin = (leaves(time).as_millis_f64() / BIN_MS as f64) as usize;
    (record.series("flow.stays.goodput"), bin)
}

/// Returns the share of the flow that begins in both flows' goodput over the round trip that ends
/// with each bin, and the bin in which it begins.
fn joined_share(record: &Record, time: u64) -> (Vec<f64>, usize) {
    let bin = (leaves(time).as_millis_f64() / BIN_MS as f64) as usize;
    let window = (RTT_MS / BIN_MS) as usize;
    let [stays, joins] =
        ["stays", "joins"].map(|flow| record.series(&format!("flow.{flow}.goodput")));
    let sum = |series: &[f64], at: usize| {
        series[(at + 1).saturating_sub(window)..=at].iter().sum::<f64>()
    };
    let share = |at: usize| {
        let (own, other) = (sum(&joins, at), sum(&stays, at));
        if own > 0.0 { own / (own + other) } else { 0.0 }
    };
    ((0..stays.len().min(joins.len())).map(share).collect(), bin)
}

/// Returns the mean rate of the flow that stays, in the five seconds before the departure.
fn before(goodput: &[f64], bin: usize) -> f64 {
    let bins = 5000 / BIN_MS as usize;
    mean(goodput.iter().take(bin).skip(bin.saturating_sub(bins)).copied())
}

/// Returns its mean rate from one to three seconds after the departure.
fn after(goodput: &[f64], bin: usize) -> f64 {
    let second = 1000 / BIN_MS as usize;
    mean(goodput.iter().skip(bin + second).take(2 * second).copied())
}

/// Returns the rate after the departure divided by the rate before.
fn growth(record: &Record, time: u64) -> f64 {
    let (goodput, bin) = staying(record, time);
    after(&goodput, bin) / before(&goodput, bin)
}

/// Returns the round trips after which its rate over one round trip reaches `wanted`; the number of
/// round trips examined if it never does.
fn round_trips(goodput: &[f64], bin: usize, wanted: f64) -> f64 {
    let window = (RTT_MS / BIN_MS) as usize;
    let reached = goodput
        .windows(window)
        .enumerate()
        .skip(bin.saturating_sub(window - 1))
        .find(|(_, bins)| mean(bins.iter().copied()) >= wanted);
    if goodput.is_empty() {
        return f64::NAN;
    }
    let end = reached.map_or(goodput.len(), |(at, _)| at + window);
    end.saturating_sub(bin) as f64 * BIN_MS as f64 / RTT_MS as f64
}

fn show(short: &str, record: &Record, findings: &mut Findings) {
    let palette = Palette::new(["stays", "leaves"]);
    let line = |flow: &str| Series {
        name: flow.to_string(),
        quantity: "goodput".into(),
        unit: "Mbit/s".into(),
        bin_s: record.number("bin"),
        values: record.series(&format!("flow.{flow}.goodput")),
        paint: palette.paint(flow),
        shade: Shade::Line,
        fold: Fold::Mean,
        label: vec![flow.to_string()],
    };
    let chart = Chart {
        label: format!("A flow of {short} when another leaves"),
        panels: vec![Panel {
            title: "Mbit/s".into(),
            height: 120.0,
            log: false,
            series: vec![line("stays"), line("leaves")],
        }],
    };
    let caption = format!("The RemyCC {short}: the second flow leaves after 20 s.");
    findings.figure(&format!("departure {short}"), chart.figure(), &caption);
}

pub(super) const DATA_CENTRE: Experiment = Experiment {
    name: "remy-data-centre",
    title: "Remy: a data centre",
    about: "64 senders with flows of 20 MB on 10 Gbit/s, RTT 4 ms, 1000 packets, for 1.8 s, of which \
            the first 0.6 s count as warm-up: DCTCP with marks above 65 packets, and the RemyCC of the thesis if it is at hand.",
    plan: plan_centre,
    find: find_centre,
};

/// The RemyCC of the thesis for data centres.
const CENTRE: [(&str, &str); 1] = [("remy", "RemyCC-2013-datacenter.dna")];

/// Length of a run in the data centre: eight of 1.8 s simulate as much as three of 5 s.
const CENTRE_LENGTH: Span = Span::from_millis(1800);
/// Its first part, which no figure reads.
const CENTRE_WARMUP: Span = Span::from_millis(600);

fn contenders(setting: &Setting) -> Vec<Scheme> {
    and_designed(tables(setting, &CENTRE), &[("dctcp", "dctcp+step[k=65]")])
}

fn plan_centre(setting: &Setting) -> Result<Vec<Task>, String> {
    let network = Network::new(Rate::from_mbps(10_000.0), Span::from_millis(4)).with(|network| {
        network.senders = 64;
        network.on = On::Bytes(Amount::Exponential(20e6));
        network.off = Amount::Exponential(0.1);
        network.buffer = BufferSize::Packets(1000);
    });
    let task = |(short, text): Scheme| {
        let mut scenario = network.scenario(choice(&text)?, CENTRE_LENGTH, setting.seed);
        scenario.warmup = CENTRE_WARMUP;
        Ok(Task::scenario(short, scenario))
    };
    contenders(setting).into_iter().map(task).collect()
}

fn find_centre(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    note_missing(setting, &CENTRE, &mut findings);
    for (short, _) in contenders(setting) {
        let sums = sums(results.get(&short));
        let on = || sums.iter().filter(|flow| flow.on_s > 0.0 && flow.packets > 0);
        let rates = || on().map(|flow| flow.bytes as f64 / 1e3 / f64::from(PACKET) / flow.on_s);
        findings.measure(format!("{short}.throughput.mean"), MBPS * mean(rates()));
        findings.measure(format!("{short}.throughput.median"), MBPS * median(rates()));
        let rtts = || on().map(|flow| 1e3 * flow.delay_s / flow.packets as f64);
        findings.measure(format!("{short}.rtt.mean"), mean(rtts()));
        findings.measure(format!("{short}.rtt.median"), median(rtts()));
    }
    let ratio = findings.get("remy.rtt.mean") / findings.get("dctcp.rtt.mean");
    findings.measure("remy/dctcp.rtt", ratio);
    Ok(findings)
}

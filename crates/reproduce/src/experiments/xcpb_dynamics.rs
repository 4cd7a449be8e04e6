//! XCP-b and XCP over a shared medium: pairs of flows, wrong capacities, changing rates (§4.2 of the
//! XCP-b paper).

use paceline_cc::{Rate, Span};
use paceline_lab::wireless::{COUNTED, NetworkScheme, flow, network};
use paceline_sim::scenario::{Direction, Record as Recording, Scenario};

use super::Experiment;
use super::common::mean;
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "xcpb-dynamics",
    title: "XCP-b on a shared medium",
    about: "802.11b at 11 Mbit/s with a basic rate of 1 Mbit/s behind wires of 100 Mbit/s and a \
            round trip of 82 ms; XCP-b at the queues of the medium, or XCP that is told a wrong \
            capacity.",
    plan,
    find,
};

const RTT: u64 = 82;
/// Capacities that XCP assumes, in Mbit/s. The real one is 4.10.
const TOLD: [f64; 7] = [4.3, 4.8, 5.3, 5.5, 6.3, 7.0, 8.0];
const REAL: f64 = 4.10;
/// Rates in the phases of Fig. 9, in Mbit/s.
const PHASES: [u64; 3] = [54, 2, 11];
/// Number of stations, and kappa.
const KAPPAS: [(u32, u32); 3] = [(3, 3), (12, 3), (12, 6)];
const SEEDS: u64 = 3;

fn measure(scenario: &mut Scenario, from: u64, to: u64) {
    scenario.warmup = Span::from_secs(from);
    scenario.duration = Span::from_secs(to);
}

/// Returns a scenario with a download and an upload at each station; the pairs start `apart`
/// seconds after each other.
fn pairs(name: &str, which: &NetworkScheme, stations: u32, apart: u64) -> Result<Scenario, String> {
    let mut scenario = network(name, which, stations, 1)?;
    for station in 0..stations {
        for (way, direction) in [("down", Direction::Down), ("up", Direction::Up)] {
            let mut flow = flow(which, format!("{way}{station}"), station, direction, RTT)?;
            flow.start = Span::from_secs(apart * u64::from(station));
            scenario.flows.push(flow);
        }
    }
    Ok(scenario)
}

fn downloads(
    name: &str,
    which: &NetworkScheme,
    count: u32,
    apart: u64,
) -> Result<Scenario, String> {
    let mut scenario = pairs(name, which, count, apart)?;
    scenario.flows.retain(|flow| flow.name.starts_with("down"));
    Ok(scenario)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for (name, which) in
        [("xcpb", NetworkScheme::xcpb(3, 1)), ("capacity", NetworkScheme::capacity())]
    {
        let mut scenario = pairs(name, &which, 3, 20)?;
        measure(&mut scenario, 40, 60);
        tasks.push(Task::scenario(format!("pairs {name}"), scenario));
        for (phase, rate) in (0u64..).zip(PHASES) {
            let mut scenario = downloads(name, &which, 6, 0)?;
            phases(&mut scenario, phase);
            tasks.push(Task::scenario(format!("rates {name} {rate}"), scenario));
        }
        let kappa = if name == "xcpb" { NetworkScheme::xcpb(6, 1) } else { which };
        let mut mixed = pairs(name, &kappa, 6, 10)?;
        for (at, station) in mixed.media[0].stations.iter_mut().enumerate() {
            let mbps = if at % 2 == 0 { 2.0 } else { 54.0 };
            station.rates = vec![(Span::ZERO, Rate::from_mbps(mbps))];
        }
        measure(&mut mixed, 60, 80);
        tasks.push(Task::scenario(format!("mixed {name}"), mixed));
    }
    for (phase, rate) in (0u64..).zip(PHASES) {
        let mut scenario = downloads("xcp", &NetworkScheme::xcp(5.5, 1000), 6, 0)?;
        phases(&mut scenario, phase);
        tasks.push(Task::scenario(format!("rates xcp {rate}"), scenario));
    }
    tasks.extend(changes()?);
    for told in TOLD {
        let mut scenario = downloads("xcp", &NetworkScheme::xcp(told, 3000), 3, 0)?;
        measure(&mut scenario, 60, 100);
        tasks.push(Task::scenario(format!("xcp {told}"), scenario));
    }
    for (stations, kappa) in KAPPAS {
        for seed in 0..SEEDS {
            let mut scenario = pairs("kappa", &NetworkScheme::xcpb(kappa, 1), stations, 0)?;
            measure(&mut scenario, 40, 100);
            scenario.seed = setting.seed + seed;
            tasks.push(Task::scenario(format!("kappa {stations} {kappa} {seed}"), scenario));
        }
    }
    Ok(tasks)
}

/// Milliseconds of a bin of the run over all phases, and share of a phase's capacity that counts as
/// using it.
const BIN_MS: u64 = 200;
const USED: f64 = 0.85;

/// Returns XCP-b over all phases with its goodput over time, and over the whole of the phase of 2
/// Mbit/s.
fn changes() -> Result<Vec<Task>, String> {
    let which = NetworkScheme::xcpb(3, 1);
    let scenario = |from, to| -> Result<Scenario, String> {
        let mut scenario = downloads("xcpb", &which, 6, 0)?;
        phases(&mut scenario, 0);
        measure(&mut scenario, from, to);
        Ok(scenario)
    };
    let mut over_time = scenario(0, 60)?;
    over_time.record = Recording::Series(Span::from_millis(BIN_MS));
    Ok(vec![
        Task::scenario("changes xcpb", over_time),
        Task::scenario("changes xcpb 2", scenario(20, 40)?),
    ])
}

/// Adds the time from each change of the rates until XCP-b uses the new capacity over a second, and
/// its mean queue over the phase of 2 Mbit/s.
fn settling(results: &Results, findings: &mut Findings) {
    let record = results.get("changes xcpb");
    let flows: Vec<Vec<f64>> =
        (0..6).map(|at| record.series(&format!("flow.down{at}.goodput"))).collect();
    let bins = flows.iter().map(Vec::len).min().unwrap_or(0);
    let total = |bin: usize| COUNTED * flows.iter().map(|flow| flow[bin]).sum::<f64>();
    let window = (1000 / BIN_MS) as usize;
    let phase = (20_000 / BIN_MS) as usize;
    for (at, rate) in PHASES.into_iter().enumerate() {
        let wanted = USED * findings.get(&format!("rates.capacity.{rate}"));
        let end = (phase * (at + 1)).min(bins);
        let is_used = |first: &usize| mean((*first..first + window).map(total)) >= wanted;
        let first = (phase * at..(end + 1).saturating_sub(window)).find(is_used);
        let used = first.map_or(phase, |first| first + window - phase * at);
        let seconds = used as f64 * BIN_MS as f64 / 1000.0;
        findings
            .measure(format!("change.{rate}.seconds"), if bins == 0 { f64::NAN } else { seconds });
    }
    findings.measure("change.2.queue", queue(results.get("changes xcpb 2")));
}

/// Lets all stations change their rates at 20 and 40 s, and measures the last ten seconds of a
/// phase.
fn phases(scenario: &mut Scenario, phase: u64) {
    let steps = (0u64..).zip(PHASES);
    let step = |(at, rate): (u64, u64)| (Span::from_secs(20 * at), Rate::from_mbps(rate as f64));
    let steps: Vec<_> = steps.map(step).collect();
    for station in &mut scenario.media[0].stations {
        station.rates.clone_from(&steps);
    }
    measure(scenario, 20 * phase + 10, 20 * phase + 20);
}

fn throughput(record: &Record) -> f64 {
    COUNTED * record.number("all.goodput")
}

fn queue(record: &Record) -> f64 {
    record.number("medium.air.ap.waiting")
}

fn sum(record: &Record, way: &str, stations: u32) -> f64 {
    (0..stations).map(|station| record.number(&format!("flow.{way}{station}.goodput"))).sum()
}

fn find(_setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let (xcpb, capacity) = (results.get("pairs xcpb"), results.get("pairs capacity"));
    findings.measure("pairs.capacity", throughput(capacity));
    findings.measure("pairs.xcpb.utilization", throughput(xcpb) / throughput(capacity));
    findings.measure("pairs.xcpb.queue", queue(xcpb));
    findings.measure("pairs.xcpb.ratio", sum(xcpb, "up", 3) / sum(xcpb, "down", 3));
    findings.measure("pairs.xcpb.drops", xcpb.number("medium.air.drops"));
    for rate in PHASES {
        let record = |name: &str| results.get(&format!("rates {name} {rate}"));
        let full = throughput(record("capacity"));
        findings.measure(format!("rates.capacity.{rate}"), full);
        for name in ["xcpb", "xcp"] {
            let record = record(name);
            let name = format!("rates.{name}.{rate}");
            findings.measure(format!("{name}.throughput"), throughput(record));
            findings.measure(format!("{name}.utilization"), throughput(record) / full);
            findings.measure(format!("{name}.queue"), queue(record));
        }
    }
    settling(results, &mut findings);
    for told in TOLD {
        let record = results.get(&format!("xcp {told}"));
        findings.measure(format!("xcp.told.{told}.queue"), queue(record));
        findings.measure(format!("xcp.told.{told}.throughput"), throughput(record));
    }
    for (error, told) in [("0.7", 4.8), ("1.2", 5.3), ("2.2", 6.3)] {
        let queue = findings.get(&format!("xcp.told.{told}.queue"));
        findings.measure(format!("xcp.{error}.queue"), queue);
    }
    let told = |told: f64| findings.get(&format!("xcp.told.{told}.queue"));
    let (early, late) = (told(5.5) / told(4.8), told(8.0) - told(7.0));
    // Eq. 5 with the delay of an empty queue, in packets.
    let eq5 = 0.4 / 0.226 * (7.0 - REAL) * 1e6 / 8.0 * 0.0875 / 1350.0;
    let over = told(7.0) / eq5;
    findings.measure("xcp.growth.early", early / ((5.5 - REAL) / (4.8 - REAL)));
    findings.measure("xcp.growth.late", late);
    findings.measure("xcp.told.7.over_eq5", over);
    let (mixed, full) = (results.get("mixed xcpb"), results.get("mixed capacity"));
    findings.measure("mixed.utilization", throughput(mixed) / throughput(full));
    findings.measure("mixed.queue", queue(mixed));
    findings.measure("mixed.jain", mixed.number("all.jain"));
    for (stations, kappa) in KAPPAS {
        let record = |seed| results.get(&format!("kappa {stations} {kappa} {seed}"));
        let of = |part: &dyn Fn(&Record) -> f64| mean((0..SEEDS).map(|seed| part(record(seed))));
        let name = format!("kappa.{stations}.{kappa}");
        let carried = of(&throughput);
        findings.measure(format!("{name}.throughput"), carried);
        findings.measure(format!("{name}.utilization"), carried / throughput(capacity));
        findings.measure(format!("{name}.queue"), of(&queue));
        findings.measure(format!("{name}.drops"), of(&|record| record.number("medium.air.drops")));
        let delay =
            |record: &Record, part: &str| record.number(&format!("medium.air.ap.delay.{part}"));
        findings.measure(
            format!("{name}.spikes"),
            of(&|record| delay(record, "p99") / delay(record, "mean")),
        );
    }
    Ok(findings)
}

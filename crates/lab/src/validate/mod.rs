//! Validation: our figures beside those of peers, and facts that must hold.

mod facts;
mod peers;

use std::path::Path;

use paceline_cc::{AckPolicy, Rate, Span};
use paceline_path::BufferSize;
use serde::Serialize;

use crate::compare::{CompareRow, Comparison};
use paceline_sim::scenario::{
    Capacity, LinkSpec, QueueChoice, RouterChoice, Scenario, check_scheme,
};

/// One figure beside a peer's.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The scheme and what is measured.
    pub name: String,
    /// Where the expected figure comes from.
    pub peer: String,
    /// The expected figure.
    pub expected: f64,
    /// Our figure; nothing if it could not be measured.
    pub measured: Option<f64>,
    /// How far they may lie apart, in words.
    pub tolerance: String,
    /// Whether they agree; nothing if it could not be measured.
    pub pass: Option<bool>,
    /// Why not, or why it could not be measured.
    pub reason: String,
}

/// How far two figures may lie apart.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Tolerance {
    /// A share of the expected figure.
    Share(f64),
    /// A number.
    Within(f64),
    /// A share, or a number if that is more.
    Either(f64, f64),
}

impl Tolerance {
    fn of(self, expected: f64) -> f64 {
        match self {
            Tolerance::Share(share) => share * expected.abs(),
            Tolerance::Within(distance) => distance,
            Tolerance::Either(share, distance) => (share * expected.abs()).max(distance),
        }
    }

    fn words(self) -> String {
        match self {
            Tolerance::Share(share) => format!("{:.0} %", 100.0 * share),
            Tolerance::Within(distance) => format!("{distance}"),
            Tolerance::Either(share, distance) => format!("{:.0} % or {distance}", 100.0 * share),
        }
    }
}

pub(crate) fn row(
    name: String,
    peer: &str,
    expected: f64,
    measured: f64,
    tolerance: Tolerance,
) -> Row {
    let pass = (measured - expected).abs() <= tolerance.of(expected);
    Row {
        name,
        peer: peer.to_string(),
        expected,
        measured: Some(measured),
        tolerance: tolerance.words(),
        pass: Some(pass),
        reason: String::new(),
    }
}

/// How many seeds figures that depend on random drops are taken over. A peer's figure is one run: if
/// it came from the same distribution as ours, it would lie between the least and the greatest of n
/// of ours with probability (n - 1) / (n + 1), which is 98 % for 100.
const SEEDS: u64 = 100;

/// A set of rows that one run gives; runs are independent of each other.
pub struct Case<'a> {
    /// What is run: the scheme, the number of flows if there are several, the link.
    pub name: String,
    /// Runs it, and holds what it measured against the figures expected.
    pub run: Box<dyn Fn() -> Vec<Row> + Send + Sync + 'a>,
}

/// All cases. Recorded traces are looked for in `traces`; without them their rows say so.
pub fn cases(traces: Option<&Path>) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for peer in peers::NS3.iter().chain(&peers::NS2) {
        cases.push(Case { name: peer.name(), run: Box::new(move || on_constant(peer)) });
    }
    for peer in &peers::LINUX {
        cases.push(Case { name: peer.name(), run: Box::new(move || on_trace(peer, traces)) });
    }
    cases.extend(facts::cases());
    cases
}

fn measure(comparison: &Comparison, ack: Option<AckPolicy>) -> Result<CompareRow, String> {
    let mut scenario = comparison.scenario();
    scenario.flows[0].ack = ack;
    if comparison.flows > 1 {
        give_access_links(&mut scenario);
    }
    let outcome = paceline_sim::run(&scenario).map_err(|error| error.to_string())?;
    Ok(comparison.row(&outcome))
}

/// Gives every flow an access link of 100 Mbit/s of its own, as the peers' dumbbells have:
/// without them, windows that start together arrive as one burst after the other.
fn give_access_links(scenario: &mut Scenario) {
    let flow = scenario.flows.remove(0);
    for number in 1..=flow.count {
        let name = format!("access-{number}");
        let mut access = LinkSpec::new(&name, Capacity::Constant(Rate::from_mbps(100.0)));
        access.buffer = BufferSize::Unlimited;
        access.router = RouterChoice::None;
        access.queue = QueueChoice::droptail();
        scenario.links.push(access);
        let mut own = flow.clone();
        own.count = 1;
        own.name = format!("{}-{number}", flow.name);
        own.path.insert(0, name);
        scenario.flows.push(own);
    }
}

/// A row that could not be measured.
fn unmeasured(name: String, peer: &str, expected: f64, reason: String) -> Row {
    Row {
        name,
        peer: peer.to_string(),
        expected,
        measured: None,
        tolerance: String::new(),
        pass: None,
        reason,
    }
}

fn on_constant(peer: &peers::OnConstant) -> Vec<Row> {
    let name = peer.name();
    // What depends on random drops is the mean of several seeds.
    let seeds = if peer.scheme.ends_with("+pie") { SEEDS } else { 1 };
    let measured: Result<Vec<CompareRow>, String> = (1..=seeds)
        .map(|seed| {
            let capacity = Capacity::Constant(Rate::from_mbps(peer.mbps));
            let scheme = check_scheme(peer.scheme).map_err(|error| error.to_string())?;
            let comparison = Comparison {
                flows: peer.flows,
                seed,
                buffer: BufferSize::Packets(peer.buffer),
                warmup: Span::from_secs(10),
                ..Comparison::new("constant", capacity, scheme)
            };
            measure(&comparison, Some(AckPolicy::EACH))
        })
        .collect();
    let throughput = format!("{name}: throughput, Mbit/s");
    let ours = match measured {
        Ok(ours) => ours,
        Err(reason) => return vec![unmeasured(throughput, peer.peer, peer.throughput, reason)],
    };
    // A packet's transmission, which delays of peers leave out.
    let own = 12.0 / peer.mbps;
    let compare = |name: String, expected: f64, figure: &dyn Fn(&CompareRow) -> f64, tolerance| {
        let figures: Vec<f64> = ours.iter().map(figure).collect();
        let mean = figures.iter().sum::<f64>() / figures.len() as f64;
        let mut row = row(name, peer.peer, expected, mean, tolerance);
        if row.pass == Some(false) {
            row.reason = within_spread(expected, &figures);
        }
        row
    };
    let mut rows = vec![
        compare(throughput, peer.throughput, &|row| row.throughput_mbps, Tolerance::Share(0.02)),
        compare(
            format!("{name}: mean queueing delay, ms"),
            peer.delay,
            &|row| row.queue_delay_ms.mean - own,
            Tolerance::Either(0.1, 2.0),
        ),
    ];
    if let Some(jain) = peer.jain {
        let name = format!("{name}: Jain's index");
        rows.push(compare(name, jain, &|row| row.jain, Tolerance::Within(0.02)));
    }
    rows
}

/// Why a peer's figure may be off the mean of several runs: it is one run, and theirs spread as
/// far. Empty if they do not.
fn within_spread(expected: f64, figures: &[f64]) -> String {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if figures.len() < 2 || !(least..=most).contains(&expected) {
        return String::new();
    }
    format!(
        "the peer's figure is one run of a random process; {} seeds of ours give {least:.3} to \
         {most:.3}.",
        figures.len()
    )
}

fn on_trace(peer: &peers::OnTrace, traces: Option<&Path>) -> Vec<Row> {
    let source = "Linux 6.18 behind Mahimahi";
    let name = format!("{}: utilisation", peer.name());
    let unable = |reason: String| vec![unmeasured(name.clone(), source, peer.utilization, reason)];
    let path = traces.map(|folder| folder.join(peer.trace)).filter(|path| path.exists());
    let Some(path) = path.as_deref().and_then(Path::to_str) else {
        return unable(format!("the recorded trace {} is not here; name its folder", peer.trace));
    };
    let ours = paceline_trace::load(path).map_err(|error| error.to_string()).and_then(|trace| {
        let scheme = check_scheme(peer.scheme).map_err(|error| error.to_string())?;
        let capacity = Capacity::trace(trace);
        let comparison = Comparison {
            reverse: Some(Capacity::Constant(Rate::from_mbps(12.0))),
            ..Comparison::new(peer.trace, capacity, scheme)
        };
        measure(&comparison, None)
    });
    match ours {
        Err(reason) => unable(reason),
        Ok(ours) => vec![
            row(name, source, peer.utilization, ours.utilization, Tolerance::Within(0.03)),
            row(
                format!("{}: p95 queueing delay, ms", peer.name()),
                source,
                peer.p95,
                ours.queue_delay_ms.p95,
                Tolerance::Share(0.25),
            ),
        ],
    }
}

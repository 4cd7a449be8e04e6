//! Makes the runs that the table of bounds names, and measures their figures.

use paceline_cc::{Rate, Span, Spec};
use paceline_path::BufferSize;
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, QueueChoice, Record, Scenario, Video, Workload, check_scheme,
};
use paceline_sim::{Outcome, run};

/// Values by what they are.
pub(crate) struct Measures(Vec<(&'static str, f64)>);

impl Measures {
    pub(crate) fn get(&self, what: &str) -> f64 {
        self.0.iter().find(|(name, _)| *name == what).map_or(f64::NAN, |(_, value)| *value)
    }
}

const BIN: Span = Span::from_millis(100);
const BIN_S: f64 = 0.1;
/// From here on a call on a constant link has settled.
const SETTLED: u64 = 15;

/// A call as the real ones were: up to 6 Mbit/s, packets of 1228 bytes, over a link of 250 packets.
fn call(scheme: &str, capacity: Capacity, seconds: u64, warmup: u64, seed: u64) -> Scenario {
    let mut scenario = Scenario::new("a call");
    scenario.duration = Span::from_secs(seconds);
    scenario.warmup = Span::from_secs(warmup);
    scenario.seed = seed;
    scenario.mss = 1228;
    scenario.record = Record::Series(BIN);
    let mut link = LinkSpec::new("up", capacity);
    link.buffer = BufferSize::Packets(250);
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(check_scheme(scheme).expect("a scheme"), &["up"]);
    flow.rtt = Span::from_millis(50);
    let (min, max) = (Rate::from_bps(50_000), Rate::from_mbps(6.0));
    flow.workload = Workload::Video(Video { min, max, ..Video::default() });
    scenario.flows.push(flow);
    scenario
}

const CHROMIUM: &str = "gcc[max_rate=6Mbps]";

fn targets(outcome: &Outcome) -> &[f64] {
    let series = outcome.flows[0].series.as_ref().expect("recorded");
    let target = series.state.iter().find(|(name, _)| *name == "target");
    target.map_or(&[], |(_, values)| values)
}

/// How long after `from` seconds the target stays above `least` for a second; infinity for never.
fn reached(targets: &[f64], least: f64, from: f64) -> f64 {
    let first = (from / BIN_S) as usize;
    let stays = |at: &usize| {
        let second = &targets[*at..(*at + 11).min(targets.len())];
        second.len() > 10 && second.iter().all(|target| *target >= least)
    };
    let at = (first..targets.len()).find(stays);
    at.map_or(f64::INFINITY, |at| (at - first + 1) as f64 * BIN_S)
}

fn constant(mbps: f64, seed: u64) -> Measures {
    let capacity = || Capacity::Constant(Rate::from_mbps(mbps));
    let outcome = run(&call(CHROMIUM, capacity(), 75, SETTLED, seed)).expect("runs");
    let link = &outcome.links[0];
    Measures(vec![
        ("80 % after, s", reached(targets(&outcome), 0.8 * mbps, 0.0)),
        ("used from 15 s, %", 100.0 * link.utilization),
        ("p95 queue from 15 s, ms", link.queue_delay_ms.p95),
    ])
}

fn step(seed: u64) -> Measures {
    let steps = [(0, 2.0), (42, 0.7), (72, 2.0)];
    let steps = steps.map(|(at, rate)| (Span::from_secs(at), Rate::from_mbps(rate))).to_vec();
    let capacity = Capacity::Schedule { steps, period: None };
    let outcome = run(&call(CHROMIUM, capacity, 115, 0, seed)).expect("runs");
    let targets = targets(&outcome);
    let before = targets[419];
    let fall = targets[420..].iter().position(|target| *target < 0.93 * before);
    let queues = &outcome.links[0].series.as_ref().expect("recorded").queue_delay_ms[420..720];
    Measures(vec![
        ("reaction, s", fall.map_or(f64::INFINITY, |bins| (bins + 1) as f64 * BIN_S)),
        ("worst queue, s", queues.iter().copied().fold(0.0, f64::max) / 1000.0),
        ("80 % again after, s", reached(targets, 1.6, 72.0)),
    ])
}

fn recording(name: &str) -> Option<Capacity> {
    let path = paceline_testing::recording(name)?;
    let trace = paceline_trace::load(path.to_str().expect("a path")).expect("a recording");
    Some(Capacity::trace(trace))
}

fn cellular(name: &str, start: u64, seed: u64) -> Option<Measures> {
    let mut scenario = call(CHROMIUM, recording(name)?, start + 60, start, seed);
    scenario.flows[0].start = Span::from_secs(start);
    let outcome = run(&scenario).expect("runs");
    Some(Measures(vec![
        ("rate, Mbit/s", outcome.links[0].throughput_mbps),
        ("p95 queue, ms", outcome.links[0].queue_delay_ms.p95),
    ]))
}

fn beside_cubic(queue: &str, seed: u64) -> Measures {
    let capacity = Capacity::Constant(Rate::from_mbps(4.0));
    let mut scenario = call(CHROMIUM, capacity, 90, 60, seed);
    scenario.links[0].queue = QueueChoice::Named(Spec::parse(queue).expect("a queue"));
    let mut bulk = FlowSpec::bulk(check_scheme("cubic").expect("a scheme"), &["up"]);
    bulk.rtt = Span::from_millis(50);
    bulk.start = Span::from_secs(20);
    scenario.flows.push(bulk);
    let outcome = run(&scenario).expect("runs");
    Measures(vec![("rate, Mbit/s", outcome.flows[0].goodput_mbps)])
}

/// Longest part of a recording that is run, in seconds.
const LONGEST: u64 = 300;

/// The longest time in seconds in which the target is at most 150 kbit/s and the link offers at least
/// 0.1 Mbit/s in each second.
fn lock_up(scheme: &str, name: &str, seed: u64) -> Option<f64> {
    let capacity = recording(name)?;
    let scenario = call(scheme, capacity, LONGEST, 0, seed);
    let outcome = run(&scenario).expect("runs");
    let targets = targets(&outcome);
    let offered = &outcome.links[0].series.as_ref().expect("recorded").capacity_mbps;
    let (mut longest, mut seconds) = (0u32, 0u32);
    for (target, offered) in targets.chunks(10).zip(offered.chunks(10)) {
        let is_low = target.iter().all(|target| *target <= 0.15);
        let is_out = offered.iter().sum::<f64>() / (offered.len() as f64) < 0.1;
        seconds = if is_low && !is_out { seconds + 1 } else { 0 };
        longest = longest.max(seconds);
    }
    Some(f64::from(longest))
}

fn lock_ups(scheme: &str, seed: u64) -> Option<Measures> {
    let mut longest = 0.0f64;
    for name in paceline_testing::RECORDINGS {
        let seconds = lock_up(scheme, name, seed)?;
        longest = longest.max(seconds);
    }
    Some(Measures(vec![("longest lock-up, s", longest)]))
}

/// Runs what bounds call `run`. Nothing if it needs recordings that are not there.
pub(crate) fn measure(run: &str, seed: u64) -> Option<Measures> {
    let (verizon, tmobile) = ("Verizon-LTE-short.down", "TMobile-LTE-short.down");
    match run {
        "2, 0.7, 2 Mbit/s" => Some(step(seed)),
        "Verizon LTE from 0 s" => cellular(verizon, 0, seed),
        "Verizon LTE from 60 s" => cellular(verizon, 60, seed),
        "T-Mobile LTE from 0 s" => cellular(tmobile, 0, seed),
        "T-Mobile LTE from 60 s" => cellular(tmobile, 60, seed),
        "beside Cubic, droptail" => Some(beside_cubic("droptail", seed)),
        "beside Cubic, CoDel" => Some(beside_cubic("codel", seed)),
        "twelve recordings" => lock_ups(CHROMIUM, seed),
        "twelve recordings, variant=draft" => lock_ups("gcc[max_rate=6Mbps,variant=draft]", seed),
        "twelve recordings, variant=mmsys2016" => {
            lock_ups("gcc[max_rate=6Mbps,variant=mmsys2016]", seed)
        }
        constants => {
            let mbps = constants.strip_suffix(" Mbit/s").expect("a rate");
            Some(constant(mbps.parse().expect("a rate"), seed))
        }
    }
}

//! Several runs of one scenario, each with its own seed and its own start within the recordings.
//!
//! A single run is not enough: on a cellular trace, the position at which a flow begins can double
//! a result. The runs of a scenario differ only in ways that should not matter: in the seed, and in
//! the position at which the path's recordings begin. Both depend only on the scenario's seed, so
//! that compared schemes use the same link in the same run.

mod values;

use paceline_cc::{Span, Stream};
use paceline_trace::delays::steps_starting_at;

use crate::scenario::{Capacity, McsSpec, Scenario, Stretch};

pub use values::{MAX_RUNS, MAX_SEED, Runs, Spread};

/// Starts on traces are multiples of a millisecond, the resolution of Mahimahi's format.
const START_STEP: Span = Span::from_millis(1);

/// One of the runs of a scenario.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of the run, from 1 on.
    pub number: u32,
    /// Seed of all its random streams.
    pub seed: u64,
    /// How much later its recordings begin; without recordings, how much later its first flow
    /// starts.
    pub start: Span,
}

impl Run {
    /// Returns run `number` of a scenario, which may exceed its [`Runs::count`]. Run 1 has the
    /// scenario's seed and starts at 0: it is the unchanged scenario.
    ///
    /// The start of every other run is uniform within the spread, and at most the longest period of
    /// the recordings on the path (traces, schedules, recorded delays, steps of 802.11 stations).
    /// If nothing repeats, it shifts the start of the first flow relative to the other flows (or to
    /// a schedule), uniformly within its round-trip delay; without other flows and schedules it is
    /// 0.
    pub fn of(scenario: &Scenario, number: u32) -> Run {
        if number <= 1 {
            return Run { number: 1, seed: scenario.seed, start: Span::ZERO };
        }
        let mut random = stream(scenario.seed, number);
        let seed = random.next_u64() >> 32;
        let at = random.uniform();
        let within = |limit: Span| Span::from_nanos((at * limit.as_nanos() as f64) as u64);
        let start = match (longest_period(scenario), scenario.runs.spread) {
            (None, Spread::Within(spread)) => within(flow_offset(scenario).min(spread)),
            (None, Spread::Trace) => within(flow_offset(scenario)),
            (Some(period), Spread::Within(spread)) => whole(within(period.min(spread))),
            (Some(period), Spread::Trace) => whole(within(period)),
        };
        Run { number, seed, start }
    }

    /// Returns all runs of a scenario.
    pub fn all(scenario: &Scenario) -> impl Iterator<Item = Run> {
        (1..=scenario.runs.count).map(|number| Run::of(scenario, number))
    }

    /// Returns the scenario of this run, which is a single one. Run 1 is unchanged. In the others,
    /// all recordings on the path begin `start` later and wrap at their end, at the same offset on
    /// all links and in both directions; the flows' starts and the measured time do not change.
    pub fn scenario(&self, scenario: &Scenario) -> Scenario {
        let mut scenario = scenario.clone();
        scenario.runs = Runs::default();
        scenario.states_runs = false;
        scenario.seed = self.seed;
        if self.start.is_zero() {
            return scenario;
        }
        if longest_period(&scenario).is_some() {
            start_recordings_at(&mut scenario, self.start);
        } else if let Some(flow) = scenario.flows.first_mut() {
            flow.start += self.start;
        }
        scenario
    }
}

/// Returns the seed of run `number` if `seed` is that of run 1. It has 32 bits: easy to read, and
/// exact in every JSON reader.
pub fn seed_of_run(seed: u64, number: u32) -> u64 {
    if number <= 1 { seed } else { stream(seed, number).next_u64() >> 32 }
}

/// Returns the stream from which the seed of a run and then its start are drawn.
fn stream(seed: u64, number: u32) -> Stream {
    Stream::new(seed, &format!("run {number}"))
}

fn whole(start: Span) -> Span {
    START_STEP * (start.as_nanos() / START_STEP.as_nanos())
}

/// Returns the longest period of the recordings on the paths; `None` if nothing repeats.
fn longest_period(scenario: &Scenario) -> Option<Span> {
    let links = scenario.links.iter().filter_map(|link| match &link.capacity {
        Capacity::Trace { trace, .. } => Some(trace.period()),
        Capacity::Schedule { period, .. } => *period,
        Capacity::Wifi(wifi) => match &wifi.mcs {
            McsSpec::Steps { period, .. } => *period,
            McsSpec::Walk { .. } => None,
        },
        Capacity::Constant(_) => None,
    });
    let stations = scenario.media.iter().flat_map(|medium| &medium.stations);
    let stations = stations.filter_map(|station| station.period);
    let delays = |stretch: &Stretch| Some(stretch.impairments.delays.as_ref()?.period());
    let behind = scenario.links.iter().filter_map(|link| delays(&link.after));
    let flows = scenario.flows.iter().chain(scenario.arrivals.iter().map(|all| &all.flow));
    let around = flows.flat_map(|flow| [&flow.data, &flow.acks]).filter_map(delays);
    links.chain(stations).chain(behind).chain(around).max()
}

/// Returns the range of the first flow's start if nothing repeats: its round-trip delay if there
/// are other flows or a schedule, otherwise zero.
fn flow_offset(scenario: &Scenario) -> Span {
    let others = scenario.flows.len() + scenario.arrivals.len() > 1;
    let is_scheduled = |capacity: &Capacity| matches!(capacity, Capacity::Schedule { steps, .. } if steps.len() > 1);
    let scheduled = scenario.links.iter().any(|link| is_scheduled(&link.capacity));
    let Some(flow) = scenario.flows.first().filter(|_| others || scheduled) else {
        return Span::ZERO;
    };
    let rtt = flow.rtt + flow.data.delay + flow.acks.delay;
    // A flow that stops within its first round trip keeps its start.
    if flow.stop.is_some_and(|stop| stop <= flow.start + rtt) { Span::ZERO } else { rtt }
}

/// Makes all recordings begin `start` later.
fn start_recordings_at(scenario: &mut Scenario, start: Span) {
    let move_delays = |stretch: &mut Stretch| {
        if let Some(delays) = &mut stretch.impairments.delays {
            *delays = delays.starting_at(start);
        }
    };
    for link in &mut scenario.links {
        match &mut link.capacity {
            Capacity::Trace { trace, .. } => *trace = trace.starting_at(start),
            Capacity::Schedule { steps, period: Some(period) } => {
                *steps = steps_starting_at(steps, *period, start);
            }
            Capacity::Wifi(wifi) => {
                if let McsSpec::Steps { steps, period: Some(period) } = &mut wifi.mcs {
                    *steps = steps_starting_at(steps, *period, start);
                }
            }
            Capacity::Schedule { period: None, .. } | Capacity::Constant(_) => {}
        }
        move_delays(&mut link.after);
    }
    for station in scenario.media.iter_mut().flat_map(|medium| &mut medium.stations) {
        if let Some(period) = station.period {
            station.mcs = steps_starting_at(&station.mcs, period, start);
            station.snr = steps_starting_at(&station.snr, period, start);
        }
    }
    let arrivals = scenario.arrivals.iter_mut().map(|arrivals| &mut arrivals.flow);
    for flow in scenario.flows.iter_mut().chain(arrivals) {
        move_delays(&mut flow.data);
        move_delays(&mut flow.acks);
    }
}

//! Scenario files: no panic, every mistake has its place in the text, and accepted scenarios can be
//! written, built and run without losing count of a packet.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::{Span, Time};
use paceline_sim::Simulation;
use paceline_sim::scenario::{self, Record, Scenario};

/// Longest simulated time.
const DURATION: Span = Span::from_secs(20);
/// Number of packets passed between stages after which a run ends.
const HAND_OVERS: u64 = 10_000;
/// Longest step of time.
const STEP: Span = Span::from_millis(5);
/// Most kinds of flows, and most flows of each kind.
const FLOWS: usize = 8;
/// Most random arrivals in a second.
const ARRIVALS: f64 = 50.0;

fuzz_target!(|text: &str| {
    // Traces would be read from files.
    if text.contains("trace") {
        return;
    }
    match scenario::parse("f.toml", text, None) {
        Ok(scenario) => {
            // The format cannot express every accepted value exactly; then writing returns an
            // error.
            if let Err(error) = scenario::to_toml(&scenario, "", &mut |_| String::new()) {
                assert!(!error.message.is_empty());
            }
            if scenario.flows.len() + scenario.arrivals.len() <= FLOWS {
                run(&small(scenario));
            }
        }
        Err(error) => {
            assert!(!error.message.is_empty());
            let lines = text.split('\n').count();
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)));
            assert!(error.span.is_none_or(|span| span.start <= span.end && span.end <= text.len()));
        }
    }
});

/// Returns the scenario with a short duration, few flows and only counters recorded.
fn small(mut scenario: Scenario) -> Scenario {
    scenario.duration = scenario.duration.min(DURATION);
    scenario.warmup = scenario.warmup.min(scenario.duration / 2);
    scenario.record = Record::Counters;
    for flow in &mut scenario.flows {
        flow.count = flow.count.min(FLOWS as u32);
    }
    for arrivals in &mut scenario.arrivals {
        arrivals.per_second = arrivals.per_second.min(ARRIVALS);
    }
    scenario
}

/// Builds and runs a scenario. Steps of time become shorter while many packets pass between stages,
/// so that a fast link does not exceed their limit by much.
fn run(scenario: &Scenario) {
    let mut simulation = match Simulation::new(scenario) {
        Ok(simulation) => simulation,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let end = Time::ZERO + scenario.duration;
    let (mut now, mut step, mut before) = (Time::ZERO, Span::from_micros(10), 0);
    while now < end && simulation.world().hand_overs() < HAND_OVERS {
        now = (now + step).min(end);
        simulation.advance(now);
        let done = simulation.world().hand_overs();
        step = if done - before > 100 { step / 2 } else { step * 2 };
        step = step.clamp(Span::from_nanos(100), STEP);
        before = done;
    }
    assert!(simulation.world().census().is_balanced(), "{:?}", simulation.world().census());
    let outcome = simulation.outcome().expect("what could be built can be measured");
    assert_eq!(outcome.links.len(), scenario.links.len());
}

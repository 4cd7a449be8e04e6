//! Scenario files: no panic, every mistake has its place in the text, and what is accepted can be
//! written, built and run without a packet going missing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::{Span, Time};
use paceline_sim::Simulation;
use paceline_sim::scenario::{self, Record, Scenario};

/// The longest simulated time.
const DURATION: Span = Span::from_secs(20);
/// A run ends soon after so many hand-overs of packets between stages.
const HAND_OVERS: u64 = 10_000;
/// The longest step of time.
const STEP: Span = Span::from_millis(5);
/// The most kinds of flows, and the most flows of each kind.
const FLOWS: usize = 8;
/// The most random arrivals a second.
const ARRIVALS: f64 = 50.0;

fuzz_target!(|text: &str| {
    // Traces are files: leave the file system alone.
    if text.contains("trace") {
        return;
    }
    match scenario::parse("f.toml", text, None) {
        Ok(scenario) => {
            // The format cannot express every accepted value exactly, which is an error to tell.
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

/// The same scenario with a short duration, few flows and counters only.
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

/// Builds and runs a scenario. The steps of time become shorter while much happens, so that a link
/// of any rate stays near the limit of hand-overs.
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

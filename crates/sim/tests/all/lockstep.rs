//! Flows that begin together and have equal RTTs do not stay in step.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, check_scheme};
use paceline_sim::{Outcome, run};

/// Forty Cubic flows over 100 Mbit/s with a buffer of 25 packets and an RTT of 4 ms, for 30 s.
fn shallow(seed: u64) -> Outcome {
    let mut scenario = Scenario::new("shallow");
    (scenario.seed, scenario.duration) = (seed, Span::from_secs(30));
    scenario.record = Record::Sums;
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(100.0)));
    scenario.links.push(link.with(|link| link.buffer = BufferSize::Packets(25)));
    let flow = FlowSpec::bulk(check_scheme("cubic").expect("a scheme"), &["link"]);
    scenario.flows.push(flow.with(|flow| (flow.count, flow.rtt) = (40, Span::from_millis(4))));
    run(&scenario).expect("a legal scenario")
}

/// Returns the number of flows that got less than 3 kB.
fn starved(outcome: &Outcome) -> usize {
    outcome.flows.iter().filter(|flow| flow.goodput_mbps < 0.0008).count()
}

/// With Linux through the emulator, Jain's index is .77 to .94, and 0 to 6 flows starve.
#[test]
fn no_flow_starves_at_a_shallow_buffer() {
    for seed in 1..=5 {
        let outcome = shallow(seed);
        assert!(outcome.jain() > 0.75 && starved(&outcome) <= 6, "{seed}: {}", outcome.jain());
    }
}

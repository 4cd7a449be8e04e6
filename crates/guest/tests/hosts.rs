//! Flows between real Linux hosts, over simulated links. Skipped where no guest is built.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use paceline_cc::{Rate, Span};
use paceline_guest::build::BuiltGuest;
use paceline_guest::{find, transport};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};
use paceline_sim::{BuildError, Outcome, run};
use paceline_testing::{Need, skip, this_test};

/// The guest, or a skipped test.
fn guest() -> Option<BuiltGuest> {
    match find(None) {
        Ok(files) => Some(files),
        Err(error) => {
            skip(Need::Linux, &this_test(), &error.to_string());
            None
        }
    }
}

fn scenario(files: &BuiltGuest, scheme: &str, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new("hosts");
    scenario.duration = Span::from_secs(seconds);
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_bps(12_000_000)));
    scenario.links.push(link);
    let files = files.clone();
    let made = transport(scheme, move || Ok(files.clone())).expect("a transport");
    scenario.flows.push(FlowSpec::bulk(made, &["link"]));
    scenario
}

/// One run.
fn outcome(scenario: &Scenario) -> Result<Outcome, BuildError> {
    run(scenario)
}

#[test]
fn equal_runs_have_equal_digests() {
    let Some(files) = guest() else { return };
    let scenario = scenario(&files, "cubic", 5);
    let first = outcome(&scenario).expect("a run");
    let second = outcome(&scenario).expect("a run");
    assert_eq!(first.digest, second.digest);
    // Another seed gives other sequence numbers, which the digest covers.
    let mut other = scenario;
    other.seed = 2;
    assert_ne!(outcome(&other).expect("a run").digest, first.digest);
    let flow = &first.flows[0];
    assert!((10.0..11.59).contains(&flow.goodput_mbps), "{flow:?}");
    assert!(flow.rtt_ms.p50 > 100.0 && flow.rtt_ms.max < 400.0, "{flow:?}");
}

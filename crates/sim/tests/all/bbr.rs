//! BBR and BBR3 in cases that bulk transfers do not cover: small transfers with pauses, and a path
//! whose bandwidth-delay product is smaller than a burst.

use paceline_cc::{Rate, Span};
use paceline_sim::scenario::{self, Capacity, FlowSpec, LinkSpec, Scenario, check_scheme};
use paceline_sim::{Outcome, run};

/// Returns the 99th percentile of completion times in ms, of transfers of `bytes` on average
/// (Pareto, shape 1.05) with pauses of 1 s, over 4 Mbit/s and 70 ms.
fn slowest_transfers(scheme: &str, bytes: f64) -> f64 {
    let text = format!(
        "duration = \"600s\"\n\
         [[link]]\n\
         name = \"link\"\n\
         rate = \"4Mbps\"\n\
         [[flow]]\n\
         scheme = \"{scheme}\"\n\
         rtt = \"70ms\"\n\
         on_off = {{ on_bytes = {bytes:?}, off = \"1s\", pareto = 1.05, starts_off = false, fresh = false }}\n"
    );
    let scenario = scenario::parse("transfers", &text, None).expect("legal");
    let outcome = run(&scenario).expect("runs");
    outcome.flows[0].completion_ms.as_ref().expect("transfers").p99
}

/// Samples of a flight after a pause are limited by the application, and say little about the path
/// (quiche `bbr_sender_test` ApplicationLimitedBursts).
#[test]
fn small_transfers_leave_the_bandwidth_known() {
    for (scheme, bytes) in [("bbr", 3000.0), ("bbr3", 20_000.0)] {
        let (bbr, cubic) = (slowest_transfers(scheme, bytes), slowest_transfers("cubic", bytes));
        assert!(bbr <= 1.5 * cubic, "{scheme}: {bbr:.0} ms, cubic {cubic:.0} ms");
    }
}

/// A flow whose path carries less than a burst per round trip has no packets in flight while the
/// pacer waits. It probes for more bandwidth in spite of that (quiche `bbr2_simulator_test`
/// BandwidthIncrease).
#[test]
fn bbr3_finds_a_hundredfold_bandwidth() {
    let mut scenario = Scenario::new("increase").with(|s| s.duration = Span::from_secs(60));
    let steps = [(Span::ZERO, 0.1), (Span::from_secs(15), 10.0)];
    let steps = steps.map(|(at, mbps)| (at, Rate::from_mbps(mbps)));
    let capacity = Capacity::Schedule { steps: steps.to_vec(), period: None };
    scenario.links.push(LinkSpec::new("link", capacity));
    let flow = FlowSpec::bulk(check_scheme("bbr3").expect("a scheme"), &["link"]);
    scenario.flows.push(flow);
    let outcome: Outcome = run(&scenario).expect("runs");
    let mbps = outcome.flows[0].goodput_mbps;
    assert!(mbps > 5.0, "{mbps:.2} Mbit/s");
}

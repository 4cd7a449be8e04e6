//! Runs that record sums only, and runs without a digest.

use std::sync::Arc;

use paceline_cc::{Rate, Span, Time};
use paceline_flow::{Amount, On};
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, Record, Scenario, Workload, check_scheme,
};
use paceline_sim::{Simulation, run};

/// Two on-off flows, 15 Mbit/s, 150 ms, 100 s, as in a trainer's runs.
fn scenario(record: Record) -> Scenario {
    let mut scenario = Scenario::new("sums");
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(15.0))));
    let mut flow = FlowSpec::bulk(check_scheme("newreno").expect("known"), &["link"]);
    flow.rtt = Span::from_millis(150);
    flow.count = 2;
    flow.workload = Workload::OnOff {
        on: On::Time(Amount::Exponential(5.0)),
        off: Amount::Exponential(5.0),
        starts_off: true,
        fresh: true,
    };
    scenario.flows.push(flow);
    scenario.duration = Span::from_secs(100);
    scenario.warmup = Span::from_secs(10);
    scenario.record = record;
    scenario
}

#[test]
fn sums_agree_with_what_is_recorded_in_detail() {
    let detailed = run(&scenario(Record::Metrics)).expect("runs");
    let summed = run(&scenario(Record::Sums)).expect("runs");
    assert_eq!(detailed.digest, summed.digest);
    for (all, flow) in detailed.flows.iter().zip(&summed.flows) {
        let sums = flow.sums.expect("recorded");
        assert!(all.sums.is_none());
        assert_eq!(all.goodput_mbps, flow.goodput_mbps);
        let goodput = sums.bytes as f64 * 8e-6 / 90.0;
        assert!((goodput / flow.goodput_mbps - 1.0).abs() < 1e-12, "but for rounding: {goodput}");
        let delay = 1e3 * sums.delay_s / sums.packets as f64;
        assert!((delay - all.one_way_delay_ms.mean).abs() < 1e-3, "{delay}");
        let rtt = 1e3 * sums.rtt_s / sums.rtt_samples as f64;
        assert!((rtt - all.rtt_ms.mean).abs() < 1e-3, "{rtt}");
        assert!(sums.lost == all.sender.lost && sums.packets > 1000);
        assert!((10.0..90.0).contains(&sums.on_s), "{sums:?}");
        assert!(flow.rtt_ms.p95.is_nan(), "sums have no quantiles");
    }
}

/// All counters of a flow cover the same time: from the end of the warm-up on.
#[test]
fn the_counters_of_senders_leave_the_warm_up_out() {
    let mut all = scenario(Record::Metrics);
    all.flows[0].workload = Workload::Bulk;
    // Slow start fills the queue within the warm-up.
    let of = |warmup, duration| {
        let mut scenario = all.clone();
        (scenario.warmup, scenario.duration) = (Span::from_secs(warmup), Span::from_secs(duration));
        run(&scenario).expect("runs").flows
    };
    let (whole, early, late) = (of(0, 100), of(0, 10), of(10, 100));
    for ((whole, early), late) in whole.iter().zip(&early).zip(&late) {
        assert!(early.sender.retransmits > 0, "{:?}", early.sender);
        assert_eq!(late.sender, whole.sender - early.sender);
        assert_eq!(late.since_start, whole.sender);
        assert_eq!(whole.since_start, whole.sender);
    }
}

#[test]
fn bulk_flows_are_always_on() {
    let mut scenario = scenario(Record::Sums);
    scenario.flows[0].workload = Workload::Bulk;
    scenario.flows[0].stop = Some(Span::from_secs(50));
    for flow in run(&scenario).expect("runs").flows {
        assert_eq!(flow.sums.expect("recorded").on_s, 40.0);
    }
}

#[test]
fn sums_are_there_on_the_way_and_after_the_warm_up_only() {
    let shared = Arc::new(scenario(Record::Sums));
    let mut simulation = Simulation::new(shared).expect("builds");
    simulation.advance(Time::from_secs(9));
    assert!(simulation.sums().all(|sums| sums.packets == 0 && sums.on_s == 0.0));
    simulation.advance(Time::from_secs(60));
    assert_eq!(simulation.sums().len(), 2);
    assert!(simulation.sums().all(|sums| sums.on_s <= 50.0));
    assert!(simulation.sums().map(|sums| sums.packets).sum::<u64>() > 1000);
}

#[test]
fn a_digest_that_nobody_wants_is_not_computed() {
    let mut scenario = scenario(Record::Sums);
    let with = run(&scenario).expect("runs");
    scenario.digest = false;
    let without = run(&scenario).expect("runs");
    assert!(!with.digest.is_empty() && without.digest.is_empty());
    assert_eq!(with.flows[0].sums, without.flows[0].sums);
}

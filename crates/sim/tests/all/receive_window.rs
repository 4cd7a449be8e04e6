//! Flows that the receiver's window limits.

use paceline_cc::{Rate, Span};
use paceline_flow::Workload;
use paceline_path::{BufferSize, Loss};
use paceline_sim::run;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, check_scheme};

/// One flow over an unlimited queue at 12 Mbit/s, RTT 100 ms: the bandwidth-delay product is 150
/// kB.
fn scenario(scheme: &str, window: Option<u64>) -> Scenario {
    let mut scenario = Scenario::new("window");
    scenario.duration = Span::from_secs(30);
    scenario.warmup = Span::from_secs(10);
    scenario.record = Record::Series(Span::from_secs(1));
    let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0)));
    link.buffer = BufferSize::Unlimited;
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(check_scheme(scheme).expect(scheme), &["link"]);
    flow.receive_window = window;
    scenario.flows.push(flow);
    scenario
}

#[test]
fn it_bounds_throughput_and_queue() {
    for scheme in ["newreno", "cubic", "bbr", "abc"] {
        // Half of the bandwidth-delay product: half of the link, and no queue.
        let half = run(&scenario(scheme, Some(75_000))).expect("runs");
        let link = &half.links[0];
        assert!((link.utilization - 0.5).abs() < 0.03, "{scheme}: {}", link.utilization);
        assert!(link.queue_delay_ms.p95 < 40.0, "{scheme}: {:?}", link.queue_delay_ms);
    }
    // 600 kB beyond the bandwidth-delay product of 150 kB are 400 ms of queue.
    let four = run(&scenario("newreno", Some(750_000))).expect("runs");
    let delay = four.links[0].queue_delay_ms.max;
    assert!(four.links[0].utilization > 0.99 && (380.0..=402.0).contains(&delay), "{delay}");
    let free = run(&scenario("newreno", None)).expect("runs");
    assert!(free.links[0].queue_delay_ms.max > 2.0 * delay);
}

#[test]
fn the_controllers_window_does_not_grow_meanwhile() {
    let outcome = run(&scenario("newreno", Some(75_000))).expect("runs");
    let series = outcome.flows[0].series.as_ref().expect("recorded");
    let (_, cwnd) = series.state.iter().find(|(name, _)| *name == "cwnd").expect("shown");
    let last = cwnd.last().copied().expect("a bin");
    // RFC 9002 §7.8, Linux: a window that is not used does not measure the path.
    assert!(last < 2.5 * 50.0, "{last} packets");
}

#[test]
fn probes_of_the_tail_stay_within_it() {
    // One packet at a time: without an acknowledgement, only that packet is sent again.
    let mut lossy = scenario("newreno", Some(1500));
    lossy.flows[0].data.impairments.loss = Loss::Bernoulli(0.2);
    lossy.warmup = Span::ZERO;
    let outcome = run(&lossy).expect("runs");
    let flow = &outcome.flows[0];
    assert!(flow.sender.retransmits > 10, "{flow:?}");
    let arrived = (flow.goodput_mbps * 1e6 / 8.0 * outcome.duration_s / 1500.0).round() as u64;
    assert!(flow.sender.sent - flow.sender.retransmits <= arrived + 1, "{flow:?}");
}

#[test]
fn losses_are_repaired_within_it() {
    let mut lossy = scenario("cubic", Some(75_000));
    lossy.flows[0].data.impairments.loss = Loss::Bernoulli(0.005);
    let outcome = run(&lossy).expect("runs");
    let counted = outcome.flows[0].since_start;
    assert!(counted.retransmits > 20 && counted.timeouts < 5, "{counted:?}");
    assert!(outcome.links[0].utilization > 0.12);
}

/// The window counts bytes, not packets: an application that writes small messages needs 25 kB in flight, in 125 packets of
/// 200 bytes, and a window of 64 KiB does not limit it.
#[test]
fn small_packets_count_as_their_bytes() {
    let small = |window| {
        let mut scenario = scenario("cubic", window);
        scenario.flows[0].workload = Workload::Limited { rate: Rate::from_mbps(2.0), message: 200 };
        let outcome = run(&scenario).expect("runs");
        let flow = &outcome.flows[0];
        (flow.since_start.sent, flow.one_way_delay_ms.p95)
    };
    assert_eq!(small(Some(65_536)), small(None));
    let (packets, _) = small(Some(15_000));
    assert!(packets < small(None).0);
}

/// Receivers that do not wait for lost data have no window: it would be ignored.
#[test]
fn schemes_that_send_nothing_again_have_none() {
    let error = run(&scenario("sprout", Some(30_000))).expect_err("no window").to_string();
    assert!(error.contains("receive_window") && error.contains("sprout"), "{error}");
}

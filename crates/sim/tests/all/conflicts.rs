//! Settings that flows may leave to their link, and those where they must agree.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_sim::scenario::{
    Arrivals, Capacity, FlowSpec, LinkSpec, QueueChoice, RouterChoice, Scenario, check_scheme,
};
use paceline_sim::{Outcome, choose, run};

/// Flows with these schemes over one link, for a second.
fn scenario(schemes: &[&str]) -> Scenario {
    let mut scenario = Scenario::new("conflicts");
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
    for (number, scheme) in schemes.iter().enumerate() {
        let mut flow = FlowSpec::bulk(check_scheme(scheme).expect(scheme), &["link"]);
        flow.name = format!("flow-{number}");
        scenario.flows.push(flow);
    }
    scenario.duration = Span::from_secs(1);
    scenario
}

/// Returns the error of a scenario that cannot run.
fn error(scenario: &Scenario) -> String {
    run(scenario).expect_err("a conflict").to_string()
}

#[test]
fn different_routers_over_one_link_are_an_error() {
    let mut scenario = scenario(&["cubic", "abc", "xcp"]);
    let text = error(&scenario);
    for part in ["link `link`", "`flow-1`", "`abc`", "`flow-2`", "`xcp`", "router = \"none\""] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    for choice in ["none", "abc", "xcp"] {
        scenario.links[0].router = match choice {
            "none" => RouterChoice::None,
            scheme => RouterChoice::Scheme(check_scheme(scheme).expect("known").sender),
        };
        run(&scenario).expect("the link decides");
    }
}

#[test]
fn a_scheme_with_different_parameters_is_a_different_router() {
    assert!(error(&scenario(&["abc", "abc[eta=0.9]"])).contains("abc[eta=0.9]"));
    run(&scenario(&["abc+codel", "abc", "abc"])).expect("one router");
}

#[test]
fn one_flow_with_a_router_is_no_conflict() {
    let scenario = scenario(&["cubic", "abc"]);
    let router = choose::router(&scenario, &scenario.links[0], None).expect("no conflict");
    assert!(matches!(router, RouterChoice::Scheme(spec) if spec.name == "abc"));
    run(&scenario).expect("runs");
}

#[test]
fn different_queues_over_one_link_are_an_error() {
    let mut scenario = scenario(&["cubic", "cubic+codel", "cubic+pie"]);
    let text = error(&scenario);
    for part in ["link `link`", "`flow-1`", "`codel`", "`flow-2`", "`pie`", "queue = \"codel\""] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    scenario.links[0].queue = QueueChoice::droptail();
    run(&scenario).expect("the link decides");
    scenario.links[0].queue = QueueChoice::Auto;
    scenario.flows.pop();
    let queue = choose::queue(&scenario, &scenario.links[0]).expect("no conflict");
    assert_eq!(queue.to_string(), "codel");
}

#[test]
fn short_flows_count_too() {
    let mut scenario = scenario(&["abc"]);
    let mut flow = scenario.flows[0].clone();
    flow.scheme = check_scheme("xcp").expect("known").into();
    let bytes = paceline_flow::Amount::Fixed(10_000.0);
    scenario.arrivals.push(Arrivals { flow, per_second: 1.0, bytes });
    assert!(error(&scenario).contains("`xcp`"));
}

#[test]
fn a_bandwidth_delay_product_needs_one_rtt() {
    let mut scenario = scenario(&["cubic", "cubic"]);
    scenario.links[0].buffer = BufferSize::Bdp(1.0);
    run(&scenario).expect("both have the same");
    scenario.flows[1].rtt = Span::from_millis(50);
    let text = error(&scenario);
    for part in ["link `link`", "`flow-0`", "100ms", "`flow-1`", "50ms", "rtt = \"100ms\""] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    scenario.links[0].rtt = Some(Span::from_millis(100));
    let long = run(&scenario).expect("the link decides");
    scenario.links[0].rtt = Some(Span::from_millis(10));
    let short = run(&scenario).expect("the link decides");
    let longest = |outcome: &Outcome| outcome.links[0].queue_delay_ms.max;
    assert!(longest(&short) < 20.0 && longest(&long) > 20.0);
    scenario.links[0].rtt = None;
    scenario.links[0].buffer = BufferSize::Packets(100);
    run(&scenario).expect("nobody asks for an RTT");
    scenario.links[0].buffer = BufferSize::Bdp(1.0);
    scenario.flows.iter_mut().for_each(|flow| flow.path.clear());
    assert!(error(&scenario).contains("no flow passes it"));
    scenario.flows[1].back.push("link".into());
    let rtt = choose::rtt(&scenario, &scenario.links[0]).expect("one flow");
    assert_eq!(rtt, Span::from_millis(50));
}

//! Feedback of congestion marks: accurate counters, the classic echo, or none.

use paceline_cc::{EcnFeedback, Rate, Span};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, check_scheme};
use paceline_sim::{Outcome, run};

fn over_codel(feedback: EcnFeedback) -> Outcome {
    let mut scenario = Scenario::new("ecn");
    scenario.duration = Span::from_secs(60);
    scenario.warmup = Span::from_secs(10);
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
    let scheme = check_scheme("cubic[ecn=true]+codel[ecn=true]").expect("a scheme");
    let mut flow = FlowSpec::bulk(scheme, &["link"]);
    flow.ecn = feedback;
    scenario.flows.push(flow);
    run(&scenario).expect("runs")
}

#[test]
fn marks_replace_drops_and_the_classic_echo_does_as_well() {
    let (accurate, classic) = (over_codel(EcnFeedback::Accurate), over_codel(EcnFeedback::Classic));
    let off = over_codel(EcnFeedback::Off);
    for outcome in [&accurate, &classic] {
        let link = &outcome.links[0];
        assert!(link.marks > 5 && link.drops == 0, "{} marks, {} drops", link.marks, link.drops);
        assert_eq!(outcome.flows[0].sender.retransmits, 0);
        assert!(link.utilization > 0.85, "{}", link.utilization);
    }
    // In both cases one reaction per round trip.
    let (one, other) = (accurate.links[0].utilization, classic.links[0].utilization);
    assert!((one - other).abs() < 0.02, "{one} {other}");
    assert!(off.links[0].marks == 0 && off.links[0].drops > 5);
}

//! Many flows at one queue.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_sim::run;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, check_scheme};

/// A buffer of one packet, from which FQ-CoDel drops all but the newest packet of a burst:
/// retransmissions, which are sent first, are lost repeatedly. 30 real Cubic flows of Linux 6.18
/// retransmit 1354 packets in 30 s. Before lost retransmissions counted as congestion after a
/// timeout, one flow here sent 558,612.
#[test]
fn flows_whose_repairs_never_get_through_do_not_flood() {
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(2.0)));
    let flow = FlowSpec::bulk(check_scheme("cubic+fq_codel").expect("known"), &["link"]);
    let scenario = Scenario::new("flood").with(|scenario| {
        scenario.links.push(link.with(|link| link.buffer = BufferSize::Bytes(1514)));
        scenario.flows.push(flow.with(|flow| {
            flow.rtt = Span::from_millis(4);
            flow.count = 30;
        }));
        scenario.duration = Span::from_secs(30);
    });
    let outcome = run(&scenario).expect("runs");
    let again: u64 = outcome.flows.iter().map(|flow| flow.sender.retransmits).sum();
    assert!(again < 13_540, "{again} packets sent again");
}

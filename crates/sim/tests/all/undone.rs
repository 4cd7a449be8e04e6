//! Timeouts that turn out to be spurious.

use paceline_cc::{Controller, Feedback, Halves, Plan, Span, Time};
use paceline_path::BufferSize;
use paceline_sim::run;
use paceline_sim::scenario::{Capacity, CustomScheme, FlowSpec, LinkSpec, Scenario};
use paceline_trace::Trace;

/// A sender whose window shrinks to one packet after an outage.
struct Shrinks {
    now: Time,
}

impl Controller for Shrinks {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.now = feedback.now;
    }

    fn plan(&self) -> Plan {
        let packets = if self.now < Time::from_secs(22) { 100 } else { 1 };
        Plan::window(packets * 1500).exact()
    }
}

/// Packets that Linux counts as in flight after an undone timeout do not stop a sender with an exact window.
#[test]
fn undone_timeouts_do_not_stop_a_window_of_one_packet() {
    let mut stopped = Vec::new();
    for spacing in (300..=2000).step_by(100) {
        // An outage from 10 s to 20 s lets two packets through.
        let singles = [10_000 + spacing, 10_000 + 2 * spacing];
        let steady = (0..10_000).chain(singles).chain(20_000..=40_000);
        let trace = Trace::new("outage", steady.collect()).expect("sorted");
        let mut scenario = Scenario::new("outage");
        let mut link = LinkSpec::new("link", Capacity::trace(trace));
        link.buffer = BufferSize::Unlimited;
        scenario.links.push(link);
        let halves = Halves::sender(|_| Shrinks { now: Time::ZERO });
        scenario.flows.push(FlowSpec::bulk(CustomScheme::new("shrinks", halves), &["link"]));
        scenario.warmup = Span::from_secs(30);
        scenario.duration = Span::from_secs(40);
        let outcome = run(&scenario).expect("runs");
        if outcome.flows[0].goodput_mbps == 0.0 {
            stopped.push(spacing);
        }
    }
    assert!(stopped.is_empty(), "single packets each {stopped:?} ms stop the sender");
}

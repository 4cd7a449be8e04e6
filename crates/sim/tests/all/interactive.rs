//! Runs that are changed while they run.

use paceline_sim::cc::{Rate, Span, Time};
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, QueueChoice, Scenario, SchemeChoice};
use paceline_sim::{ChangeError, Interactive, Simulation};

fn scheme(text: &str) -> SchemeChoice {
    text.parse().expect("a scheme")
}

fn scenario(mbps: f64, schemes: &[&str]) -> Scenario {
    let mut scenario = Scenario::new("played");
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(mbps)));
    scenario.links.push(link.with(|link| link.queue = QueueChoice::droptail()));
    for text in schemes {
        scenario.flows.push(FlowSpec::bulk(scheme(text), &["link"]));
    }
    scenario
}

fn secs(at: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(at)
}

/// Returns the goodput over the next `seconds` in Mbit/s.
fn goodput(run: &mut Interactive, flow: usize, seconds: f64) -> f64 {
    let bytes = |run: &Interactive| run.flow(flow).expect("a flow").goodput_bytes;
    let (before, end) = (bytes(run), run.now() + Span::from_secs_f64(seconds));
    run.advance(end);
    (bytes(run) - before) as f64 * 8e-6 / seconds
}

/// Without changes, the run equals the scenario's, whatever the steps are.
#[test]
fn without_changes_it_is_the_scenario_itself() {
    let schemes = ["abc", "cubic", "remy", "bbr"];
    let scenario = scenario(20.0, &schemes);
    let mut plain = Simulation::new(&scenario).expect("builds");
    plain.advance(secs(8.0));
    let digest = plain.outcome().expect("an outcome").digest;
    for step in [0.001, 0.0166, 8.0] {
        let mut run = Interactive::new(scenario.clone()).expect("builds");
        while run.now() < secs(8.0) {
            let next = run.now() + Span::from_secs_f64(step);
            run.advance(next.min(secs(8.0)));
        }
        assert_eq!(run.digest(), digest, "steps of {step} s");
    }
}

/// A script with every kind of change.
fn play(first: f64, step: f64) -> Interactive {
    let mut scenario = scenario(12.0, &["abc", "cubic", "vegas", "remy"]);
    scenario.flows[3].start = Span::MAX;
    let mut run = Interactive::new(scenario).expect("builds");
    let to = |run: &mut Interactive, end: f64| {
        while run.now() < secs(end) {
            let next = run.now() + Span::from_secs_f64(step);
            run.advance(next.min(secs(end)));
        }
    };
    to(&mut run, first);
    run.set_link_rate(0, Rate::from_mbps(2.5)).expect("a rate");
    to(&mut run, 2.25);
    run.set_rtt(Span::from_millis(20)).expect("an RTT");
    run.start_flow(3, scheme("remy")).expect("starts");
    to(&mut run, 4.0);
    run.set_link_buffer(0, BufferSize::Packets(20)).expect("a buffer");
    run.stop_flow(1).expect("stops");
    run.start_flow(0, scheme("cubic")).expect("starts anew");
    to(&mut run, 5.0);
    run.set_rtt(Span::from_millis(300)).expect("an RTT");
    run.set_link_rate(0, Rate::from_mbps(90.0)).expect("a rate");
    run.start_flow(1, scheme("abc")).expect("starts");
    to(&mut run, 9.0);
    run
}

#[test]
fn the_same_changes_give_the_same_run() {
    let (one, other) = (play(1.5, 0.004), play(1.5, 0.25));
    assert_eq!(one.digest(), other.digest());
    assert_eq!(one.hand_overs(), other.hand_overs());
    for flow in 0..4 {
        assert_eq!(one.flow(flow), other.flow(flow), "flow {flow}");
    }
    assert_ne!(one.digest(), play(1.499, 0.25).digest());
}

#[test]
fn a_flow_follows_the_link() {
    let mut run = Interactive::new(scenario(12.0, &["cubic"])).expect("builds");
    run.advance(secs(5.0));
    let full = goodput(&mut run, 0, 5.0);
    assert!((11.0..=12.0).contains(&full), "{full}");
    run.set_link_rate(0, Rate::from_mbps(3.0)).expect("a rate");
    run.advance(secs(15.0));
    let slow = goodput(&mut run, 0, 5.0);
    assert!((2.7..=3.01).contains(&slow), "{slow}");
    // The offered bytes follow the rate that was set, before and after the change.
    assert_eq!(run.offered(0, secs(9.0), secs(10.0)), 1_500_000);
    assert_eq!(run.offered(0, secs(10.0), secs(11.0)), 375_000);
    // After the buffer is made smaller, its packets stay until they have left.
    run.set_link_buffer(0, BufferSize::Packets(5)).expect("a buffer");
    run.advance(secs(30.0));
    assert!(run.link(0).expect("a link").backlog_packets <= 6);
}

/// With less delay, senders measure a smaller RTT; packets on the way are shifted at once.
#[test]
fn a_new_rtt_holds_for_packets_on_the_way() {
    let mut run = Interactive::new(scenario(12.0, &["vegas"])).expect("builds");
    run.set_rtt(Span::from_millis(400)).expect("an RTT");
    run.advance(secs(0.3));
    assert_eq!(run.flow(0).expect("a flow").srtt, Span::ZERO);
    // The first packets are on their way back. They arrive now, not after another 100 ms.
    run.set_rtt(Span::from_millis(20)).expect("an RTT");
    run.advance(secs(0.302));
    assert!(run.flow(0).expect("a flow").srtt > Span::from_millis(200));
    run.start_flow(0, scheme("vegas")).expect("starts anew");
    run.advance(secs(3.0));
    let srtt = run.flow(0).expect("a flow").srtt.as_millis_f64();
    assert!((20.0..30.0).contains(&srtt), "{srtt}");
}

#[test]
fn flows_are_switched_off_and_on() {
    let mut run = Interactive::new(scenario(12.0, &["cubic", "cubic"])).expect("builds");
    run.advance(secs(5.0));
    run.stop_flow(1).expect("stops");
    run.advance(secs(8.0));
    let off = run.flow(1).expect("a flow");
    assert!(!off.on && off.in_flight_bytes == 0 && off.starts == 1);
    // Until the remaining flow has filled the link.
    run.advance(secs(12.0));
    let alone = goodput(&mut run, 0, 5.0);
    assert!(alone > 11.0, "{alone}");
    assert_eq!(goodput(&mut run, 1, 1.0), 0.0);
    run.start_flow(1, scheme("bbr")).expect("starts");
    assert!(goodput(&mut run, 1, 10.0) > 2.0);
    assert!(run.flow(1).is_some_and(|flow| flow.on && flow.starts == 2));
    assert_eq!(run.scenario().flows[1].scheme.name(), "bbr");
}

/// A packet that passes two links is sent once: shares of losses are those of packets.
#[test]
fn packets_enter_their_first_link_once() {
    let mut two = scenario(12.0, &["newreno", "newreno"]);
    let mut second = two.links[0].clone();
    second.name = "second".into();
    two.flows[0].path.push(second.name.clone());
    two.links.push(second);
    let mut run = Interactive::new(two).expect("builds");
    run.advance(secs(20.0));
    let both = run.flow(0).expect("a flow");
    let (counts, one) = (both.at_links, run.flow(1).expect("a flow").at_links);
    assert!(counts.departed > 19 * counts.entered / 10, "{counts:?}");
    assert!((counts.entered..counts.entered + 300).contains(&both.sent), "{both:?}");
    assert_eq!(one.entered, one.departed + one.dropped);
}

/// ABC's router is added with the first ABC flow; marks are counted per flow.
#[test]
fn routers_come_with_the_flows() {
    let mut run = Interactive::new(scenario(12.0, &["cubic", "cubic"])).expect("builds");
    run.advance(secs(2.0));
    assert_eq!(run.flow(0).expect("a flow").at_links.accelerated, 0);
    run.stop_flow(1).expect("stops");
    run.start_flow(0, scheme("abc")).expect("starts");
    run.advance(secs(10.0));
    let marks = run.flow(0).expect("a flow").at_links;
    assert!(marks.accelerated > 1000 && marks.braked > 1000, "{marks:?}");
    assert_eq!(marks.marked, 0);
    let mut seen = Vec::new();
    run.inspect_router(0, &mut |name, _| seen.push(name));
    assert!(seen.contains(&"accel_fraction"));
    // A link has only one router.
    let error = run.start_flow(1, scheme("xcp")).expect_err("two routers").to_string();
    assert!(error.contains("router"), "{error}");
    assert!(!run.flow(1).expect("a flow").on && run.flow(0).expect("a flow").on);
    run.stop_flow(0).expect("stops");
    run.start_flow(1, scheme("xcp")).expect("starts");
    assert!(goodput(&mut run, 1, 5.0) > 9.0);
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let mut run = Interactive::new(scenario(12.0, &["cubic"])).expect("builds");
    assert!(matches!(run.set_link_rate(0, Rate::ZERO), Err(ChangeError::ZeroRate)));
    assert!(matches!(run.set_link_rate(3, Rate::from_mbps(1.0)), Err(ChangeError::NoSuchLink(3))));
    assert!(matches!(run.set_rtt(Span::ZERO), Err(ChangeError::Rtt(_))));
    assert!(matches!(run.set_rtt(Span::from_secs(100)), Err(ChangeError::Rtt(_))));
    assert!(matches!(run.stop_flow(1), Err(ChangeError::NoSuchFlow(1))));
    assert!(run.flow(1).is_none() && run.link(1).is_none());
    let trace = paceline_sim::trace::load("lte-driving").expect("built in");
    let mut cellular = scenario(1.0, &["abc"]);
    cellular.links[0].capacity = Capacity::trace(trace);
    cellular.links[0].queue = paceline_sim::cc::Spec::parse("infinite").expect("ok").into();
    let mut run = Interactive::new(cellular).expect("builds");
    run.advance(secs(1.0));
    assert!(matches!(
        run.set_link_rate(0, Rate::from_mbps(1.0)),
        Err(ChangeError::FixedRate(name)) if name == "link"
    ));
    let buffer = run.set_link_buffer(0, BufferSize::Packets(9));
    assert!(matches!(buffer, Err(ChangeError::FixedBuffer(_))), "{buffer:?}");
    run.advance(secs(5.0));
    assert!(run.flow(0).is_some_and(|flow| flow.goodput_bytes > 0));
    let mut still = scenario(1.0, &["abc"]);
    still.flows[0].rtt = Span::ZERO;
    assert!(matches!(Interactive::new(still), Err(ChangeError::Unplayable(_))));
}

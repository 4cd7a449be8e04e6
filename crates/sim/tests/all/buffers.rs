//! Buffers given in time: as bytes at the link's mean rate, or as a limit of the sojourn time.

use paceline_cc::{Rate, Span, Time};
use paceline_flow::Amount;
use paceline_path::BufferSize;
use paceline_sim::scenario::{Arrivals, Capacity, FlowSpec, LinkSpec, Scenario, check_scheme};
use paceline_sim::{Interactive, Outcome, run};

/// One flow over one link, RTT 100 ms, for 10 s.
fn scenario(capacity: &Capacity, buffer: &str) -> Scenario {
    let link = LinkSpec::new("link", capacity.clone());
    let buffer = BufferSize::parse(buffer).expect(buffer);
    let flow = FlowSpec::bulk(check_scheme("cubic[hystart=off]").expect("known"), &["link"]);
    Scenario::new("buffers").with(|scenario| {
        scenario.links.push(link.with(|link| link.buffer = buffer));
        scenario.flows.push(flow);
        scenario.duration = Span::from_secs(10);
    })
}

fn outcome(capacity: &Capacity, buffer: &str) -> Outcome {
    run(&scenario(capacity, buffer)).expect("runs")
}

fn constant(mbps: f64) -> Capacity {
    Capacity::Constant(Rate::from_mbps(mbps))
}

/// 12 Mbit/s for a second and 4 Mbit/s for a second in turn: 8 Mbit/s on average.
fn varying() -> Capacity {
    let second = Span::from_secs(1);
    let steps = [(Span::ZERO, 12.0), (second, 4.0)].map(|(at, rate)| (at, Rate::from_mbps(rate)));
    Capacity::Schedule { steps: steps.to_vec(), period: Some(second * 2) }
}

#[test]
fn a_time_is_the_bytes_of_so_long_at_the_mean_rate() {
    for (capacity, time, bytes) in [
        (constant(12.0), "50ms", "75kB"),
        (constant(96.0), "1s", "12MB"),
        (constant(0.2), "1ms", "1514B"),
        (varying(), "50ms", "50kB"),
    ] {
        assert_eq!(outcome(&capacity, time).digest, outcome(&capacity, bytes).digest, "{time}");
    }
    // The buffer and the packet in transmission.
    let full = outcome(&constant(12.0), "50ms");
    assert_eq!((full.links[0].queue_delay_ms.max, full.links[0].drops > 0), (51.0, true));
    // At a third of 12 Mbit/s the same bytes take 100 ms, and the packet in transmission 3 ms.
    let slower = outcome(&varying(), "50ms").links[0].queue_delay_ms.max;
    assert!((95.0..=103.0).contains(&slower), "{slower}");
}

#[test]
fn a_link_for_acknowledgements_of_arrivals_has_their_rtt() {
    let outcome = |buffer: &str| {
        let mut scenario = scenario(&constant(10.0), "inf");
        let back = LinkSpec::new("back", constant(0.05));
        let buffer = BufferSize::parse(buffer).expect(buffer);
        scenario.links.push(back.with(|link| link.buffer = buffer));
        let mut flow = scenario.flows.remove(0);
        flow.back = vec!["back".to_string()];
        let bytes = Amount::Fixed(100_000.0);
        scenario.arrivals.push(Arrivals { flow, per_second: 2.0, bytes });
        run(&scenario).expect("builds").digest
    };
    // 100 ms at 50 kbit/s are 625 bytes, at least a packet of 1500.
    assert_eq!(outcome("4bdp"), outcome("2500B"));
    assert_ne!(outcome("4bdp"), outcome("inf"));
}

#[test]
fn a_limit_of_sojourn_times_holds_at_any_rate() {
    for capacity in [constant(12.0), varying()] {
        let link = outcome(&capacity, "sojourn=50ms").links.swap_remove(0);
        let (waited, drops) = (link.queue_delay_ms.max, link.drops);
        // The last packet may have waited for 50 ms before its transmission, which takes 1 or 3 ms.
        assert!((45.0..=53.0).contains(&waited) && drops > 0, "{waited} {drops}");
    }
}

#[test]
fn a_time_set_on_the_way_is_that_of_the_present_rate() {
    let play = |size: &str| {
        let mut play = Interactive::new(scenario(&constant(24.0), "1bdp")).expect("builds");
        play.advance(Time::from_secs(1));
        play.set_link_rate(0, Rate::from_mbps(6.0)).expect("a rate");
        play.set_link_buffer(0, BufferSize::parse(size).expect(size)).expect("a buffer");
        play.advance(Time::from_secs(5));
        play.digest()
    };
    assert_eq!(play("80ms"), play("60kB"));
    let mut varying = Interactive::new(scenario(&varying(), "50ms")).expect("builds");
    assert!(varying.set_link_buffer(0, BufferSize::Time(Span::from_millis(20))).is_ok());
}

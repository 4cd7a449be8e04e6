//! 802.11n links under whole flows.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_sim::scenario::{
    self, Capacity, FlowSpec, LinkSpec, McsSpec, Record, Scenario, StationSpec, WifiSpec,
    check_scheme,
};
use paceline_sim::{Outcome, run};
use paceline_wifi::Mcs;

fn mcs(index: u8) -> Mcs {
    Mcs::new(index).expect("an index")
}

/// A station for each scheme; modulation alternates between MCS 1 and 7 every 2 s.
fn alternating(schemes: &[&str], queue_per_station: bool) -> Scenario {
    let mut scenario = Scenario::new("wifi");
    scenario.duration = Span::from_secs(40);
    scenario.warmup = Span::from_secs(4);
    let two = Span::from_secs(2);
    let steps =
        McsSpec::Steps { steps: vec![(Span::ZERO, mcs(1)), (two, mcs(7))], period: Some(two * 2) };
    let mut wifi = WifiSpec { frame_error: 0.02, queue_per_station, ..WifiSpec::new(steps) };
    wifi.channel.max_frames = 20;
    wifi.channel.contenders = 3;
    wifi.channel.contender_gap = Span::from_millis(20);
    scenario.links.push(LinkSpec::new("ap", Capacity::Wifi(Box::new(wifi))));
    for (number, text) in schemes.iter().enumerate() {
        let mut flow = FlowSpec::bulk(check_scheme(text).expect(text), &["ap"]);
        flow.name = format!("user {number}");
        flow.rtt = Span::from_millis(20);
        scenario.flows.push(flow);
    }
    scenario
}

fn ran(scenario: &Scenario) -> Outcome {
    run(scenario).expect("runs")
}

#[test]
fn abc_uses_the_channel_at_the_delay_it_is_told() {
    let mut delays = Vec::new();
    for dt in [20, 60, 100] {
        let outcome = ran(&alternating(&[&format!("abc[dt={dt}ms]")], false));
        let link = &outcome.links[0];
        assert!(link.utilization > 0.9, "dt {dt} ms: {}", link.utilization);
        delays.push(link.queue_delay_ms.p95);
    }
    assert!(delays.is_sorted(), "{delays:?}");
    let cubic = ran(&alternating(&["cubic"], false));
    assert!(cubic.links[0].queue_delay_ms.p95 > 1.8 * delays[2], "{delays:?}");
}

/// The capacity is that of packets of the scenario's size: a saturated flow uses all of it.
#[test]
fn the_capacity_follows_the_size_of_packets() {
    for mss in [300, 1500, 2296] {
        for max_frames in [1, 32] {
            let mut scenario = alternating(&["cubic"], false);
            scenario.mss = mss;
            (scenario.duration, scenario.warmup) = (Span::from_secs(10), Span::from_secs(4));
            let mut wifi = WifiSpec::new(McsSpec::constant(mcs(7)));
            wifi.channel.max_frames = max_frames;
            scenario.links[0].capacity = Capacity::Wifi(Box::new(wifi));
            scenario.links[0].buffer = BufferSize::Packets(1000);
            let used = ran(&scenario).links[0].utilization;
            assert!((0.95..1.005).contains(&used), "mss {mss}, {max_frames} frames: {used}");
        }
    }
}

#[test]
fn the_estimate_is_nearly_as_good_as_knowing() {
    let used = |scheme: &str| {
        let link = &ran(&alternating(&[scheme], false)).links[0];
        (link.utilization, link.queue_delay_ms.p95)
    };
    let (estimated, known) = (used("abc[dt=60ms]"), used("abc[dt=60ms,capacity=link]"));
    assert!(estimated != known, "the parameter has no effect");
    assert!(estimated.0 > known.0 - 0.05, "{estimated:?} {known:?}");
    assert!(estimated.1 < 1.5 * known.1, "{estimated:?} {known:?}");
}

#[test]
fn queues_of_their_own_keep_users_apart() {
    let both = ["abc[dt=60ms]", "cubic"];
    let own = ran(&alternating(&both, true));
    let goodput: Vec<f64> = own.flows.iter().map(|flow| flow.goodput_mbps).collect();
    assert!((goodput[0] / goodput[1] - 1.0).abs() < 0.15, "{goodput:?}");
    let delay: Vec<f64> = own.flows.iter().map(|flow| flow.one_way_delay_ms.p95).collect();
    assert!(2.0 * delay[0] < delay[1], "{delay:?}");
    // In one FIFO the Cubic flow fills the space that ABC leaves.
    let shared = ran(&alternating(&both, false));
    assert!(shared.flows[1].goodput_mbps > 3.0 * shared.flows[0].goodput_mbps);
}

#[test]
fn stations_have_their_own_modulation_and_flows() {
    let mut scenario = alternating(&["cubic", "cubic", "cubic"], true);
    if let Capacity::Wifi(wifi) = &mut scenario.links[0].capacity {
        let station = |flows: &[&str], index| StationSpec {
            flows: flows.iter().map(|name| name.to_string()).collect(),
            mcs: Some(mcs(index)),
            max_frames: None,
        };
        wifi.stations = vec![station(&["user 0"], 7), station(&["user 1", "user 2"], 7)];
    }
    let outcome = ran(&scenario);
    let rates: Vec<f64> = outcome.flows.iter().map(|flow| flow.goodput_mbps).collect();
    // Two stations take turns, and two flows share one of them.
    assert!((rates[0] / (rates[1] + rates[2]) - 1.0).abs() < 0.1, "{rates:?}");
    // 65 Mbit/s without pauses; the rest is used by headers, waiting and competitors.
    let sum: f64 = rates.iter().sum();
    assert!((30.0..60.0).contains(&sum), "{sum}");
}

/// A station without traffic takes no turns and is not counted in the capacity.
#[test]
fn stations_without_flows_do_not_count() {
    let capacity = |names: &[&[&str]]| {
        let mut scenario = alternating(&["cubic", "cubic"], true);
        scenario.duration = Span::from_secs(5);
        scenario.warmup = Span::from_secs(1);
        let mut elsewhere = LinkSpec::new("lan", Capacity::Constant(Rate::from_mbps(9.0)));
        elsewhere.buffer = BufferSize::Unlimited;
        scenario.links.push(elsewhere);
        let mut flow = FlowSpec::bulk(check_scheme("cubic").expect("a scheme"), &["lan"]);
        flow.name = "wired".to_string();
        scenario.flows.push(flow);
        if let Capacity::Wifi(wifi) = &mut scenario.links[0].capacity {
            wifi.mcs = McsSpec::constant(mcs(7));
            let station = |(number, flows): (usize, &&[&str])| StationSpec {
                flows: flows.iter().map(|name| name.to_string()).collect(),
                mcs: Some(mcs(if number == 0 { 7 } else { 0 })),
                max_frames: None,
            };
            wifi.stations = names.iter().enumerate().map(station).collect();
        }
        let link = &ran(&scenario).links[0];
        (link.capacity_mbps, link.utilization)
    };
    let one: &[&str] = &["user 0", "user 1"];
    let alone = capacity(&[one]);
    assert!(alone.1 < 1.1, "{alone:?}");
    assert_eq!(capacity(&[one, &[]]), alone);
    assert_eq!(capacity(&[one, &["user 1"]]), alone);
    assert_eq!(capacity(&[one, &["wired"]]), alone);
}

#[test]
fn stations_in_files_have_flows_of_their_own() {
    let read = |stations: &str| {
        let text = format!(
            "duration = \"5s\"\n[[link]]\nname = \"ap\"\nwifi = {{ mcs = 7, stations = {stations} }}\n\
             [[flow]]\nname = \"a\"\nscheme = \"abc\"\n"
        );
        scenario::parse("s.toml", &text, None).map_err(|error| error.to_string())
    };
    assert!(read("[{ flows = [\"a\"] }]").is_ok());
    for (stations, message) in [
        ("[{ flows = [\"a\"] }, { flows = [\"a\"] }]", "flow `a` is of two stations"),
        ("[{ flows = [\"a\", \"a\"] }]", "flow `a` is of two stations"),
        ("[{ flows = [] }]", "a station without flows"),
    ] {
        let said = read(stations).expect_err(stations);
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn walks_differ_by_seed_and_stay_in_their_range() {
    let mut scenario = alternating(&["cubic"], false);
    scenario.record = Record::Series(Span::from_secs(2));
    let wifi = WifiSpec::new(McsSpec::Walk { min: mcs(3), max: mcs(7), every: Span::from_secs(2) });
    scenario.links[0].capacity = Capacity::Wifi(Box::new(wifi));
    let walk = |seed| {
        let outcome = ran(&scenario.clone().with(|scenario| scenario.seed = seed));
        outcome.links[0].series.clone().expect("recorded").capacity_mbps
    };
    let (one, other) = (walk(1), walk(2));
    assert_ne!(one, other);
    assert_eq!(one, walk(1));
    for mbps in one.iter().chain(&other) {
        assert!((20.0..62.0).contains(mbps), "{mbps}");
    }
    let mut levels: Vec<u64> = one.iter().chain(&other).map(|mbps| *mbps as u64).collect();
    levels.sort_unstable();
    levels.dedup();
    assert!((3..=5).contains(&levels.len()), "{levels:?}");
}

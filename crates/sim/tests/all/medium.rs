//! Flows over a shared 802.11 medium, compared with ns-2 2.35.
//!
//! Stated before the first run: NewReno's uploads and downloads are within 15 % of ns-2's totals,
//! in the same order. ns-2 counts 1300 bytes of packets that have 1340 on the wire.

use paceline_cc::{AckPolicy, Rate, Span};
use paceline_path::BufferSize;
use paceline_sim::scenario::{
    Capacity, Direction, FlowSpec, Layer, LinkSpec, McsSpec, MediumSpec, Scenario, StationPort,
    StationUse, WifiSpec, check_scheme,
};
use paceline_sim::{Outcome, run};
use paceline_wifi::{Ht, Mcs, MediumConfig, Phy, Preamble};

const SHARE: f64 = 1300.0 / 1340.0;

/// A medium of 802.11b at 11 Mbit/s behind lines of 100 Mbit/s each way.
fn scenario(stations: usize, buffer: u64) -> Scenario {
    let mut scenario = Scenario::new("medium");
    scenario.mss = 1340;
    for name in ["down", "up"] {
        let mut link = LinkSpec::new(name, Capacity::Constant(Rate::from_mbps(100.0)));
        link.buffer = BufferSize::Packets(10_000);
        scenario.links.push(link);
    }
    let mut medium = MediumSpec::new("home", Layer::B(Preamble::Long));
    medium.access_point.buffer = BufferSize::Packets(buffer);
    for number in 0..stations {
        let mut station = StationPort::new(&format!("w{number}"), Rate::from_mbps(11.0));
        station.port.buffer = BufferSize::Packets(buffer);
        medium.stations.push(station);
    }
    scenario.media.push(medium);
    scenario
}

fn flow(scheme: &str, station: usize, direction: Direction) -> FlowSpec {
    let (path, back) = match direction {
        Direction::Down => ("down", "up"),
        Direction::Up => ("up", "down"),
    };
    let mut flow = FlowSpec::bulk(check_scheme(scheme).expect("known"), &[path]);
    let way = if direction == Direction::Down { "down" } else { "up" };
    flow.name = format!("{way}{station}");
    flow.back = vec![back.to_string()];
    flow.station = Some(StationUse { station: format!("w{station}"), direction });
    flow.rtt = Span::from_millis(82);
    flow.ack = Some(AckPolicy::EACH);
    flow
}

/// Returns the sums of the downloads and of the uploads, in Mbit/s as ns-2 counts them.
fn sums(outcome: &Outcome) -> (f64, f64) {
    let sum = |way: &str| {
        let flows = outcome.flows.iter().filter(|flow| flow.name.starts_with(way));
        SHARE * flows.map(|flow| flow.goodput_mbps).sum::<f64>()
    };
    (sum("down"), sum("up"))
}

#[test]
fn one_download_carries_what_ns2_says() {
    for (direction, want) in [(Direction::Down, 3.95), (Direction::Up, 3.95)] {
        let mut scenario = scenario(1, 3000);
        scenario.flows.push(flow("newreno", 0, direction));
        (scenario.warmup, scenario.duration) = (Span::from_secs(20), Span::from_secs(50));
        let (down, up) = sums(&run(&scenario).expect("runs"));
        assert!(((down + up) / want - 1.0).abs() < 0.15, "{direction:?}: {down} {up}");
    }
}

#[test]
fn uploads_starve_downloads_as_in_ns2() {
    // ns-2 with twelve of each: 4.82 Mbit/s up and 0.005 down, in 50 to 300 s. Shorter here.
    let mut scenario = scenario(12, 50);
    for station in 0..12 {
        scenario.flows.push(flow("newreno", station, Direction::Down));
        scenario.flows.push(flow("newreno", station, Direction::Up));
    }
    (scenario.warmup, scenario.duration) = (Span::from_secs(50), Span::from_secs(150));
    let outcome = run(&scenario).expect("runs");
    let (down, up) = sums(&outcome);
    assert!((up / 4.82 - 1.0).abs() < 0.15, "{up}");
    assert!(down < 0.05 * up, "{down} {up}");
    // The access point's queue is full (ns-2: 48 of 49 packets).
    let ap = &outcome.media[0].stations[0].link;
    assert!(ap.drops > 1000, "{}", ap.drops);
}

#[test]
fn twelve_downloads_share_the_medium_as_in_ns2() {
    // ns-2: 3.97 Mbit/s, and Jain's index 0.996 with equal RTTs.
    let mut scenario = scenario(12, 50);
    for station in 0..12 {
        scenario.flows.push(flow("newreno", station, Direction::Down));
    }
    (scenario.warmup, scenario.duration) = (Span::from_secs(50), Span::from_secs(150));
    let outcome = run(&scenario).expect("runs");
    let (down, _) = sums(&outcome);
    assert!((down / 3.97 - 1.0).abs() < 0.15, "{down}");
    assert!(outcome.jain() > 0.9, "{}", outcome.jain());
}

#[test]
fn acknowledgements_contend_and_all_packets_are_somewhere() {
    let mut scenario = scenario(3, 20);
    for station in 0..3 {
        scenario.flows.push(flow("cubic", station, Direction::Down));
        scenario.flows.push(flow("abc", station, Direction::Up));
    }
    scenario.media[0].stations[1].frame_error = 0.4;
    scenario.duration = Span::from_secs(10);
    let mut simulation = paceline_sim::Simulation::new(&scenario).expect("legal");
    for tenth in 1..100u64 {
        simulation.advance(paceline_cc::Time::from_millis(100 * tenth));
        let census = simulation.world().census();
        assert!(census.is_balanced(), "{census:?}");
    }
    let outcome = simulation.outcome().expect("legal");
    let medium = &outcome.media[0];
    assert!(medium.stations.iter().all(|station| station.transmissions > 100), "{medium:?}");
    assert!(medium.collision_probability > 0.02);
    let airtime: f64 = medium.stations.iter().map(|station| station.airtime).sum();
    assert!(airtime > 0.5 && airtime < 1.2, "{airtime}");
    // One step to the end gives the same results.
    let mut again = paceline_sim::Simulation::new(&scenario).expect("legal");
    again.advance(paceline_cc::Time::from_millis(9900));
    assert_eq!(again.outcome().expect("legal").digest, outcome.digest);
}

/// A home with 802.11n: two downloads and an upload at MCS 7, next to a neighbour's network.
fn new_home(scheme: &str) -> Scenario {
    let text = format!(
        r#"
duration = "20s"
warmup = "4s"
[[medium]]
name = "home"
layer = "802.11n"
mcs = 7
buffer = 1000
contenders = 1
contender_gap = "20ms"
[[medium.station]]
name = "desk"
[[medium.station]]
name = "couch"
rate = "minstrel"
snr = 28
[[medium.station]]
name = "shelf"
[[flow]]
name = "desk"
station = "desk"
scheme = "{scheme}"
rtt = "20ms"
[[flow]]
name = "couch"
station = "couch"
scheme = "{scheme}"
rtt = "20ms"
[[flow]]
name = "shelf"
station = "shelf"
direction = "up"
scheme = "{scheme}"
rtt = "20ms"
"#
    );
    paceline_sim::scenario::parse("home.toml", &text, None).expect("a scenario")
}

/// ABC's routers at the access point and at the station estimate their capacities: the queues stay
/// short, and the channel is used.
#[test]
fn abc_estimates_the_capacity_at_each_station_of_802_11n() {
    let figures = |scheme: &str| {
        let outcome = run(&new_home(scheme)).expect("runs");
        let home = &outcome.media[0];
        let delay = home.stations.iter().map(|station| station.link.queue_delay_ms.p95);
        (home.throughput_mbps, delay.fold(0.0, f64::max))
    };
    let (abc, cubic) = (figures("abc[dt=60ms]"), figures("cubic"));
    assert!(abc.0 > 0.8 * cubic.0, "{abc:?} {cubic:?}");
    assert!(abc.1 < 0.6 * cubic.1, "{abc:?} {cubic:?}");
}

/// Without A-MPDUs, ABC's routers hear which capacity the medium left unused, so that windows grow
/// beyond 1 / (1 - eta) = 50 packets.
#[test]
fn abc_uses_a_medium_without_ampdus_at_any_rtt() {
    let rates = |scheme: &str, flows: &[(&str, &str)]| -> Vec<f64> {
        let mut text = String::from(
            "duration = \"40s\"\nwarmup = \"10s\"\n[[medium]]\nname = \"home\"\nlayer = \"802.11a\"\n\
             rate = \"54Mbps\"\nbuffer = 250\n\
             [[medium.station]]\nname = \"a\"\n[[medium.station]]\nname = \"b\"\n",
        );
        for (station, direction) in flows {
            text += &format!(
                "[[flow]]\nname = \"{station}\"\nscheme = \"{scheme}\"\nstation = \"{station}\"\n\
                 direction = \"{direction}\"\nrtt = \"100ms\"\n"
            );
        }
        let scenario = paceline_sim::scenario::parse("s.toml", &text, None).expect("a scenario");
        run(&scenario).expect("runs").flows.iter().map(|flow| flow.goodput_mbps).collect()
    };
    let alone = rates("xcpb", &[("a", "down")])[0];
    for flows in [&[("a", "down")][..], &[("a", "up")], &[("a", "down"), ("b", "up")]] {
        let abc = rates("abc", flows);
        assert!(abc.iter().sum::<f64>() > 0.9 * alone, "{flows:?}: {abc:?} of {alone}");
        assert!(abc.iter().all(|rate| *rate > 0.8 * abc[0]), "{flows:?}: {abc:?}");
    }
}

/// A station at 54 Mbit/s, and in the last tenth of the time at 6: its capacity is that of all the
/// time, not of the last frames.
#[test]
fn capacities_of_stations_are_those_of_the_whole_run() {
    let text = "duration = \"20s\"\nbin = \"1s\"\n[[medium]]\nname = \"home\"\nlayer = \"802.11a\"\n\
                [[medium.station]]\nname = \"s\"\n\
                rates = [{ at = \"0s\", rate = \"54Mbps\" }, { at = \"18s\", rate = \"6Mbps\" }]\n\
                [[medium.station]]\nname = \"idle\"\nrate = \"54Mbps\"\n\
                [[flow]]\nscheme = \"cubic\"\nstation = \"s\"\nrtt = \"20ms\"\n";
    let scenario = paceline_sim::scenario::parse("s.toml", text, None).expect("a scenario");
    for warmup in [0, 10, 19] {
        let mut scenario = scenario.clone();
        scenario.warmup = Span::from_secs(warmup);
        let outcome = run(&scenario).expect("runs");
        let [point, station, idle] = &outcome.media[0].stations[..] else { panic!("three") };
        for link in [&point.link, &station.link] {
            assert!(link.utilization > 0.1 && link.utilization <= 1.0, "{warmup}: {link:?}");
            let carried = link.capacity_mbps * link.utilization;
            assert!((carried / link.throughput_mbps - 1.0).abs() < 1e-9, "{warmup}: {link:?}");
            let series = link.series.as_ref().expect("recorded");
            let bins = series.throughput_mbps.iter().zip(&series.capacity_mbps);
            assert!(bins.clone().all(|(carried, offered)| carried <= offered), "{series:?}");
        }
        // The access point always has a packet to send, but at the beginning.
        assert!(point.link.utilization > 0.95, "{warmup}: {}", point.link.utilization);
        let bins = &point.link.series.as_ref().expect("recorded").capacity_mbps;
        assert!(bins[5] > 20.0 && bins[19] < 6.0, "{bins:?}");
        let mean = bins[warmup as usize..].iter().sum::<f64>() / (20 - warmup) as f64;
        assert!((point.link.capacity_mbps / mean - 1.0).abs() < 0.1, "{warmup}: {mean}");
        assert_eq!((idle.link.capacity_mbps, idle.link.utilization), (0.0, 0.0));
        assert!(idle.waiting_packets == 0.0 && point.waiting_packets > 1.0, "{warmup}");
        assert!(idle.link.series.as_ref().expect("recorded").capacity_mbps[5].is_nan());
    }
}

#[test]
fn transmissions_count_with_and_without_rts() {
    let medium = |keys: &str| {
        let text = format!(
            "duration = \"20s\"\n[[medium]]\nname = \"home\"\nlayer = \"802.11a\"\nbuffer = 10000\n{keys}\n\
             [[medium.station]]\nname = \"s\"\nrate = \"54Mbps\"\nframe_error = 0.5\n\
             [[flow]]\nscheme = \"cubic\"\nstation = \"s\"\nrtt = \"20ms\"\n"
        );
        paceline_sim::scenario::parse("s.toml", &text, None).expect("a scenario")
    };
    let limits = |keys: &str| {
        let config = medium(keys).media[0].config();
        (config.short_retry_limit, config.long_retry_limit, config.aggregation.transmissions)
    };
    assert_eq!(limits(""), (7, 4, 7));
    assert_eq!(limits("transmissions = 20"), (20, 20, 20));
    // The numbers of docs/medium.md for packets in A-MPDUs: 8, and 7 in scenarios with a medium.
    let config = MediumConfig::new(Phy::ht(Ht::default()), 1, Rate::ZERO);
    let wifi = WifiSpec::new(McsSpec::constant(Mcs::LOWEST));
    assert_eq!((config.aggregation.transmissions, wifi.retries + 1), (8, 8));
    // A packet is given up with a probability of 0.5^20 after an RTS, too.
    let drops = |keys: &str| run(&medium(keys)).expect("runs").media[0].stations[0].link.drops;
    assert_eq!(drops("transmissions = 20\nrts_above = 0"), 0);
    assert!(drops("rts_above = 0") > 10);
}

/// With ten times the rate and a tenth of all times, a medium carries ten times as much.
#[test]
fn scale_divides_all_times() {
    let carried = |scale: u64, keys: &str, station: &str| {
        let text = format!(
            "duration = \"{}ms\"\nhost_jitter = \"0s\"\n[[medium]]\nname = \"home\"\nbuffer = 1000\nscale = {scale}\n\
             {keys}\n[[medium.station]]\nname = \"s\"\n{station}\n\
             [[flow]]\nscheme = \"cubic\"\nstation = \"s\"\nrtt = \"{}us\"\nhandshake = false\n",
            20_000 / scale,
            20_000 / scale,
        );
        let scenario = paceline_sim::scenario::parse("s.toml", &text, None).expect("a scenario");
        run(&scenario).expect("runs").media[0].throughput_mbps / scale as f64
    };
    let rate = |mbps: u64, scale: u64| format!("rate = \"{}Mbps\"", mbps * scale);
    for (keys, mbps) in [
        ("layer = \"802.11g\"\nprotection = true", Some(54)),
        ("contenders = 3\ncontender_gap = \"2ms\"", Some(11)),
        ("layer = \"802.11n\"\nmax_airtime = \"2ms\"", None),
    ] {
        let at = |scale: u64| {
            let station = mbps.map_or("mcs = 1".to_string(), |mbps| rate(mbps, scale));
            carried(scale, keys, &station)
        };
        let (one, ten) = (at(1), at(10));
        assert!((ten / one - 1.0).abs() < 0.05, "{keys}: {one} {ten}");
    }
}

#[test]
fn mistakes_about_rates_are_explained() {
    let read = |medium: &str, station: &str| {
        let text = format!(
            "duration = \"5s\"\n[[medium]]\nname = \"m\"\n{medium}\n[[medium.station]]\nname = \"s\"\n\
             {station}\n[[flow]]\nscheme = \"cubic\"\nstation = \"s\"\n"
        );
        let read = paceline_sim::scenario::parse("s.toml", &text, None);
        read.map(|_| ()).map_err(|error| error.to_string())
    };
    let (n, g) = ("layer = \"802.11n\"", "layer = \"802.11g\"");
    assert_eq!(read(n, "mcs = 7"), Ok(()));
    assert_eq!(read(g, "rate = \"minstrel\"\nsnr = 20"), Ok(()));
    for (medium, station, message) in [
        (n, "", "station `s` needs an mcs"),
        (n, "rate = \"54Mbps\"", "stations of 802.11n have an mcs, not a rate"),
        (n, "mcs = 16", "there is no mcs 16"),
        (n, "mcs = { min = 1, max = 3, every = \"1s\" }", "no random walks"),
        (n, "mcs = 7\nperiod = \"1s\"", "a period without steps"),
        (n, "mcs = 7\nsnr = 1000", "snr is outside -50..100"),
        (n, "mcs = 7\nmax_frames = 65", "max_frames is outside 1..64"),
        (n, "mcs = 7\nrate = \"minstrel\"", "either rate or mcs, not both"),
        (g, "mcs = 7", "only 802.11n has an mcs"),
        (g, "rate = \"fast\"", "`fast`"),
        ("width = \"40MHz\"", "rate = \"11Mbps\"", "only 802.11n has channels of a width"),
        ("contenders = 101", "rate = \"11Mbps\"", "more than 100 contenders"),
        ("", "rate = \"11Mbps\"\nsnr = 20", "802.11b has no model of noise"),
    ] {
        let said = read(medium, station).expect_err(station);
        assert!(said.contains(message), "{said}");
    }
}

//! Compares the capacity that routers receive with the throughput of stations that are always
//! backlogged.

use paceline_cc::{Packet, Rate, Span, Stage, Stream, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port, Service};
use paceline_wifi::{Hop, Ht, Mcs, Medium, MediumConfig, Phy, StationPorts};

/// Packets kept waiting at each station.
const WAITING: usize = 400;

/// Returns the mean capacity over 30 s, sampled every 10 ms, divided by the throughput, for
/// stations that send up.
fn ratio(config: MediumConfig) -> f64 {
    let stations = config.stations.len() as u32 - 1;
    let port = || Port::new(Box::new(Fifo::new(Limit::NONE)));
    let ports = config.stations.iter().map(|_| StationPorts::shared(port())).collect();
    let mut medium = Medium::new(config, ports, &Stream::new(1, "medium")).expect("legal");
    medium.set_hops((1..=stations).map(|from| Hop { from, to: 0 }).collect());
    let fill = |medium: &mut Medium, now: Time, route: u32| {
        while medium.backlog_packets(route as usize + 1) < WAITING {
            medium.push(now, &Packet { route, ..Packet::opaque(1500) });
        }
    };
    let mbps = |medium: &Medium, number: u32| match medium.capacity(number as usize) {
        Some(Service::Constant(constant)) => constant.rate().as_mbps(),
        _ => panic!("station {number} has no constant capacity"),
    };
    let (begin, end) = (Time::from_secs(1), Time::from_secs(31));
    let (mut next, mut samples, mut sum, mut bytes) = (begin, 0, 0.0, 0);
    let mut place = Packet::opaque(0);
    (0..stations).for_each(|route| fill(&mut medium, Time::ZERO, route));
    while medium.wake() <= end {
        let now = medium.wake();
        if now >= next {
            next += Span::from_millis(10);
            samples += 1;
            sum += (1..=stations).map(|number| mbps(&medium, number)).sum::<f64>();
            (0..stations).for_each(|route| fill(&mut medium, now, route));
        }
        while medium.pop_into(now, &mut place) {
            bytes += if now > begin { u64::from(place.size) } else { 0 };
            fill(&mut medium, now, place.route);
        }
    }
    let throughput = bytes as f64 * 8e-6 / end.since(begin).as_secs_f64();
    sum / f64::from(samples) / throughput
}

fn ht(stations: u32, frame_error: f64) -> MediumConfig {
    let mut config = MediumConfig::new(Phy::ht(Ht::default()), stations, Rate::ZERO);
    for station in &mut config.stations {
        station.mcs = vec![(Span::ZERO, Mcs::new(7).expect("an index"))];
        station.frame_error = frame_error;
    }
    config
}

fn ofdm(stations: u32, frame_error: f64) -> MediumConfig {
    let mut config = MediumConfig::new(Phy::ofdm(), stations, Rate::from_mbps(54.0));
    for station in &mut config.stations {
        station.frame_error = frame_error;
    }
    config
}

#[test]
fn ampdus_that_collide_take_time() {
    for stations in [1, 5, 10] {
        let ratio = ratio(ht(stations, 0.0));
        assert!((ratio - 1.0).abs() < 0.05, "{stations} stations: {ratio}");
    }
}

#[test]
fn an_acknowledgement_takes_time() {
    let ratio = ratio(ofdm(1, 0.0));
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn frames_that_are_given_up_take_time() {
    for stations in [1, 5] {
        let ratio = ratio(ofdm(stations, 0.8));
        assert!((ratio - 1.0).abs() < 0.1, "{stations} stations: {ratio}");
    }
}

//! What routers at stations without A-MPDUs hear of the capacity that the medium left unused.

use std::sync::mpsc::{Sender, channel};

use paceline_cc::{LinkView, Packet, Rate, Router, Span, Stage, Stream, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port};
use paceline_wifi::{BackgroundConfig, Hop, Medium, MediumConfig, Phy, StationPorts};

/// Passes on the unused bytes, with the number of its station.
struct Tap(usize, Sender<(usize, u32)>);

impl Router for Tap {
    fn on_departure(&mut self, _: Time, _: &mut Packet, _: Span, _: &LinkView<'_>) {}
    fn on_unused(&mut self, _: Time, bytes: u32) {
        self.1.send((self.0, bytes)).expect("somebody listens");
    }
}

const SECONDS: u64 = 20;

/// Lets each station send packets of 1500 bytes to the access point, with these gaps in between.
/// Returns the Mbit/s that each station carried, and those that its router heard of as unused.
fn run(gaps: &[Span], background: Option<BackgroundConfig>) -> Vec<(f64, f64)> {
    let mut config = MediumConfig::new(Phy::ofdm(), gaps.len() as u32, Rate::from_mbps(54.0));
    config.background = background.into_iter().collect();
    let (told, reports) = channel();
    let port = |number| {
        let mut port = Port::new(Box::new(Fifo::new(Limit::packets(100))));
        port.set_router(Some(Box::new(Tap(number, told.clone()))));
        StationPorts::shared(port)
    };
    let ports = (0..config.stations.len()).map(port).collect();
    let mut medium = Medium::new(config, ports, &Stream::new(1, "medium")).expect("legal");
    medium.set_hops((1..=gaps.len() as u32).map(|from| Hop { from, to: 0 }).collect());
    let mut next: Vec<Time> = gaps.iter().map(|gap| Time::ZERO + *gap).collect();
    let mut bytes = vec![(0, 0); gaps.len()];
    loop {
        let (route, now) = next.iter().copied().enumerate().min_by_key(|at| at.1).expect("one");
        if now > Time::from_secs(SECONDS) {
            break;
        }
        while medium.wake() <= now {
            let at = medium.wake();
            if let Some(packet) = medium.pop(at) {
                bytes[packet.route as usize].0 += packet.size;
            }
        }
        medium.push(now, &Packet { route: route as u32, ..Packet::opaque(1500) });
        next[route] += gaps[route];
    }
    for (number, unused) in reports.try_iter() {
        bytes[number - 1].1 += unused;
    }
    let mbps = |bytes: u32| f64::from(bytes) * 8e-6 / SECONDS as f64;
    bytes.into_iter().map(|(carried, unused)| (mbps(carried), mbps(unused))).collect()
}

fn gap(mbps: f64) -> Span {
    Rate::from_mbps(mbps).time_for(1500)
}

/// Returns the throughput of this many stations that are always backlogged.
fn saturated(stations: usize, background: Option<BackgroundConfig>) -> f64 {
    run(&vec![gap(40.0); stations], background).iter().map(|one| one.0).sum()
}

#[test]
fn carried_and_unused_are_what_a_lone_station_can_carry() {
    let whole = saturated(1, None);
    for rate in [1.0, 5.0, 12.0, 20.0, 23.0] {
        let (carried, unused) = run(&[gap(rate)], None)[0];
        assert!((carried / rate - 1.0).abs() < 0.01, "{carried} of {rate}");
        assert!(
            ((carried + unused) / whole - 1.0).abs() < 0.05,
            "{rate}: {carried} {unused} of {whole}"
        );
    }
}

#[test]
fn a_backlogged_station_leaves_nothing_to_others() {
    let all = run(&[gap(40.0), gap(2.0)], None);
    assert!(all.iter().all(|one| one.1 < 0.1), "{all:?}");
}

#[test]
fn stations_share_the_unused_capacity_as_they_share_the_medium() {
    let whole = saturated(2, None);
    let [one, other] = run(&[gap(8.0), gap(4.1)], None)[..] else { panic!("two") };
    let sum = one.0 + one.1 + other.0 + other.1;
    assert!((sum / whole - 1.0).abs() < 0.1, "{one:?} {other:?} of {whole}");
    assert!((one.1 / other.1 / (8.0 / 4.1) - 1.0).abs() < 0.1, "{one:?} {other:?}");
}

#[test]
fn what_other_networks_use_is_not_unused() {
    for pause in [0, 1000] {
        let other = BackgroundConfig::new(Span::from_micros(1000), Span::from_micros(pause));
        let whole = saturated(1, Some(other.clone()));
        let (carried, unused) = run(&[gap(2.0)], Some(other))[0];
        assert!((carried + unused) < 1.1 * whole, "{pause}: {carried} {unused} of {whole}");
    }
}

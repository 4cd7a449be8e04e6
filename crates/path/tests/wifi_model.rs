//! Random 802.11n links under random traffic: what must hold for each of them.

mod common;

use common::{Hasher, random_arrivals, random_queue};
use paceline_cc::{Packet, Span, Stage, Stream, Time};
use paceline_path::wifi::{Mcs, StationConfig, StationQueues, StationRouters, WifiConfig};
use paceline_path::{EventKind, Link, LinkEvent, Queue, Service};

const END: Time = Time::from_secs(100_000);
/// Flows; the last has no station of its own.
const FLOWS: u64 = 4;

fn random_config(stream: &mut Stream) -> WifiConfig {
    let mcs = |stream: &mut Stream| Mcs::new(stream.below(16) as u8).expect("an index");
    let mut at = Span::ZERO;
    let steps = (0..1 + stream.below(3))
        .map(|_| {
            let step = (at, mcs(stream));
            at += Span::from_micros(1 + stream.below(100_000));
            step
        })
        .collect();
    let station = |stream: &mut Stream| {
        let own = stream.chance(0.5).then(|| mcs(stream));
        let mut station = StationConfig::new([0, 1, 2, 20, 64, 1000][stream.below(6) as usize]);
        station.mcs = own;
        station
    };
    let mut config = WifiConfig::new(Mcs::LOWEST);
    config.steps = steps;
    config.period = stream.chance(0.5).then_some(at);
    config.stations = (0..1 + stream.below(3)).map(|_| station(stream)).collect();
    config.station_of = (1..FLOWS).map(|_| stream.below(5) as u32).collect();
    config.max_airtime = Span::from_micros([0, 100, 1000, 5484][stream.below(4) as usize]);
    config.rts = stream.chance(0.5);
    config.frame_error = [0.0, 0.1, 0.5, 0.9][stream.below(4) as usize];
    config.retries = [0, 1, 7, 255][stream.below(4) as usize];
    config.contenders = stream.below(4) as u32;
    config.contender_airtime = Span::from_micros(stream.below(3000));
    config.contender_gap =
        [Span::ZERO, Span::from_millis(5), Span::from_secs(1 << 33)][stream.below(3) as usize];
    config
}

/// A random link that can be made again and again, all alike.
struct Plan {
    config: WifiConfig,
    service: Service,
    seed: u64,
    own_queues: bool,
    routed: bool,
}

impl Plan {
    fn random(seed: u64) -> Plan {
        let mut stream = Stream::new(seed, "wifi plan");
        let config = random_config(&mut stream);
        let service = Service::wifi(config.clone(), &stream).expect("in order");
        let (own_queues, routed) = (stream.chance(0.5), stream.chance(0.5));
        Plan { config, service, seed, own_queues, routed }
    }

    fn link(&self) -> Link {
        let queue = || random_queue(&mut Stream::new(self.seed, "wifi queue"));
        let map = || self.config.station_of.clone();
        let stations = &self.config.stations;
        let queue: Box<dyn Queue> = match self.own_queues {
            true => Box::new(StationQueues::new(stations.iter().map(|_| queue()).collect(), map())),
            false => queue(),
        };
        let link = Link::new(queue, self.service.clone());
        if !self.routed {
            return link;
        }
        link.with_router(match self.own_queues {
            true => {
                let router = |_| Box::new(Hasher::default()) as _;
                Box::new(StationRouters::new(stations.iter().map(router).collect(), map()))
            }
            false => Box::new(Hasher::default()),
        })
    }

    fn station(&self, flow: u32) -> u32 {
        match &self.service {
            Service::Wifi(wifi) => wifi.station_of(flow),
            _ => 0,
        }
    }
}

fn arrivals(stream: &mut Stream, count: u64) -> Vec<(Time, Packet)> {
    let mut arrivals = random_arrivals(stream, count);
    for (_, packet) in &mut arrivals {
        packet.flow = stream.below(FLOWS) as u32;
    }
    arrivals
}

/// Pops until nothing is due, and checks that the link then looks forward.
fn collect(link: &mut Link, now: Time, out: &mut Vec<Packet>) {
    while let Some(packet) = link.pop(now) {
        out.push(packet);
    }
    assert!(link.wake() > now, "{:?} at {now:?}", link.wake());
}

fn numbers(out: &[Packet]) -> Vec<u64> {
    out.iter().map(Packet::number).collect()
}

/// A driver that comes whenever the link wants, before or after an arrival of the same time.
fn timely(mut link: Link, arrivals: &[(Time, Packet)], first: bool) -> (Vec<u64>, Vec<LinkEvent>) {
    let mut out = Vec::new();
    link.record(true);
    for (at, packet) in arrivals {
        while link.wake() < *at || (first && link.wake() == *at) {
            let now = link.wake();
            collect(&mut link, now, &mut out);
        }
        link.push(*at, packet);
    }
    while link.wake() < END {
        let now = link.wake();
        collect(&mut link, now, &mut out);
    }
    (numbers(&out), link.events().to_vec())
}

/// A driver that comes now and then.
fn late(mut link: Link, arrivals: &[(Time, Packet)], stream: &mut Stream) -> Vec<LinkEvent> {
    let mut out = Vec::new();
    link.record(true);
    for (at, packet) in arrivals {
        if stream.chance(0.1) {
            collect(&mut link, *at, &mut out);
        } else if stream.chance(0.2) {
            out.extend(link.pop(*at));
        }
        link.push(*at, packet);
    }
    collect(&mut link, END, &mut out);
    link.events().to_vec()
}

#[test]
fn late_pops_give_what_timely_ones_give() {
    for seed in 0..200 {
        let plan = Plan::random(seed);
        let mut stream = Stream::new(seed, "traffic");
        let arrivals = arrivals(&mut stream, 300);
        let expected = timely(plan.link(), &arrivals, true);
        assert_eq!(timely(plan.link(), &arrivals, false), expected, "seed {seed}");
        assert_eq!(late(plan.link(), &arrivals, &mut stream), expected.1, "seed {seed}");
        assert!(expected.1.windows(2).all(|pair| pair[0].time <= pair[1].time), "seed {seed}");
    }
}

#[test]
fn packets_are_conserved_and_stay_in_order() {
    for seed in 1000..1200 {
        let plan = Plan::random(seed);
        let mut stream = Stream::new(seed, "conservation");
        let mut link = plan.link();
        link.keep_drops(true);
        let (mut out, mut drops, mut inside) = (Vec::new(), 0, 0_u64);
        for (at, packet) in arrivals(&mut stream, 400) {
            link.push(at, &packet);
            inside += u64::from(packet.size);
            let before = out.len();
            if stream.chance(0.5) {
                collect(&mut link, at, &mut out);
            }
            for dropped in link.drain_drops() {
                (drops, inside) = (drops + 1, inside - u64::from(dropped.packet.size));
            }
            inside -= out[before..].iter().map(|packet| u64::from(packet.size)).sum::<u64>();
            let counters = link.counters();
            assert_eq!(counters.dropped_packets(), drops, "seed {seed}");
            let held = link.backlog_packets() as u64;
            assert_eq!(counters.arrived_packets, counters.delivered_packets + drops + held);
            assert_eq!(counters.delivered_packets, (out.len() + link.uncollected()) as u64);
            if link.uncollected() == 0 {
                assert_eq!(link.backlog_bytes(), inside, "seed {seed}");
            }
        }
        collect(&mut link, END, &mut out);
        // Everything got a turn, and each station got its packets in order.
        assert_eq!((link.backlog_packets(), link.backlog_bytes()), (0, 0), "seed {seed}");
        for station in 0..3 {
            let of = |packet: &&Packet| plan.station(packet.flow) == station;
            let numbers: Vec<u64> = out.iter().filter(of).map(Packet::number).collect();
            assert!(numbers.is_sorted(), "seed {seed}: {numbers:?}");
        }
    }
}

#[test]
fn the_log_and_the_counters_agree() {
    for seed in 2000..2200 {
        let mut link = Plan::random(seed).link();
        link.record(true);
        for (at, packet) in arrivals(&mut Stream::new(seed, "log"), 300) {
            link.push(at, &packet);
        }
        collect(&mut link, END, &mut Vec::new());
        let counters = link.counters();
        let count = |wanted: fn(&LinkEvent) -> bool| {
            link.events().iter().filter(|event| wanted(event)).count() as u64
        };
        let departures = count(|event| matches!(event.kind, EventKind::Departure { .. }));
        let drops = count(|event| matches!(event.kind, EventKind::Drop { .. }));
        assert_eq!(departures, counters.delivered_packets, "seed {seed}");
        assert_eq!(drops, counters.dropped_packets(), "seed {seed}");
        assert_eq!(count(|event| event.kind == EventKind::Arrival), counters.arrived_packets);
        let marked = count(|event| event.marked);
        assert_eq!(marked, counters.marks + counters.brakes, "seed {seed}");
    }
}

#[test]
fn odd_calls_do_not_panic() {
    let times = [0, 1, 999_999, 1_000_000, 5_000_000_000, u64::MAX - 1, u64::MAX];
    for seed in 3000..3200 {
        let mut stream = Stream::new(seed, "odd");
        let mut link = Plan::random(seed).link();
        for number in 0..200 {
            let now = Time::from_nanos(times[stream.below(times.len() as u64) as usize]);
            match stream.below(3) {
                0 => {
                    let sizes = [0, 1, 1500, 65_535, u32::MAX];
                    let size = sizes[stream.below(sizes.len() as u64) as usize];
                    let flow = [0, 1, 3, u32::MAX][stream.below(4) as usize];
                    link.push(now, &Packet { flow, ..common::packet(number, size, now) });
                }
                1 => drop(link.pop(now)),
                _ => drop((link.wake(), link.counters(), link.backlog_bytes())),
            }
        }
    }
}

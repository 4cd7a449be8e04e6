//! Properties of random access points of 802.11n that only send, under random traffic.

use crate::common::{self, Hasher, random_arrivals, random_queue};
use paceline_cc::{Packet, Rate, Span, Stage, Stream, Time};
use paceline_path::{EventKind, LinkEvent, Port};
use paceline_wifi::{
    AccessPoint, BackgroundConfig, Ht, Mcs, Medium, MediumConfig, Phy, StationPorts,
};

const END: Time = Time::from_secs(100_000);
/// Number of flows; the last one has no station of its own.
const FLOWS: u64 = 4;

fn random_config(stream: &mut Stream) -> MediumConfig {
    let mcs = |stream: &mut Stream| Mcs::new(stream.below(16) as u8).expect("an index");
    let mut at = Span::ZERO;
    let steps: Vec<(Span, Mcs)> = (0..1 + stream.below(3))
        .map(|_| {
            let step = (at, mcs(stream));
            at += Span::from_micros(1 + stream.below(100_000));
            step
        })
        .collect();
    let period = stream.chance(0.5).then_some(at);
    let mut config =
        MediumConfig::new(Phy::ht(Ht::default()), 1 + stream.below(3) as u32, Rate::ZERO);
    let frame_error = [0.0, 0.1, 0.5, 0.9][stream.below(4) as usize];
    for station in config.stations.iter_mut().skip(1) {
        (station.mcs, station.mcs_period) = match stream.chance(0.5) {
            true => (vec![(Span::ZERO, mcs(stream))], None),
            false => (steps.clone(), period),
        };
        station.max_mpdus = Some([0, 1, 2, 20, 64, 1000][stream.below(6) as usize]);
        station.frame_error = frame_error;
    }
    config.aggregation.max_duration =
        Span::from_micros([0, 100, 1000, 5484][stream.below(4) as usize]);
    config.aggregation.transmissions = [1, 2, 8, 256][stream.below(4) as usize];
    config.rts_threshold = stream.chance(0.5).then_some(0);
    let contenders = stream.below(4) as usize;
    let airtime = Span::from_micros(stream.below(3000));
    let gap =
        [Span::ZERO, Span::from_millis(5), Span::from_secs(1 << 33)][stream.below(3) as usize];
    config.background = vec![BackgroundConfig::new(airtime, gap); contenders];
    config
}

/// A random access point that can be built repeatedly, always equal.
struct Plan {
    access_point: AccessPoint,
    seed: u64,
    own_queues: bool,
    routed: bool,
}

impl Plan {
    fn random(seed: u64) -> Plan {
        let mut stream = Stream::new(seed, "wifi plan");
        let config = random_config(&mut stream);
        let station_of = (1..FLOWS).map(|_| stream.below(5) as u32).collect();
        let access_point = AccessPoint::new(config, station_of, &stream).expect("in order");
        let (own_queues, routed) = (stream.chance(0.5), stream.chance(0.5));
        Plan { access_point, seed, own_queues, routed }
    }

    fn medium(&self) -> Medium {
        let port = || {
            let mut port = Port::new(random_queue(&mut Stream::new(self.seed, "wifi queue")));
            port.set_router(self.routed.then(|| Box::new(Hasher::default()) as _));
            port
        };
        let ports = match self.own_queues {
            true => {
                let ports = (0..self.access_point.stations()).map(|_| port());
                StationPorts::per_receiver(ports.collect())
            }
            false => StationPorts::shared(port()),
        };
        self.access_point.medium(ports).expect("in order")
    }
}

fn arrivals(stream: &mut Stream, count: u64) -> Vec<(Time, Packet)> {
    let mut arrivals = random_arrivals(stream, count);
    for (_, packet) in &mut arrivals {
        packet.flow = stream.below(FLOWS) as u32;
    }
    arrivals
}

/// Returns the events of all ports, in the order of their times.
fn events(medium: &mut Medium) -> Vec<LinkEvent> {
    let mut events: Vec<LinkEvent> = Vec::new();
    for log in medium.logs_mut(0) {
        assert!(log.events().is_sorted_by_key(|event| event.time));
        events.extend(log.drain_events());
    }
    events.sort_by_key(|event| event.time);
    events
}

/// Pops until no packet is due, and checks that the medium's next wake-up is in the future.
fn collect(medium: &mut Medium, now: Time, out: &mut Vec<Packet>) {
    while let Some(packet) = medium.pop(now) {
        out.push(packet);
    }
    assert!(medium.wake() > now, "{:?} at {now:?}", medium.wake());
}

fn numbers(out: &[Packet]) -> Vec<u64> {
    out.iter().map(Packet::number).collect()
}

/// A driver that calls exactly when the medium asks for it, before or after an arrival at the same
/// time.
fn timely(
    mut medium: Medium,
    arrivals: &[(Time, Packet)],
    first: bool,
) -> (Vec<u64>, Vec<LinkEvent>) {
    let mut out = Vec::new();
    medium.record(true);
    for (at, packet) in arrivals {
        while medium.wake() < *at || (first && medium.wake() == *at) {
            let now = medium.wake();
            collect(&mut medium, now, &mut out);
        }
        medium.push(*at, packet);
    }
    while medium.wake() < END {
        let now = medium.wake();
        collect(&mut medium, now, &mut out);
    }
    (numbers(&out), events(&mut medium))
}

/// A driver that calls at irregular times, later than the medium asks for.
fn late(mut medium: Medium, arrivals: &[(Time, Packet)], stream: &mut Stream) -> Vec<LinkEvent> {
    let mut out = Vec::new();
    medium.record(true);
    for (at, packet) in arrivals {
        if stream.chance(0.1) {
            collect(&mut medium, *at, &mut out);
        } else if stream.chance(0.2) {
            out.extend(medium.pop(*at));
        }
        medium.push(*at, packet);
    }
    collect(&mut medium, END, &mut out);
    events(&mut medium)
}

#[test]
fn late_pops_give_what_timely_ones_give() {
    for seed in 0..200 {
        let plan = Plan::random(seed);
        let mut stream = Stream::new(seed, "traffic");
        let arrivals = arrivals(&mut stream, 300);
        let expected = timely(plan.medium(), &arrivals, true);
        assert_eq!(timely(plan.medium(), &arrivals, false), expected, "seed {seed}");
        assert_eq!(late(plan.medium(), &arrivals, &mut stream), expected.1, "seed {seed}");
    }
}

#[test]
fn packets_are_conserved_and_stay_in_order() {
    for seed in 1000..1200 {
        let plan = Plan::random(seed);
        let mut stream = Stream::new(seed, "conservation");
        let mut medium = plan.medium();
        medium.logs_mut(0).for_each(|log| log.keep_drops(true));
        let (mut out, mut drops, mut inside) = (Vec::new(), 0, 0_u64);
        for (at, packet) in arrivals(&mut stream, 400) {
            medium.push(at, &packet);
            inside += u64::from(packet.size);
            let before = out.len();
            if stream.chance(0.5) {
                collect(&mut medium, at, &mut out);
            }
            for dropped in medium.logs_mut(0).flat_map(|log| log.drain_drops()) {
                (drops, inside) = (drops + 1, inside - u64::from(dropped.packet.size));
            }
            inside -= out[before..].iter().map(|packet| u64::from(packet.size)).sum::<u64>();
            let counters = medium.counters(0);
            assert_eq!(counters.dropped_packets(), drops, "seed {seed}");
            let held = medium.backlog_packets(0) as u64;
            assert_eq!(counters.arrived_packets, counters.delivered_packets + drops + held);
            assert_eq!(counters.delivered_packets, (out.len() + medium.uncollected()) as u64);
            if medium.uncollected() == 0 {
                assert_eq!(medium.backlog_bytes(0), inside, "seed {seed}");
            }
        }
        collect(&mut medium, END, &mut out);
        // All packets were sent, and each station got its packets in order.
        assert_eq!((medium.backlog_packets(0), medium.backlog_bytes(0)), (0, 0), "seed {seed}");
        for station in 0..3 {
            let of = |packet: &&Packet| plan.access_point.station_of(packet.flow) == station;
            let numbers: Vec<u64> = out.iter().filter(of).map(Packet::number).collect();
            assert!(numbers.is_sorted(), "seed {seed}: {numbers:?}");
        }
    }
}

#[test]
fn the_log_and_the_counters_agree() {
    for seed in 2000..2200 {
        let mut medium = Plan::random(seed).medium();
        medium.record(true);
        for (at, packet) in arrivals(&mut Stream::new(seed, "log"), 300) {
            medium.push(at, &packet);
        }
        collect(&mut medium, END, &mut Vec::new());
        let counters = medium.counters(0);
        let events = events(&mut medium);
        let count = |wanted: fn(&LinkEvent) -> bool| {
            events.iter().filter(|event| wanted(event)).count() as u64
        };
        let departures = count(|event| matches!(event.kind, EventKind::Departure { .. }));
        let drops = count(|event| matches!(event.kind, EventKind::Drop { .. }));
        assert_eq!(departures, counters.delivered_packets, "seed {seed}");
        assert_eq!(drops, counters.dropped_packets(), "seed {seed}");
        assert_eq!(count(|event| event.kind == EventKind::Arrival), counters.arrived_packets);
        let marked = count(|event| event.marked);
        assert_eq!(marked, counters.marks + counters.ect0_marks, "seed {seed}");
    }
}

#[test]
fn odd_calls_do_not_panic() {
    let times = [0, 1, 999_999, 1_000_000, 5_000_000_000, u64::MAX - 1, u64::MAX];
    for seed in 3000..3200 {
        let mut stream = Stream::new(seed, "odd");
        let mut medium = Plan::random(seed).medium();
        for number in 0..200 {
            let now = Time::from_nanos(times[stream.below(times.len() as u64) as usize]);
            match stream.below(3) {
                0 => {
                    let sizes = [0, 1, 1500, 65_535, u32::MAX];
                    let size = sizes[stream.below(sizes.len() as u64) as usize];
                    let flow = [0, 1, 3, u32::MAX][stream.below(4) as usize];
                    medium.push(now, &Packet { flow, ..common::packet(number, size, now) });
                }
                1 => drop(medium.pop(now)),
                _ => drop((medium.wake(), medium.counters(0), medium.backlog_bytes(0))),
            }
        }
    }
}

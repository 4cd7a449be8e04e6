//! Access points that only send.

use super::*;
use paceline_cc::{Batch, Body, Capacity, Ecn, LinkView, Router, Span};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, LinkEvent};

fn mcs(index: u8) -> Mcs {
    Mcs::new(index).expect("an index")
}

/// Stations at MCS 7 that accept A-MPDUs of up to 20 MPDUs.
fn config(stations: u32) -> MediumConfig {
    let mut config = MediumConfig::new(Phy::ht(Ht::default()), stations, Rate::ZERO);
    for station in &mut config.stations {
        (station.mcs, station.max_mpdus) = (vec![(Span::ZERO, mcs(7))], Some(20));
    }
    config
}

/// Next to this many stations of other networks that always have frames of 1 ms.
fn crowded(stations: u32, contenders: usize) -> MediumConfig {
    let contender = BackgroundConfig::new(Span::from_millis(1), Span::ZERO);
    MediumConfig { background: vec![contender; contenders], ..config(stations) }
}

fn with_errors(mut config: MediumConfig, frame_error: f64, transmissions: u32) -> MediumConfig {
    config.stations.iter_mut().for_each(|station| station.frame_error = frame_error);
    config.aggregation.transmissions = transmissions;
    config
}

/// An access point with a flow to each station.
fn access_point(config: MediumConfig) -> AccessPoint {
    let flows = 0..config.stations.len() as u32 - 1;
    AccessPoint::new(config, flows.collect(), &Stream::new(1, "wifi")).expect("valid")
}

fn port() -> Port {
    Port::new(Box::new(Fifo::new(Limit::NONE)))
}

/// One queue for all stations.
fn medium(config: MediumConfig) -> Medium {
    access_point(config).medium(port().into()).expect("valid")
}

/// One queue for all stations, with a router.
fn routed(config: MediumConfig, router: Notes) -> Medium {
    access_point(config).medium(port().with_router(Box::new(router)).into()).expect("valid")
}

fn events(medium: &mut Medium) -> Vec<LinkEvent> {
    medium.logs_mut(0).next().expect("a port").drain_events().collect()
}

fn packet(flow: u32, number: u32, size: u32) -> Packet {
    Packet { flow, body: Body::Opaque(number), ..Packet::opaque(size) }
}

/// Returns the packets that come out until `until`, with their times.
fn drain(medium: &mut Medium, until: Time) -> Vec<(Time, Packet)> {
    let mut out = Vec::new();
    let mut place = Packet::opaque(0);
    while medium.wake() <= until {
        let now = medium.wake();
        if medium.pop_into(now, &mut place) {
            out.push((now, place));
        }
    }
    out
}

#[test]
fn a_batch_takes_what_the_standard_says() {
    let mut medium = medium(config(1));
    let begin = Time::from_millis(1);
    medium.push(begin, &packet(0, 0, 1500));
    medium.push(begin, &packet(0, 1, 1500));
    let out = drain(&mut medium, Time::from_secs(1));
    // The medium is idle: the first packet is sent at once, in 36 + 48 * 4 us.
    let on_air = 36 + 192;
    assert_eq!((out.len(), out[0].0), (2, begin + Span::from_micros(on_air)));
    // 16 us and a block acknowledgement of 32 us; then 43 us, up to 15 slots of 9 us, and the
    // second packet.
    let fixed = 16 + 32 + 43 + on_air;
    let slots = (out[1].0.since(out[0].0).as_nanos() / 1000 - fixed) / 9;
    assert!(slots <= 15 && out[1].0 == out[0].0 + Span::from_micros(fixed + 9 * slots));
}

#[test]
fn what_comes_during_a_batch_goes_together() {
    let mut medium = medium(config(1));
    for number in 0..30 {
        medium.push(Time::ZERO, &packet(0, number, 1500));
    }
    let out = drain(&mut medium, Time::from_secs(1));
    let mut ends: Vec<Time> = out.iter().map(|(at, _)| *at).collect();
    let numbers: Vec<u64> = out.iter().map(|(_, packet)| packet.number()).collect();
    assert_eq!(numbers, (0..30).collect::<Vec<_>>());
    ends.dedup();
    // The first packet alone, because no other was there; then twenty, then the rest.
    assert_eq!(ends.len(), 3);
    assert_eq!(out.iter().filter(|(at, _)| *at == ends[1]).count(), 20);
}

/// Keeps an access point with a port per station backlogged for all stations. Returns the bytes of
/// each flow, and the bytes offered by the capacity.
fn saturated(config: MediumConfig, secs: u64) -> (Vec<u64>, u64) {
    let access_point = access_point(config);
    let flows = access_point.stations();
    let ports = StationPorts::per_receiver((0..flows).map(|_| port()).collect());
    let mut medium = access_point.medium(ports).expect("valid");
    let mut inside = vec![0_u64; flows];
    let mut bytes = vec![0; flows];
    let mut place = Packet::opaque(0);
    let mut now = Time::ZERO;
    while now <= Time::from_secs(secs) {
        for (flow, held) in (0..).zip(&mut inside) {
            while *held < 100 {
                medium.push(now, &packet(flow, 0, 1500));
                *held += 1;
            }
        }
        now = medium.wake();
        while medium.pop_into(now, &mut place) {
            bytes[place.flow as usize] += u64::from(place.size);
            inside[place.flow as usize] -= 1;
        }
    }
    (bytes, access_point.capacity().offered(Time::ZERO, now))
}

#[test]
fn the_capacity_is_what_saturation_gives() {
    let contenders = with_errors(crowded(1, 3), 0.1, 8);
    let protected = MediumConfig { rts_threshold: Some(0), ..contenders.clone() };
    let mut mixed = config(2);
    mixed.stations[2].mcs = vec![(Span::ZERO, mcs(1))];
    mixed.stations[2].max_mpdus = Some(8);
    let mut slow = config(1);
    slow.stations[1].mcs[0].1 = mcs(0);
    for (name, config, within) in [
        ("alone", config(1), 0.01),
        ("slow", slow, 0.01),
        ("mixed", mixed, 0.01),
        // Competitors that have often lost stay silent for long, so that means converge slowly.
        ("contenders", contenders, 0.05),
        ("rts", protected, 0.05),
    ] {
        let (bytes, offered) = saturated(config, 200);
        let used = bytes.iter().sum::<u64>() as f64 / offered as f64;
        assert!((used - 1.0).abs() < within, "{name}: {used}");
    }
    // Without competitors: 20 frames in 43 + 67.5 + 36 + 4 * 951 + 48 us.
    let (_, offered) = saturated(config(1), 1);
    let expected = 240e3 / (43.0 + 67.5 + 36.0 + 3804.0 + 48.0);
    assert!((offered as f64 * 8e-6 / expected - 1.0).abs() < 0.01, "{offered}");
}

#[test]
fn collisions_cost_batches_without_rts() {
    let crowded = |rts: bool| MediumConfig { rts_threshold: rts.then_some(0), ..crowded(1, 5) };
    let used = |rts| saturated(crowded(rts), 20).0[0];
    let ratio = used(true) as f64 / used(false) as f64;
    assert!(ratio > 1.1, "{ratio}");
    let lost = |rts| {
        let mut medium = medium(with_errors(crowded(rts), 0.0, 1));
        for number in 0..2000 {
            medium.push(Time::ZERO, &packet(0, number, 1500));
        }
        drain(&mut medium, Time::from_secs(60));
        medium.counters(0).dropped_unacknowledged
    };
    assert!(lost(true) == 0 && lost(false) > 0);
}

#[test]
fn stations_take_turns() {
    let (bytes, _) = saturated(config(3), 5);
    let mean = bytes.iter().sum::<u64>() as f64 / 3.0;
    assert!(bytes.iter().all(|&bytes| (bytes as f64 / mean - 1.0).abs() < 0.02), "{bytes:?}");
}

#[test]
fn modulation_follows_its_steps() {
    let mut changing = config(1);
    changing.stations[1].mcs = vec![(Span::ZERO, mcs(1)), (Span::from_secs(2), mcs(7))];
    changing.stations[1].mcs_period = Some(Span::from_secs(4));
    let access_point = access_point(changing);
    let at = |from, to| {
        let bytes = access_point.capacity().offered(Time::from_secs(from), Time::from_secs(to));
        bytes as f64 * 8e-6 / (to - from) as f64
    };
    assert!((11.0..13.0).contains(&at(0, 2)), "{}", at(0, 2));
    assert!((58.0..62.0).contains(&at(2, 4)), "{}", at(2, 4));
    assert!((at(0, 2) - at(4, 6)).abs() < 1e-4);
}

#[test]
fn packets_stay_in_order_and_none_is_lost_unseen() {
    let mut medium = medium(with_errors(crowded(2, 2), 0.3, 3));
    let mut random = Stream::new(3, "packets");
    let mut last = [0; 2];
    let (mut now, mut through) = (Time::ZERO, 0);
    for number in 1..=20_000_u32 {
        now += Span::from_micros(random.below(1000));
        medium.push(now, &packet(number % 2, number, 40 + random.below(1461) as u32));
        for (_, packet) in drain(&mut medium, now) {
            let flow = packet.flow as usize;
            assert!(packet.number() > last[flow]);
            last[flow] = packet.number();
            through += 1;
        }
        assert!(medium.backlog_packets(0) <= 20_000);
    }
    through += drain(&mut medium, Time::NEVER - Span::from_secs(1)).len() as u64;
    let counters = medium.counters(0);
    assert_eq!((medium.backlog_packets(0), medium.backlog_bytes(0)), (0, 0));
    assert_eq!(counters.delivered_packets, through);
    assert_eq!(through + counters.dropped_unacknowledged, 20_000);
    // 0.3 cubed, plus the effect of collisions.
    let lost = counters.dropped_unacknowledged as f64 / 20_000.0;
    assert!((0.027..0.12).contains(&lost), "{lost}");
}

#[test]
fn what_is_given_up_is_logged_in_order_with_its_marks() {
    let (batches, _told) = std::sync::mpsc::channel();
    let mut medium = routed(with_errors(config(1), 1.0, 2), Notes { batches });
    medium.record(true);
    for number in 0..50 {
        medium.push(Time::ZERO, &packet(0, number, 1500));
    }
    drain(&mut medium, Time::from_secs(1));
    let dropped = |event: &LinkEvent| matches!(event.kind, paceline_path::EventKind::Drop { .. });
    let drops: Vec<_> = events(&mut medium).into_iter().filter(dropped).collect();
    let numbers: Vec<u64> = drops.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    let marked = |event: &LinkEvent| event.marked && event.before == Ecn::NotEct;
    assert!(drops.iter().all(marked) && medium.counters(0).marks == 50);
}

/// Frames behind one that is given up do not wait for another batch.
#[test]
fn the_head_given_up_lets_the_others_go_at_once() {
    let mut medium = medium(with_errors(config(1), 0.5, 2));
    medium.record(true);
    for number in 0..500 {
        medium.push(Time::ZERO, &packet(0, number, 1500));
    }
    let out = drain(&mut medium, Time::from_secs(5));
    let event = |event: LinkEvent| match event.kind {
        paceline_path::EventKind::Drop { .. } => Some((event.time, event.number)),
        _ => None,
    };
    let (mut behind, mut given_up) = (0, 0);
    for (at, number) in events(&mut medium).into_iter().filter_map(event) {
        given_up += 1;
        let next = out.iter().find(|(_, packet)| packet.number() == number + 1);
        behind += u32::from(next.is_some_and(|(end, _)| *end == at));
    }
    // A quarter is given up; of the following frames, half had arrived before.
    assert!((90..160).contains(&given_up), "{given_up}");
    assert!(behind > 20, "{behind} of {given_up}");
}

#[test]
fn the_end_of_time_ends() {
    let mut medium = medium(config(1));
    for number in 0..3 {
        medium.push(Time::ZERO, &packet(0, number, 1500));
    }
    // Uncollected packets stay uncollected, and a new packet is never sent.
    medium.push(Time::NEVER, &packet(0, 3, 1500));
    assert_eq!((medium.uncollected(), medium.backlog_packets(0)), (3, 1));
    assert_eq!(medium.wake(), drain(&mut medium, Time::from_secs(1))[0].0);
}

/// Records its calls.
struct Notes {
    batches: std::sync::mpsc::Sender<(Time, Batch)>,
}

impl Router for Notes {
    fn on_departure(&mut self, _: Time, packet: &mut Packet, _: Span, _: &LinkView<'_>) {
        packet.ecn = Ecn::Ce;
    }
    fn on_batch(&mut self, now: Time, batch: &Batch) {
        self.batches.send((now, *batch)).expect("somebody listens");
    }
}

#[test]
fn the_router_hears_of_batches() {
    let (batches, told) = std::sync::mpsc::channel();
    let mut two = config(2);
    two.stations[2].mcs = vec![(Span::ZERO, mcs(0))];
    let mut medium = routed(two, Notes { batches });
    for number in 0..41 {
        medium.push(Time::ZERO, &packet(number % 2, number, 1500));
    }
    let out = drain(&mut medium, Time::from_secs(1));
    assert!(out.iter().all(|(_, packet)| packet.ecn == Ecn::Ce));
    assert_eq!(medium.counters(0).marks, 41);
    let told: Vec<_> = told.try_iter().collect();
    assert_eq!(told.iter().map(|(_, batch)| batch.acked_bytes).sum::<u32>(), 41 * 1500);
    for (at, batch) in told {
        // A block acknowledgement takes 32 us at 24 Mbit/s, and 68 us at 6 Mbit/s.
        let (most, mbps, answer) =
            if batch.station == 0 { (20, 65.0, 16 + 32) } else { (2, 6.5, 16 + 68) };
        assert!(out.iter().any(|(end, _)| *end + Span::from_micros(answer) == at));
        assert_eq!((batch.max_frames, batch.rate), (most, Rate::from_mbps(mbps)));
        assert_eq!(batch.air_bytes, batch.frames * 1544);
    }
}

/// Sends the name of its port, and the number that it received, to a channel.
struct Named(&'static str, std::sync::mpsc::Sender<(&'static str, u32)>);

impl Router for Named {
    fn on_departure(&mut self, _: Time, packet: &mut Packet, _: Span, link: &LinkView<'_>) {
        self.1
            .send((self.0, packet.number() as u32 + link.queue_packets as u32))
            .expect("received");
    }
    fn on_batch(&mut self, _: Time, batch: &Batch) {
        self.1.send((self.0, batch.acked_bytes)).expect("received");
    }
}

#[test]
fn each_station_has_a_queue_and_a_router_of_its_own() {
    let (told, calls) = std::sync::mpsc::channel();
    let port = |name| {
        let queue = Box::new(Fifo::new(Limit::packets(5)));
        Port::new(queue).with_router(Box::new(Named(name, told.clone())))
    };
    let ports = StationPorts::per_receiver(vec![port("first"), port("second")]);
    let mut medium = access_point(config(2)).medium(ports).expect("valid");
    medium.logs_mut(0).for_each(|log| log.keep_drops(true));
    // The first packet is sent at once. Five of the other eight for the first station fit.
    for number in 0..9 {
        medium.push(Time::ZERO, &packet(0, 10 * number, 1500));
    }
    // A flow without a station uses the last one, which has its own buffer.
    medium.push(Time::ZERO, &packet(7, 200, 1500));
    assert_eq!((medium.backlog_packets(0), medium.counters(0).dropped_full), (7, 3));
    let dropped: Vec<usize> = medium.logs_mut(0).map(|log| log.drain_drops().count()).collect();
    assert_eq!(dropped, [3, 0]);
    let out = drain(&mut medium, Time::from_secs(1));
    let numbers: Vec<u64> = out.iter().map(|(_, packet)| packet.number()).collect();
    assert_eq!(numbers, [0, 200, 10, 20, 30, 40, 50]);
    let calls: Vec<_> = calls.try_iter().collect();
    let expected = [
        ("first", 0),
        ("first", 1500),
        ("second", 200),
        ("second", 1500),
        ("first", 10 + 4),
        ("first", 20 + 3),
        ("first", 30 + 2),
        ("first", 40 + 1),
        ("first", 50),
        ("first", 5 * 1500),
    ];
    assert_eq!(calls, expected);
}

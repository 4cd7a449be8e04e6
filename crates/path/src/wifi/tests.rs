use super::*;
use crate::link::Link;
use crate::queue::{Fifo, Limit, Queue};
use crate::service::Service;
use paceline_cc::{Batch, Body, Ecn, LinkView, Packet, Router, Stage};

fn mcs(index: u8) -> Mcs {
    Mcs::new(index).expect("an index")
}

fn config(stations: usize) -> WifiConfig {
    WifiConfig {
        stations: vec![StationConfig::new(20); stations],
        station_of: (0..stations as u32).collect(),
        rts: false,
        ..WifiConfig::new(mcs(7))
    }
}

fn link(config: WifiConfig) -> Link {
    let service = Service::wifi(config, &Stream::new(1, "wifi")).expect("valid");
    Link::new(Box::new(Fifo::new(Limit::NONE)), service)
}

/// The same with a queue for each station.
fn link_of_queues(config: WifiConfig) -> Link {
    let fifo = |_: &StationConfig| Box::new(Fifo::new(Limit::NONE)) as Box<dyn Queue>;
    let queues = config.stations.iter().map(fifo).collect();
    let queues = StationQueues::new(queues, config.station_of.clone());
    let service = Service::wifi(config, &Stream::new(1, "wifi")).expect("valid");
    Link::new(Box::new(queues), service)
}

fn packet(flow: u32, number: u32, size: u32) -> Packet {
    Packet { flow, body: Body::Opaque(number), ..Packet::opaque(size) }
}

/// Everything that comes out by `until`, with its time.
fn drain(link: &mut Link, until: Time) -> Vec<(Time, Packet)> {
    let mut out = Vec::new();
    let mut place = Packet::opaque(0);
    while link.wake() <= until {
        let now = link.wake();
        if link.pop_into(now, &mut place) {
            out.push((now, place));
        }
    }
    out
}

#[test]
fn a_batch_takes_what_the_standard_says() {
    let mut link = link(config(1));
    let begin = Time::from_millis(1);
    link.push(begin, &packet(0, 0, 1500));
    link.push(begin, &packet(0, 1, 1500));
    let out = drain(&mut link, Time::from_secs(1));
    // The medium is idle: the first goes at once, in 36 + 48 * 4 us.
    let on_air = 36 + 192;
    assert_eq!((out.len(), out[0].0), (2, begin + Span::from_micros(on_air)));
    // 16 us and a block acknowledgement of 32 us; then 43 us, up to 15 slots of 9 us, and the second.
    let fixed = 16 + 32 + 43 + on_air;
    let slots = (out[1].0.since(out[0].0).as_nanos() / 1000 - fixed) / 9;
    assert!(slots <= 15 && out[1].0 == out[0].0 + Span::from_micros(fixed + 9 * slots));
}

#[test]
fn what_comes_during_a_batch_goes_together() {
    let mut link = link(config(1));
    for number in 0..30 {
        link.push(Time::ZERO, &packet(0, number, 1500));
    }
    let out = drain(&mut link, Time::from_secs(1));
    let mut ends: Vec<Time> = out.iter().map(|(at, _)| *at).collect();
    let numbers: Vec<u64> = out.iter().map(|(_, packet)| packet.number()).collect();
    assert_eq!(numbers, (0..30).collect::<Vec<_>>());
    ends.dedup();
    // The first alone, since nothing else was there; then twenty, then the rest.
    assert_eq!(ends.len(), 3);
    assert_eq!(out.iter().filter(|(at, _)| *at == ends[1]).count(), 20);
}

/// Feeds a link so that no station's queue is ever empty, and counts bytes by flow.
fn saturated(config: WifiConfig, secs: u64) -> (Vec<u64>, u64) {
    let flows = config.station_of.len();
    let mut link = link_of_queues(config);
    let mut inside = vec![0_u64; flows];
    let mut bytes = vec![0; flows];
    let mut place = Packet::opaque(0);
    let mut now = Time::ZERO;
    while now <= Time::from_secs(secs) {
        for (flow, held) in (0..).zip(&mut inside) {
            while *held < 100 {
                link.push(now, &packet(flow, 0, 1500));
                *held += 1;
            }
        }
        now = link.wake();
        while link.pop_into(now, &mut place) {
            bytes[place.flow as usize] += u64::from(place.size);
            inside[place.flow as usize] -= 1;
        }
    }
    (bytes, link.service().offered(Time::ZERO, now))
}

#[test]
fn the_capacity_is_what_saturation_gives() {
    let mut contenders = config(1);
    (contenders.contenders, contenders.frame_error) = (3, 0.1);
    let protected = WifiConfig { rts: true, ..contenders.clone() };
    let mut mixed = config(2);
    mixed.stations[1] = StationConfig { mcs: Some(mcs(1)), max_frames: 8 };
    let mut slow = config(1);
    slow.steps[0].1 = mcs(0);
    for (name, config, within) in [
        ("alone", config(1), 0.01),
        ("slow", slow, 0.01),
        ("mixed", mixed, 0.01),
        // Competitors that have lost often stay silent for long: means converge slowly.
        ("contenders", contenders, 0.05),
        ("rts", protected, 0.05),
    ] {
        let (bytes, offered) = saturated(config, 200);
        let used = bytes.iter().sum::<u64>() as f64 / offered as f64;
        assert!((used - 1.0).abs() < within, "{name}: {used}");
    }
    // Alone: 20 frames in 43 + 67.5 + 36 + 4 * 951 + 48 us.
    let (_, offered) = saturated(config(1), 1);
    let expected = 240e3 / (43.0 + 67.5 + 36.0 + 3804.0 + 48.0);
    assert!((offered as f64 * 8e-6 / expected - 1.0).abs() < 0.01, "{offered}");
}

#[test]
fn collisions_cost_batches_without_rts() {
    let used = |rts| {
        let (bytes, _) = saturated(WifiConfig { rts, contenders: 5, ..config(1) }, 20);
        bytes[0]
    };
    let ratio = used(true) as f64 / used(false) as f64;
    assert!(ratio > 1.1, "{ratio}");
    let lost = |rts| {
        let mut link = link(WifiConfig { rts, contenders: 5, retries: 0, ..config(1) });
        for number in 0..2000 {
            link.push(Time::ZERO, &packet(0, number, 1500));
        }
        drain(&mut link, Time::from_secs(60));
        link.counters().dropped_unacknowledged
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
    changing.steps = vec![(Span::ZERO, mcs(1)), (Span::from_secs(2), mcs(7))];
    changing.period = Some(Span::from_secs(4));
    let link = link(changing);
    let at = |from, to| {
        let bytes = link.service().offered(Time::from_secs(from), Time::from_secs(to));
        bytes as f64 * 8e-6 / (to - from) as f64
    };
    assert!((11.0..13.0).contains(&at(0, 2)), "{}", at(0, 2));
    assert!((58.0..62.0).contains(&at(2, 4)), "{}", at(2, 4));
    assert!((at(0, 2) - at(4, 6)).abs() < 1e-4);
}

#[test]
fn packets_stay_in_order_and_none_is_lost_unseen() {
    let mut lossy = config(2);
    (lossy.frame_error, lossy.retries, lossy.contenders) = (0.3, 2, 2);
    let mut link = link(lossy);
    let mut random = Stream::new(3, "packets");
    let mut last = [0; 2];
    let (mut now, mut through) = (Time::ZERO, 0);
    for number in 1..=20_000_u32 {
        now += Span::from_micros(random.below(1000));
        link.push(now, &packet(number % 2, number, 40 + random.below(1461) as u32));
        for (_, packet) in drain(&mut link, now) {
            let flow = packet.flow as usize;
            assert!(packet.number() > last[flow]);
            last[flow] = packet.number();
            through += 1;
        }
        assert!(link.backlog_packets() <= 20_000);
    }
    through += drain(&mut link, Time::NEVER - Span::from_secs(1)).len() as u64;
    let counters = link.counters();
    assert_eq!((link.backlog_packets(), link.backlog_bytes()), (0, 0));
    assert_eq!(counters.delivered_packets, through);
    assert_eq!(through + counters.dropped_unacknowledged, 20_000);
    // 0.3 cubed, and collisions on top.
    let lost = counters.dropped_unacknowledged as f64 / 20_000.0;
    assert!((0.027..0.12).contains(&lost), "{lost}");
}

#[test]
fn what_is_given_up_is_logged_in_order_with_its_marks() {
    let hopeless = WifiConfig { frame_error: 1.0, retries: 1, ..config(1) };
    let (batches, _told) = std::sync::mpsc::channel();
    let mut link = link(hopeless).with_router(Box::new(Notes { batches }));
    link.record(true);
    for number in 0..50 {
        link.push(Time::ZERO, &packet(0, number, 1500));
    }
    drain(&mut link, Time::from_secs(1));
    let dropped = |event: &&crate::LinkEvent| matches!(event.kind, crate::EventKind::Drop { .. });
    let drops: Vec<_> = link.events().iter().filter(dropped).collect();
    let numbers: Vec<u64> = drops.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    let marked = |event: &&crate::LinkEvent| event.marked && event.before == Ecn::NotEct;
    assert!(drops.iter().all(marked) && link.counters().marks == 50);
}

/// Frames behind one that is given up do not wait for another batch.
#[test]
fn the_head_given_up_lets_the_others_go_at_once() {
    let mut link = link(WifiConfig { frame_error: 0.5, retries: 1, ..config(1) });
    link.record(true);
    for number in 0..500 {
        link.push(Time::ZERO, &packet(0, number, 1500));
    }
    let out = drain(&mut link, Time::from_secs(5));
    let event = |event: &crate::LinkEvent| match event.kind {
        crate::EventKind::Drop { .. } => Some((event.time, event.number)),
        _ => None,
    };
    let (mut behind, mut given_up) = (0, 0);
    for (at, number) in link.events().iter().filter_map(event) {
        given_up += 1;
        let next = out.iter().find(|(_, packet)| packet.number() == number + 1);
        behind += u32::from(next.is_some_and(|(end, _)| *end == at));
    }
    // A quarter is given up; of those that follow, half had come before.
    assert!((90..160).contains(&given_up), "{given_up}");
    assert!(behind > 20, "{behind} of {given_up}");
}

#[test]
fn the_end_of_time_ends() {
    let mut link = link(config(1));
    for number in 0..3 {
        link.push(Time::ZERO, &packet(0, number, 1500));
    }
    // What has not been collected stays so, and what comes now is never through.
    link.push(Time::NEVER, &packet(0, 3, 1500));
    assert_eq!((link.uncollected(), link.backlog_packets()), (3, 1));
    assert_eq!(link.wake(), drain(&mut link, Time::from_secs(1))[0].0);
}

/// Writes down what it is told.
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
    two.stations[1].mcs = Some(mcs(0));
    let mut link = link(two).with_router(Box::new(Notes { batches }));
    for number in 0..41 {
        link.push(Time::ZERO, &packet(number % 2, number, 1500));
    }
    let out = drain(&mut link, Time::from_secs(1));
    assert!(out.iter().all(|(_, packet)| packet.ecn == Ecn::Ce));
    assert_eq!(link.counters().marks, 41);
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

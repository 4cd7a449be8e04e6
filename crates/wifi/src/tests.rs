//! Tests of the medium as a stage.

use paceline_cc::{Span, Stream};
use paceline_path::Limit;
use paceline_path::queue::Fifo;

use super::*;

const MBPS_11: Rate = Rate::from_bps(11_000_000);

fn at(micros: u64) -> Time {
    Time::from_nanos(1000 * micros)
}

/// A medium of 802.11b with routes 2i down to station i + 1 and 2i + 1 up from it.
fn medium(stations: u32, change: impl FnOnce(&mut MediumConfig)) -> Medium {
    let mut config = MediumConfig::new(Phy::dsss(Preamble::Long), stations, MBPS_11);
    change(&mut config);
    let port = |_: &StationConfig| Port::new(Box::new(Fifo::new(Limit::packets(50)))).into();
    let ports = config.stations.iter().map(port).collect();
    let mut medium = Medium::new(config, ports, &Stream::new(1, "medium")).expect("legal");
    let hops = (1..=stations).flat_map(|i| [Hop { from: 0, to: i }, Hop { from: i, to: 0 }]);
    medium.set_hops(hops.collect());
    medium
}

fn packet(route: u32) -> Packet {
    Packet { route, ..Packet::opaque(1300) }
}

/// Returns the packets that come out until the medium is idle: times in microseconds, and routes.
fn drain(medium: &mut Medium) -> Vec<(f64, u32)> {
    let mut all = Vec::new();
    while medium.wake() != Time::NEVER {
        let now = medium.wake();
        while let Some(packet) = medium.pop(now) {
            all.push((now.as_secs_f64() * 1e6, packet.route));
        }
    }
    all
}

/// 192 µs, and 1336 bytes at 11 Mbit/s in whole microseconds.
const FRAME: u64 = 192 + 972;

#[test]
fn a_lone_packet_is_transmitted_at_once() {
    let mut medium = medium(1, |_| {});
    medium.push(at(1000), &packet(1));
    assert_eq!(medium.wake(), at(1000));
    assert_eq!(drain(&mut medium), [((1000 + FRAME) as f64, 1)]);
    assert_eq!(medium.stats(1).transmissions, 1);
    assert_eq!(medium.stats(1).airtime, Span::from_micros(FRAME + 10 + 304));
}

#[test]
fn a_turn_lasts_from_the_first_packet_to_the_answer() {
    let mut medium = medium(2, |config| config.stations[2].frame_error = 1.0);
    medium.record_statistics(true);
    medium.push(at(1000), &packet(1));
    drain(&mut medium);
    let end = at(1000 + FRAME + 10 + 304);
    let turns: Vec<Turn> = medium.drain_turns(1).collect();
    assert_eq!(turns, [Turn { start: at(1000), end, bytes: 1300 }]);
    assert_eq!(medium.busy_time(1, at(1500)), Some(end.since(at(1000))));
    assert_eq!(
        (medium.busy_time(1, at(900_000)), medium.open_turn(1)),
        (Some(end.since(at(1000))), None)
    );
    // Further packets: turns follow each other without a gap.
    (0..3).for_each(|_| medium.push(at(100_000), &packet(1)));
    assert_eq!(medium.open_turn(1), Some(at(100_000)));
    drain(&mut medium);
    let turns: Vec<Turn> = medium.drain_turns(1).collect();
    assert_eq!(turns.iter().map(|turn| turn.bytes).sum::<u64>(), 3 * 1300);
    assert!(
        turns.windows(2).all(|pair| pair[0].end == pair[1].start) && turns[0].start == at(100_000)
    );
    // A packet that is given up takes time, too.
    medium.push(at(200_000), &packet(3));
    drain(&mut medium);
    let turns: Vec<Turn> = medium.drain_turns(2).collect();
    assert_eq!((turns.len(), turns.iter().map(|turn| turn.bytes).sum::<u64>()), (7, 0));
    let busy = turns[6].end.since(at(200_000));
    assert_eq!(medium.busy_time(2, at(900_000)), Some(busy));
}

#[test]
fn the_next_packet_waits_for_the_answer_and_a_backoff() {
    let mut medium = medium(1, |_| {});
    medium.push(at(1000), &packet(1));
    medium.push(at(1000), &packet(1));
    let came = drain(&mut medium);
    let gap = came[1].0 - came[0].0 - (10 + 304 + 50 + FRAME) as f64;
    let slots = gap / 20.0;
    assert!((0.0..=31.0).contains(&slots) && slots == slots.floor(), "{slots}");
}

#[test]
fn frames_that_begin_together_collide_and_are_sent_again() {
    let mut medium = medium(2, |_| {});
    medium.push(at(1000), &packet(1));
    medium.push(at(1000), &packet(3));
    let came = drain(&mut medium);
    assert_eq!(came.len(), 2);
    assert_eq!((medium.stats(1).collisions, medium.stats(2).collisions), (1, 1));
    // At least the timeout and a DIFS lie between the collision and the next frame.
    assert!(came[0].0 >= (1000 + 2 * FRAME + 222 + 50) as f64);
    assert!(medium.collision_probability() >= 0.5);
}

/// Returns for how long the senders of the longer and of the shorter frame of a collision wait
/// after the end of the longer one until they count slots, in microseconds.
fn waits_after_a_shorter_frame(eifs: bool) -> [f64; 2] {
    let mut medium = medium(2, |config| config.phy.eifs_after_own_collision = eifs);
    medium.push(at(1000), &packet(1));
    medium.push(at(1000), &Packet { size: 40, ..packet(3) });
    medium.catch_up(at(1001));
    let end = at(1000 + FRAME);
    [1, 2].map(|number| medium.contention.counts_from(number).since(end).as_secs_f64() * 1e6)
}

#[test]
fn who_sent_the_shorter_frame_waits_for_a_difs_or_as_in_ns2_for_an_eifs() {
    // First: a SIFS, a slot, the delay until an answer is detected, and a DIFS. Second: a DIFS.
    assert_eq!(waits_after_a_shorter_frame(false), [10.0 + 20.0 + 192.0 + 50.0, 50.0]);
    // First: a SIFS and an acknowledgement. Second: the same and a DIFS.
    assert_eq!(waits_after_a_shorter_frame(true), [10.0 + 304.0, 10.0 + 304.0 + 50.0]);
}

#[test]
fn a_packet_that_never_arrives_is_given_up_after_seven_transmissions() {
    let mut medium = medium(1, |config| config.stations[1].frame_error = 1.0);
    medium.push(at(0), &packet(0));
    medium.push(at(0), &packet(0));
    assert!(drain(&mut medium).is_empty());
    let stats = medium.stats(0);
    assert_eq!((stats.transmissions, stats.errors), (14, 14));
    let counters = medium.counters(0);
    assert_eq!((counters.dropped_unacknowledged, counters.delivered_packets), (2, 0));
}

#[test]
fn with_rts_the_frame_behind_it_is_sent_four_times() {
    let mut medium = medium(1, |config| {
        config.stations[1].frame_error = 1.0;
        config.rts_threshold = Some(500);
    });
    medium.push(at(0), &packet(1));
    assert!(drain(&mut medium).is_empty());
    assert_eq!(medium.stats(1).transmissions, 4);
}

#[test]
fn a_scaled_medium_has_scaled_protection() {
    let capacity = |scale: u32, protection: Protection| {
        let mbps = |rate: f64| Rate::from_mbps(rate * f64::from(scale));
        let mut config = MediumConfig::new(Phy::erp_ofdm().scaled(scale), 1, mbps(54.0));
        config.protection = protection;
        config.nominal_rate(mbps(54.0), 1500).as_bps() as f64 / f64::from(scale)
    };
    for protection in
        [Protection::None, Protection::CtsToSelf(Rate::from_mbps(1.0), Preamble::Long)]
    {
        let (one, ten) = (capacity(1, protection), capacity(10, protection));
        assert!((ten / one - 1.0).abs() < 1e-3, "{protection:?}: {one} {ten}");
    }
}

#[test]
fn an_rts_costs_its_time_and_saves_the_frames_that_collide() {
    let config = |rts| {
        let mut config = MediumConfig::new(Phy::dsss(Preamble::Long), 20, Rate::from_mbps(1.0));
        config.rts_threshold = rts;
        config
    };
    let run = |rts| {
        let ten = Span::from_secs(10);
        saturate(config(rts), SaturatedSenders::Up, 1300, ten, &Stream::new(1, "medium"))
            .expect("legal")
            .streams_mbps
            .iter()
            .sum()
    };
    let (without, with): (f64, f64) = (run(None), run(Some(500)));
    assert!(with > 1.05 * without, "{with} {without}");
}

#[test]
fn nothing_gets_lost_and_runs_repeat() {
    let run = || {
        let mut medium = medium(5, |config| config.stations[2].frame_error = 0.3);
        let mut random = Stream::new(3, "arrivals");
        let (mut now, mut sent, mut got) = (Time::ZERO, 0, Vec::new());
        for _ in 0..4000 {
            now += Span::from_micros(random.below(3000));
            while medium.wake() <= now {
                let at = medium.wake();
                got.extend(medium.pop(at).map(|packet| (at, packet.route)));
            }
            medium.push(now, &packet(random.below(10) as u32));
            sent += 1;
        }
        got.extend(drain(&mut medium).iter().map(|&(_, route)| (Time::NEVER, route)));
        let dropped: u64 = (0..6).map(|i| medium.counters(i).dropped_packets()).sum();
        assert_eq!(got.len() as u64 + dropped, sent);
        got
    };
    assert_eq!(run(), run());
}

#[test]
fn whoever_asks_late_gets_the_same() {
    let mut prompt = medium(3, |_| {});
    let mut late = medium(3, |_| {});
    let mut want = Vec::new();
    for i in 0..200u64 {
        let (now, route) = (at(700 * i), (i % 6) as u32);
        while prompt.wake() < now {
            let at = prompt.wake();
            want.extend(prompt.pop(at).map(|packet| packet.route));
        }
        prompt.push(now, &packet(route));
        late.push(now, &packet(route));
    }
    want.extend(drain(&mut prompt).iter().map(|&(_, route)| route));
    let mut got = Vec::new();
    while let Some(packet) = late.pop(Time::from_secs(100)) {
        got.push(packet.route);
    }
    assert_eq!(got, want);
}

/// Returns how often, in a hundred runs, an answer that is queued when a frame has arrived follows
/// at once after the acknowledgement and a DIFS.
fn answers_at_once(access_at_arrival: bool) -> usize {
    let at_once = |start: u64| {
        let mut medium = medium(1, |config| config.access_at_arrival = access_at_arrival);
        for _ in 0..start {
            medium.contention.draw(1);
        }
        medium.contention.resume(1, at(0), false);
        medium.push(at(1000), &packet(0));
        let arrival = medium.wake().max(at(1000 + FRAME));
        while medium.pop(arrival).is_none() {}
        medium.push(arrival, &Packet { size: 40, ..packet(1) });
        let start = medium.contention.start(1);
        start == arrival + Span::from_micros(10 + 304 + 50)
    };
    (0..100).filter(|start| at_once(*start)).count()
}

#[test]
fn an_answer_may_follow_without_a_backoff_as_in_ns3() {
    assert_eq!(answers_at_once(true), 100);
    assert!(answers_at_once(false) < 20);
}

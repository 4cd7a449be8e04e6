//! A-MPDUs and background stations at a medium.

use std::sync::mpsc::{Sender, channel};

use paceline_cc::{Batch, Body, LinkView, Router, Span, Stream};
use paceline_path::Limit;
use paceline_path::queue::Fifo;

use super::*;

fn mcs(index: u8) -> Mcs {
    Mcs::new(index).expect("an index")
}

fn at(micros: u64) -> Time {
    Time::from_nanos(1000 * micros)
}

/// Stations of 802.11n at MCS 7 each.
fn config(stations: u32) -> MediumConfig {
    let mut config = MediumConfig::new(Phy::ht(Ht::default()), stations, Rate::ZERO);
    for station in &mut config.stations {
        station.mcs = vec![(Span::ZERO, mcs(7))];
    }
    config
}

/// Routes 2i go down to station i + 1, and 2i + 1 up from it.
fn medium(config: MediumConfig, router: Option<Box<dyn Router>>) -> Medium {
    let port = |_: &StationConfig| Port::new(Box::new(Fifo::new(Limit::packets(500))));
    let stations = config.stations.len() as u32;
    let mut ports: Vec<_> = config.stations.iter().map(port).collect();
    ports[1].set_router(router);
    let ports = ports.into_iter().map(StationPorts::shared).collect();
    let mut medium = Medium::new(config, ports, &Stream::new(1, "medium")).expect("legal");
    let hops = (1..stations).flat_map(|i| [Hop { from: 0, to: i }, Hop { from: i, to: 0 }]);
    medium.set_hops(hops.collect());
    medium
}

fn packet(route: u32, number: u32) -> Packet {
    Packet { route, body: Body::Opaque(number), ..Packet::opaque(1500) }
}

/// Returns the packets that come out until the medium is idle: times, routes and numbers.
fn drain(medium: &mut Medium) -> Vec<(Time, u32, u64)> {
    let mut all = Vec::new();
    while medium.wake() != Time::NEVER {
        let now = medium.wake();
        while let Some(packet) = medium.pop(now) {
            all.push((now, packet.route, packet.number()));
        }
    }
    all
}

fn saturated(config: &MediumConfig, load: SaturatedSenders) -> Saturation {
    let long = Span::from_secs(300);
    saturate(config.clone(), load, 1500, long, &Stream::new(1, "medium")).expect("legal")
}

#[test]
fn a_station_alone_carries_what_the_times_say() {
    for load in [SaturatedSenders::Up, SaturatedSenders::Down] {
        let got = saturated(&config(1), load);
        // 28 MPDUs of 1544 bytes take 5.364 ms at 65 Mbit/s; then 48 us for the answer, 43 us and
        // 7.5 slots.
        let seconds = (36.0 + 5328.0 + 48.0 + 43.0 + 67.5) * 1e-6;
        let want = 28.0 * 12e3 / seconds / 1e6;
        let mbps = got.total_mbps();
        assert!((mbps / want - 1.0).abs() < 0.01, "{load:?}: {mbps} for {want}");
    }
}

#[test]
fn an_upload_has_as_many_turns_as_all_downloads() {
    let got = saturated(&config(2), SaturatedSenders::Both).streams_mbps;
    // Two downloads share the access point's turns; each upload has as many turns.
    let down = got[0] + got[1];
    assert!((got[2] / down - 1.0).abs() < 0.05 && (got[3] / down - 1.0).abs() < 0.05, "{got:?}");
}

/// The performance anomaly affects frames; A-MPDUs that are limited in time do not have it.
#[test]
fn a_slow_station_takes_as_much_time_as_others_if_batches_are_limited_in_time() {
    let shares = |max_mpdus| {
        let mut config = config(2);
        config.stations[2].mcs = vec![(Span::ZERO, mcs(0))];
        config.aggregation.max_mpdus = max_mpdus;
        let got = saturated(&config, SaturatedSenders::Up).streams_mbps;
        got[0] / got[1]
    };
    // After a collision with a longer frame a station waits for less time than the other.
    assert!((1.0..1.15).contains(&shares(1)), "{}", shares(1));
    // Two frames of 1.9 ms each against 28.
    assert!((shares(64) / 14.0 - 1.0).abs() < 0.1, "{}", shares(64));
}

/// Records its calls.
struct Notes(Sender<(Time, Batch)>);

impl Router for Notes {
    fn on_departure(&mut self, _: Time, _: &mut Packet, _: Span, _: &LinkView<'_>) {}
    fn on_batch(&mut self, now: Time, batch: &Batch) {
        self.0.send((now, *batch)).expect("somebody listens");
    }
}

#[test]
fn a_stations_router_hears_of_its_block_acknowledgements() {
    let (told, batches) = channel();
    let mut medium = medium(config(2), Some(Box::new(Notes(told))));
    for number in 0..30 {
        medium.push(at(1000), &packet(1, number));
        medium.push(at(1000), &packet(2, number));
    }
    let came = drain(&mut medium);
    let of = |route| came.iter().filter(move |all| all.1 == route).map(|all| all.2);
    assert!(of(1).eq(0..30) && of(2).eq(0..30));
    let batches: Vec<_> = batches.try_iter().collect();
    assert_eq!(batches.iter().map(|(_, batch)| batch.acked_bytes).sum::<u32>(), 30 * 1500);
    for (end, batch) in batches {
        // After a SIFS of 16 us the block acknowledgement takes 32 us.
        assert!(came.iter().any(|all| all.1 == 1 && all.0 + Span::from_micros(48) == end));
        assert_eq!((batch.station, batch.max_frames), (0, 28));
        assert_eq!(batch.rate, Rate::from_mbps(65.0));
    }
}

#[test]
fn stations_that_begin_together_lose_a_batch_or_an_rts() {
    let lost = |rts: Option<u32>| {
        let mut config = config(2);
        config.rts_threshold = rts;
        config.aggregation.transmissions = 1;
        let mut medium = medium(config, None);
        medium.push(at(1000), &packet(1, 0));
        medium.push(at(1000), &packet(3, 0));
        let came = drain(&mut medium).len();
        assert_eq!((medium.stats(1).collisions, medium.stats(2).collisions), (1, 1));
        let dropped = |number| medium.counters(number);
        (came, dropped(1).dropped_unacknowledged + dropped(2).dropped_unacknowledged)
    };
    assert_eq!(lost(None), (0, 2));
    assert_eq!(lost(Some(0)), (2, 0));
}

#[test]
fn what_is_given_up_holds_nothing_back() {
    let mut config = config(1);
    config.stations[1].frame_error = 0.5;
    config.aggregation.transmissions = 2;
    let mut medium = medium(config, None);
    for number in 0..400 {
        medium.push(at(0), &packet(0, number));
    }
    let came = drain(&mut medium);
    assert!(came.is_sorted_by_key(|all| all.2));
    let lost = medium.counters(0).dropped_unacknowledged;
    assert_eq!(came.len() as u64 + lost, 400);
    assert!((60..140).contains(&lost), "{lost}");
    assert_eq!((medium.backlog_packets(0), medium.backlog_bytes(0)), (0, 0));
}

#[test]
fn whoever_asks_late_gets_the_same() {
    let busy = || {
        let mut config = config(3);
        config.stations[2].frame_error = 0.2;
        config.background =
            vec![BackgroundConfig::new(Span::from_millis(1), Span::from_millis(4)); 3];
        medium(config, None)
    };
    let (mut prompt, mut late) = (busy(), busy());
    let (mut want, mut got) = (Vec::new(), Vec::new());
    for i in 0..400u32 {
        // Includes pauses of two seconds, after which background stations start anew.
        let now = at(300 * u64::from(i) + 2_000_000 * u64::from(i / 100));
        while prompt.wake() < now {
            let at = prompt.wake();
            want.extend(prompt.pop(at).map(|packet| packet.number()));
        }
        prompt.push(now, &packet(i % 6, i));
        late.push(now, &packet(i % 6, i));
    }
    want.extend(drain(&mut prompt).iter().map(|all| all.2));
    while let Some(packet) = late.pop(Time::from_secs(100)) {
        got.push(packet.number());
    }
    assert_eq!((got.len(), &got), (400, &want));
}

#[test]
fn background_stations_take_what_they_need() {
    let share = |gap: u64, count: usize| {
        let mut config = config(1);
        let one = BackgroundConfig::new(Span::from_millis(1), Span::from_millis(gap));
        config.background = vec![one; count];
        saturated(&config, SaturatedSenders::Up).total_mbps()
            / saturated(&self::config(1), SaturatedSenders::Up).total_mbps()
    };
    // 1 ms of frame per 99 ms of pause, each: five of them take a twentieth of the time, plus the
    // cost of their waiting and collisions.
    assert!((0.9..0.95).contains(&share(99, 5)), "{}", share(99, 5));
    // A station that always has a frame of 1 ms has as many turns as the station with A-MPDUs of
    // 5.5 ms; and each ninth turn is a collision of 5.5 ms.
    assert!((share(0, 1) - 5.52 / (5.52 + 1.1 + 0.66)).abs() < 0.02, "{}", share(0, 1));
}

#[test]
fn background_stations_do_nothing_while_nobody_asks() {
    let mut config = config(1);
    config.background = vec![BackgroundConfig::new(Span::from_millis(1), Span::ZERO); 5];
    let mut medium = medium(config, None);
    assert_eq!(medium.wake(), Time::NEVER);
    let far = Time::from_secs(1_000_000);
    medium.push(far, &packet(1, 0));
    assert!(medium.wake() < far + Span::from_millis(10));
    let came = drain(&mut medium);
    assert!(came.len() == 1 && came[0].0 < far + Span::from_millis(100), "{came:?}");
    assert_eq!(medium.wake(), Time::NEVER);
}

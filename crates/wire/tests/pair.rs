//! A client and a server over bad paths, in virtual time.

mod common;

use std::net::SocketAddr;

use common::{Weather, World, bytes, offer};
use paceline_cc::{Span, Time};
use paceline_wire::{ConnectError, End, Offer, ServerLimits, Service};

/// Sends `data` and returns the world at the end, which both ends know of.
fn transfer(seed: u64, weather: Weather, offer: Offer, data: &[u8]) -> World {
    let limits = ServerLimits { plaintext: offer.plaintext, ..ServerLimits::default() };
    let mut world = World::new(seed, weather, offer, limits);
    let mut written = 0;
    let done = world.run(Time::from_secs(300), |world| {
        let Some(connection) = &mut world.connection else { return false };
        written += connection.write(&data[written..]);
        if written == data.len() && connection.is_drained() && connection.ended().is_none() {
            connection.close(0, "");
        }
        connection.ended().is_some()
    });
    assert!(done, "not done at {:?}, {written} bytes written, {:?}", world.now, world.failure);
    world
}

fn ended_well(world: &mut World) {
    let client = world.connection.as_ref().and_then(|c| c.ended().cloned());
    assert_eq!(client, Some(End::Here { code: 0, reason: String::new() }));
    world.run(world.now + Span::from_millis(2000), |_| false);
    let slot = world.slot.expect("a connection");
    let server = world.server.connection(slot).and_then(|c| c.ended().cloned());
    assert_eq!(server, Some(End::There { code: 0, reason: String::new() }));
}

#[test]
fn a_fair_path_carries_a_stream_at_its_rate() {
    let data = bytes(3_000_000, 1);
    let mut world = transfer(1, Weather::fair(), offer("cubic"), &data);
    assert!(world.at_server.stream == data);
    ended_well(&mut world);
    // 3 MB take 2.1 s at 12 Mbit/s.
    assert!(world.now < Time::from_secs(6), "{:?}", world.now);
    assert!(world.at_client.rtts > 100);
}

#[test]
fn foul_paths_carry_streams_of_every_kind_of_scheme() {
    for (seed, scheme) in
        ["cubic", "abc", "bbr", "copa", "vivace", "xcp", "rcp", "vcp", "sprout", "dctcp", "gcc"]
            .into_iter()
            .enumerate()
    {
        let data = bytes(300_000, seed as u64);
        let mut world = transfer(seed as u64, Weather::foul(), offer(scheme), &data);
        assert!(world.at_server.stream == data, "{scheme}");
        ended_well(&mut world);
        let stats = world.connection.as_ref().and_then(|c| c.sent()).expect("a sender");
        assert!(stats.retransmits > 0, "{scheme}: {stats:?}");
    }
}

#[test]
fn plain_text_is_carried_too_if_both_ends_want_it() {
    let data = bytes(200_000, 5);
    // Nothing but a checksum of UDP's would find what is corrupted.
    let weather = Weather { corrupt: 0.0, ..Weather::foul() };
    let plain = Offer { plaintext: true, ..offer("cubic") };
    assert!(transfer(5, weather.clone(), plain.clone(), &data).at_server.stream == data);
    let mut world = World::new(5, weather, plain, ServerLimits::default());
    world.run(Time::from_secs(20), |world| world.failure.is_some());
    let Some(ConnectError::Refused(why)) = &world.failure else { panic!("{:?}", world.failure) };
    assert!(why.contains("--plaintext"), "{why}");
}

#[test]
fn an_address_that_changes_is_followed() {
    let data = bytes(2_000_000, 7);
    let mut world = World::new(7, Weather::fair(), offer("cubic"), ServerLimits::default());
    let (mut written, mut changes) = (0, 0);
    let done = world.run(Time::from_secs(300), |world| {
        if world.now >= Time::from_millis(1000) + Span::from_millis(500) * changes {
            changes += 1;
            world.client = SocketAddr::from(([10, 0, 1, changes as u8], 4000 + changes as u16));
        }
        let Some(connection) = &mut world.connection else { return false };
        written += connection.write(&data[written..]);
        written == data.len() && connection.is_drained()
    });
    assert!(done, "{written} bytes written, {:?}", world.now);
    assert!(world.at_server.stream == data);
    let slot = world.slot.expect("a connection");
    let remote = world.server.connection(slot).expect("a connection").remote();
    assert!(remote.1 >= 2 && remote.1 + 1 >= changes, "{changes} changes, {remote:?}");
}

#[test]
fn an_address_that_changes_every_second_for_a_minute_loses_nothing() {
    // So slow that it takes a minute and more.
    let weather = Weather { byte: Span::from_micros(8), ..Weather::fair() };
    let data = bytes(8_000_000, 17);
    let mut world = World::new(17, weather, offer("cubic"), ServerLimits::default());
    let (mut written, mut changes) = (0, 0);
    let done = world.run(Time::from_secs(300), |world| {
        if changes < 60 && world.now >= Time::from_secs(1 + changes) {
            changes += 1;
            world.client = SocketAddr::from(([10, 0, 2, changes as u8], 4000 + changes as u16));
        }
        let Some(connection) = &mut world.connection else { return false };
        written += connection.write(&data[written..]);
        written == data.len() && connection.is_drained()
    });
    assert!(done && changes == 60, "{written} bytes written, {changes} changes, {:?}", world.now);
    assert!(world.at_server.stream == data);
    let slot = world.slot.expect("a connection");
    let remote = world.server.connection(slot).expect("a connection").remote();
    // Nearly every change was found out before the next.
    assert!(remote == (world.client, remote.1) && remote.1 >= 55, "{remote:?}");
}

#[test]
fn a_path_with_a_long_round_trip_leads_to_one_connection_of_the_largest_packets() {
    // An initiator asks again after 300 ms, and here gets a cookie for each of its questions; after 750 ms
    // it tries smaller packets, too.
    for round_trip in [400, 700, 1500, 3000] {
        let data = bytes(20_000, 9);
        let weather = Weather { delay: Span::from_millis(round_trip / 2), ..Weather::fair() };
        let mut world = transfer(9, weather, offer("cubic"), &data);
        assert!(world.at_server.stream == data);
        ended_well(&mut world);
        let mtu = world.initiator.as_ref().map(|initiator| initiator.mtu());
        assert_eq!((world.server.stats().accepted, mtu), (1, Some(1500)), "{round_trip} ms");
    }
}

#[test]
fn the_largest_packets_that_the_path_carries_are_found() {
    for (path, found) in [(1500, 1500), (1492, 1492), (1450, 1440), (1420, 1420), (1280, 1280)] {
        let data = bytes(100_000, 8);
        let weather = Weather { mtu: path - 28, ..Weather::fair() };
        let mut world = transfer(8, weather, offer("cubic"), &data);
        assert!(world.at_server.stream == data);
        let mtu = world.initiator.as_ref().map(|initiator| initiator.mtu());
        assert_eq!(mtu, Some(found), "{path}");
        // The others have left nothing at the server.
        world.run(world.now + Span::from_secs(11), |_| false);
        assert!(world.server.open().0 <= 1 && world.server.stats().accepted == 1);
    }
}

#[test]
fn a_path_that_comes_to_carry_only_smaller_packets_is_followed() {
    for (scheme, later, batches) in [
        ("cubic", 1420, false),
        ("cubic", 1360, true),
        ("bbr", 1320, false),
        ("abc", 1280, false),
        ("sprout", 1420, false),
    ] {
        let data = bytes(4_000_000, 18);
        let limits = ServerLimits::default();
        let mut world = World::new(18, Weather::fair(), offer(scheme), limits);
        world.weather.batches = batches;
        let mut written = 0;
        let done = world.run(Time::from_secs(300), |world| {
            if world.now >= Time::from_secs(1) {
                world.weather.mtu = later - 28;
                // From then on all that is sent at once arrives at once.
                if batches {
                    world.weather.byte = Span::from_nanos(1);
                }
            }
            let Some(connection) = &mut world.connection else { return false };
            assert!(connection.ended().is_none(), "{scheme}: {:?}", connection.ended());
            written += connection.write(&data[written..]);
            written == data.len() && connection.is_drained()
        });
        assert!(done, "{scheme}: {written} bytes written, {:?}", world.now);
        assert!(world.at_server.stream == data, "{scheme}");
        let connection = world.connection.as_ref().expect("a connection");
        assert_eq!(usize::from(connection.mtu()), later, "{scheme}");
    }
}

#[test]
fn an_outage_is_no_smaller_path() {
    let data = bytes(3_000_000, 19);
    let mut world = World::new(19, Weather::fair(), offer("cubic"), ServerLimits::default());
    let mut written = 0;
    let done = world.run(Time::from_secs(300), |world| {
        // Nothing at all from 1 s to 7 s, and much loss before and after.
        let out = (Time::from_secs(1)..Time::from_secs(7)).contains(&world.now);
        world.weather.loss = if out { 1.0 } else { 0.05 };
        let Some(connection) = &mut world.connection else { return false };
        written += connection.write(&data[written..]);
        written == data.len() && connection.is_drained()
    });
    assert!(done && world.at_server.stream == data, "{written} bytes written, {:?}", world.now);
    assert_eq!(world.connection.as_ref().map(|connection| connection.mtu()), Some(1500));
}

#[test]
fn datagrams_become_shorter_with_the_path() {
    for scheme in ["sprout", "cubic"] {
        let offer = Offer { service: Service::Datagrams, ..offer(scheme) };
        let mut world = World::new(20, Weather::fair(), offer, tunnel());
        let mut longest = 0;
        world.run(Time::from_secs(20), |world| {
            if world.now >= Time::from_secs(2) {
                world.weather.mtu = 1420 - 28;
            }
            while let Some(connection) = &mut world.connection
                && connection.waiting_datagrams() == 0
            {
                longest = connection.longest_datagram();
                connection.announce_datagrams(100_000);
                assert!(connection.write_datagram(&vec![0; longest]));
                world.transmit();
            }
            false
        });
        assert!((1300..1345).contains(&longest), "{scheme}: {longest}");
        let later = world.at_server.datagrams.iter().filter(|datagram| datagram.len() == longest);
        assert!(later.count() > 500, "{scheme}: {} datagrams", world.at_server.datagrams.len());
    }
}

/// The path is narrow for a minute. The server, which sends, returns to larger packets ten minutes later,
/// or as soon as the client has moved.
#[test]
fn packets_become_as_large_as_at_first_when_the_path_has() {
    for (moves, by) in [(false, 680), (true, 80)] {
        let weather = Weather { byte: Span::from_micros(50), ..Weather::fair() };
        let offer = Offer { back: "cubic".into(), ..offer("cubic") };
        let mut world = World::new(23, weather, offer, ServerLimits::default());
        let (data, mut written, mut sizes) = (bytes(20_000_000, 23), 0, Vec::new());
        world.run(Time::from_secs(by), |world| {
            let narrow = (Time::from_secs(5)..Time::from_secs(60)).contains(&world.now);
            world.weather.mtu = if narrow { 1360 } else { 1500 } - 28;
            if moves && world.now >= Time::from_secs(61) {
                world.client = SocketAddr::from(([10, 0, 3, 1], 4000));
            }
            let Some(slot) = world.slot else { return false };
            let connection = world.server.connection(slot).expect("a connection");
            assert!(connection.ended().is_none(), "{:?}", connection.ended());
            written += connection.write(&data[written..data.len().min(written + 10_000)]);
            if sizes.last() != Some(&connection.mtu()) {
                sizes.push(connection.mtu());
            }
            world.server.reschedule(slot);
            false
        });
        assert_eq!(sizes, [1500, 1360, 1500], "{moves}");
        let arrived = &world.at_client.stream;
        assert!(arrived.len() > by as usize * 5000 && *arrived == data[..arrived.len()], "{moves}");
    }
}

#[test]
fn the_search_for_a_size_succeeds_on_foul_paths_too() {
    for seed in 0..20 {
        let weather = Weather { mtu: 1420 - 28, ..Weather::foul() };
        let world = transfer(seed, weather, offer("cubic"), &bytes(20_000, seed));
        let mtu = world.initiator.as_ref().map_or(0, |initiator| initiator.mtu());
        assert!((1280..=1420).contains(&mtu), "{mtu}");
    }
}

fn tunnel() -> ServerLimits {
    ServerLimits { datagrams: true, ..ServerLimits::default() }
}

#[test]
fn datagrams_are_for_tunnels_only() {
    for (service, limits) in
        [(Service::Datagrams, ServerLimits::default()), (Service::Stream, tunnel())]
    {
        let offer = Offer { service, ..offer("cubic") };
        let mut world = World::new(15, Weather::fair(), offer, limits);
        world.run(Time::from_secs(20), |world| world.failure.is_some());
        assert!(
            matches!(&world.failure, Some(ConnectError::Refused(why)) if why.contains("it is `paceline")),
            "{:?}",
            world.failure
        );
    }
}

#[test]
fn datagrams_arrive_whole_or_not_at_all() {
    for scheme in ["sprout", "cubic"] {
        let offer = Offer { service: Service::Datagrams, ..offer(scheme) };
        let mut world = World::new(9, Weather::foul(), offer, tunnel());
        let sent: Vec<Vec<u8>> = (0..400).map(|i| bytes(1 + i * 3, i as u64)).collect();
        let mut next = 0;
        world.run(Time::from_secs(30), |world| {
            let Some(connection) = &mut world.connection else { return false };
            while next < sent.len() && connection.waiting_datagrams() < 20 {
                assert!(connection.write_datagram(&sent[next]));
                next += 1;
            }
            false
        });
        let arrived = &world.at_server.datagrams;
        assert!(arrived.len() > 360 && arrived.len() <= 400, "{scheme}: {}", arrived.len());
        assert!(arrived.iter().all(|bytes| sent.contains(bytes)), "{scheme}");
    }
}

#[test]
fn datagrams_longer_than_packets_arrive_whole_or_not_at_all() {
    for (scheme, weather) in [
        ("sprout", Weather::fair()),
        ("sprout", Weather::foul()),
        ("cubic", Weather::foul()),
        ("xcp", Weather::fair()),
    ] {
        let offer = Offer { service: Service::Datagrams, mtu: 1280, ..offer(scheme) };
        let mtu = 1280 - 28;
        let lossless = weather.loss == 0.0;
        let mut world = World::new(21, Weather { mtu, ..weather }, offer, tunnel());
        let sent: Vec<Vec<u8>> = (0..300).map(|i| bytes(1100 + i * 11, i as u64)).collect();
        let mut next = 0;
        world.run(Time::from_secs(30), |world| {
            let Some(connection) = &mut world.connection else { return false };
            while next < sent.len() && connection.waiting_datagrams() < 20 {
                let longest = connection.longest_datagram();
                assert!((1181..=1201).contains(&longest), "{longest}");
                // Those that fit leave as they always did.
                assert_eq!(connection.write_datagram(&sent[next]), sent[next].len() <= longest);
                if sent[next].len() > longest {
                    assert!(connection.write_long_datagram(&sent[next]));
                }
                next += 1;
            }
            false
        });
        let arrived = &world.at_server.datagrams;
        let least = if lossless { 300 } else { 200 };
        assert!(arrived.len() >= least && arrived.len() <= 300, "{scheme}: {}", arrived.len());
        assert!(arrived.iter().all(|bytes| sent.contains(bytes)), "{scheme}");
        assert!(arrived.iter().any(|bytes| bytes.len() > 4300), "{scheme}");
    }
}

#[test]
fn datagrams_with_too_many_parts_are_not_taken() {
    let offer = Offer { service: Service::Datagrams, mtu: 1280, ..offer("cubic") };
    let mut world = World::new(22, Weather::fair(), offer, tunnel());
    world.run(Time::from_secs(5), |world| world.connection.is_some());
    let connection = world.connection.as_mut().expect("a connection");
    let part = connection.longest_datagram() - 2;
    assert!(!connection.write_long_datagram(&vec![0; 64 * part + 1]));
    assert!(connection.write_long_datagram(&vec![0; 64 * part]));
    assert_eq!(connection.waiting_datagrams(), 64);
    // Sixteen times 64 may wait.
    (1..16).for_each(|_| assert!(connection.write_long_datagram(&vec![0; 64 * part])));
    assert!(!connection.write_long_datagram(&vec![0; 2 * part]));
}

#[test]
fn datagrams_of_all_sizes_fill_a_link() {
    for scheme in ["sprout", "cubic", "abc"] {
        let offer = Offer { service: Service::Datagrams, ..offer(scheme) };
        let mut world = World::new(14, Weather::fair(), offer, tunnel());
        let mut sent = 0u64;
        world.run(Time::from_secs(20), |world| {
            // One at a time, long and short ones in turn, and more wait.
            while let Some(connection) = &mut world.connection
                && connection.waiting_datagrams() == 0
            {
                let longest = connection.longest_datagram();
                assert!((1390..=1421).contains(&longest), "{longest}");
                assert!(!connection.write_datagram(&vec![0; longest + 1]));
                let length = if sent.is_multiple_of(3) { longest } else { 1 + (sent % 7) as usize };
                connection.announce_datagrams(100_000);
                assert!(connection.write_datagram(&vec![0; length]));
                sent += 1;
                world.transmit();
            }
            false
        });
        let arrived = world.at_server.wire_bytes as f64 * 8e-6 / 20.0;
        // Of 12 Mbit/s. Sprout's counts are of packets of 1440 bytes, and it is cautious; the window
        // of ABC, which sees no router here, grows as Cubic's.
        assert!(arrived > 5.0, "{scheme}: {arrived} Mbit/s");
        let sender = world.connection.as_ref().and_then(|c| c.sender()).expect("a sender");
        assert!(sender.deliverable() > 10_000, "{scheme}");
    }
}

#[test]
fn messages_arrive_once_and_in_order() {
    let mut world = World::new(10, Weather::foul(), offer("cubic"), ServerLimits::default());
    let mut told = false;
    let mut heard = Vec::new();
    world.run(Time::from_secs(60), |world| {
        if let Some(slot) = world.slot
            && !told
            && let Some(connection) = world.server.connection(slot)
        {
            told = true;
            (0..20).for_each(|i| assert!(connection.send_message(vec![i; 100])));
            world.server.reschedule(slot);
        }
        if let Some(connection) = &mut world.connection {
            heard.extend(std::iter::from_fn(|| connection.receive_message()).map(|m| m[0]));
        }
        heard.len() == 20
    });
    assert_eq!(heard, (0..20).collect::<Vec<u8>>());
}

#[test]
fn the_end_of_the_other_side_is_noticed() {
    let mut world = World::new(11, Weather::fair(), offer("cubic"), ServerLimits::default());
    world.run(Time::from_secs(5), |world| world.connection.is_some() && world.slot.is_some());
    // An idle connection lives on.
    world.run(Time::from_secs(60), |_| false);
    assert!(world.connection.as_ref().is_some_and(|c| c.ended().is_none()));
    // From now on nothing arrives.
    world.weather.loss = 1.0;
    let done = world.run(Time::from_secs(80), |world| {
        let slot = world.slot.expect("a connection");
        let server = world.server.connection(slot).and_then(|c| c.ended().cloned());
        let client = world.connection.as_ref().and_then(|c| c.ended().cloned());
        matches!(server, Some(End::Silence(_))) && matches!(client, Some(End::Silence(_)))
    });
    assert!(done);
}

#[test]
fn a_scheme_that_is_not_there_is_refused() {
    let mut world = World::new(12, Weather::fair(), offer("nosuch"), ServerLimits::default());
    world.run(Time::from_secs(20), |world| world.failure.is_some());
    assert!(matches!(&world.failure, Some(ConnectError::Refused(why)) if why.contains("nosuch")));
}

#[test]
fn nobody_there_is_told() {
    let weather = Weather { loss: 1.0, ..Weather::fair() };
    let mut world = World::new(13, weather, offer("cubic"), ServerLimits::default());
    world.run(Time::from_secs(60), |world| world.failure.is_some());
    let failure = world.failure.expect("nobody is there");
    assert!(matches!(failure, ConnectError::Silence { .. }));
    // The time is the one that was asked for, and can be read.
    assert!(failure.to_string().contains("within 10s:"), "{failure}");
}

#[test]
fn a_reason_that_an_end_gives_cannot_have_the_others_terminal_do_anything() {
    let mut world = World::new(14, Weather::fair(), offer("cubic"), ServerLimits::default());
    assert!(world.run(Time::from_secs(5), |world| world.connection.is_some()));
    let connection = world.connection.as_mut().expect("a connection");
    connection.close(3, "\u{1b}]0;title\u{7}\u{9b}2Jgone\r\nßo");
    world.run(world.now + Span::from_millis(2000), |_| false);
    let slot = world.slot.expect("a connection");
    let end = world.server.connection(slot).and_then(|c| c.ended().cloned());
    let reason = "?]0;title??2Jgone??ßo".replace('?', "\u{fffd}");
    assert_eq!(end, Some(End::There { code: 3, reason }));
}

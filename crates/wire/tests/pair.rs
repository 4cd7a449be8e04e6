//! A client and a server over bad paths, in virtual time.

mod common;

use std::net::SocketAddr;

use common::{PathConditions, TestNetwork, bytes, offer};
use paceline_cc::{Span, Time};
use paceline_wire::{ConnectError, End, Limits, Offer, ServerLimits, Service};

/// Sends `data` and returns the network at the end, which both ends know of.
fn transfer(seed: u64, conditions: PathConditions, offer: Offer, data: &[u8]) -> TestNetwork {
    let limits = ServerLimits { plaintext: offer.plaintext, ..ServerLimits::default() };
    let mut network = TestNetwork::new(seed, conditions, offer, limits);
    let mut written = 0;
    let done = network.run(Time::from_secs(300), |network| {
        let Some(connection) = &mut network.connection else { return false };
        written += connection.write(&data[written..]);
        if written == data.len() && connection.is_drained() && connection.ended().is_none() {
            connection.close(0, "");
        }
        connection.ended().is_some()
    });
    assert!(done, "not done at {:?}, {written} bytes written, {:?}", network.now, network.failure);
    network
}

fn ended_well(network: &mut TestNetwork) {
    let client = network.connection.as_ref().and_then(|c| c.ended().cloned());
    assert_eq!(client, Some(End::Here { code: 0, reason: String::new() }));
    network.run(network.now + Span::from_millis(2000), |_| false);
    let slot = network.slot.expect("a connection");
    let server = network.server.connection(slot).and_then(|c| c.ended().cloned());
    assert_eq!(server, Some(End::There { code: 0, reason: String::new() }));
}

#[test]
fn a_clean_path_carries_a_stream_at_its_rate() {
    let data = bytes(3_000_000, 1);
    let mut network = transfer(1, PathConditions::clean(), offer("cubic"), &data);
    assert!(network.at_server.stream == data);
    ended_well(&mut network);
    // 3 MB take 2.1 s at 12 Mbit/s.
    assert!(network.now < Time::from_secs(6), "{:?}", network.now);
    assert!(network.at_client.rtts > 100);
}

/// The handshake's last round trip is the first sample of the RTT: the first retransmission timer has a
/// quarter of a second in place of one.
#[test]
fn the_handshake_gives_the_first_rtt_sample() {
    let conditions = PathConditions::clean();
    let one_way = conditions.delay;
    let mut network = TestNetwork::new(3, conditions, offer("bbr"), ServerLimits::default());
    assert!(network.run(Time::from_secs(5), |network| network.connection.is_some()));
    let sender = network.connection.as_ref().and_then(|c| c.sender()).expect("it sends");
    let rtt = sender.rtt().min();
    let longest = one_way * 2 + Span::from_millis(10);
    assert!(one_way * 2 <= rtt && rtt < longest, "{rtt} over twice {one_way}");
    assert!(sender.rtt().rto() < Span::from_millis(400), "{}", sender.rtt().rto());
}

#[test]
fn poor_paths_carry_streams_of_every_kind_of_scheme() {
    for (seed, scheme) in
        ["cubic", "abc", "bbr", "copa", "vivace", "xcp", "rcp", "vcp", "sprout", "dctcp", "gcc"]
            .into_iter()
            .enumerate()
    {
        let data = bytes(300_000, seed as u64);
        let mut network = transfer(seed as u64, PathConditions::poor(), offer(scheme), &data);
        assert!(network.at_server.stream == data, "{scheme}");
        ended_well(&mut network);
        let stats = network.connection.as_ref().and_then(|c| c.sent()).expect("a sender");
        assert!(stats.retransmits > 0, "{scheme}: {stats:?}");
    }
}

#[test]
fn plain_text_is_carried_too_if_both_ends_want_it() {
    let data = bytes(200_000, 5);
    // Nothing but a checksum of UDP's would find what is corrupted.
    let conditions = PathConditions { corrupt: 0.0, ..PathConditions::poor() };
    let plain = Offer { plaintext: true, ..offer("cubic") };
    assert!(transfer(5, conditions.clone(), plain.clone(), &data).at_server.stream == data);
    let mut network = TestNetwork::new(5, conditions, plain, ServerLimits::default());
    network.run(Time::from_secs(20), |network| network.failure.is_some());
    let Some(ConnectError::Refused(why)) = &network.failure else {
        panic!("{:?}", network.failure)
    };
    assert!(why.contains("--plaintext"), "{why}");
}

#[test]
fn an_address_that_changes_is_followed() {
    let data = bytes(2_000_000, 7);
    let mut network =
        TestNetwork::new(7, PathConditions::clean(), offer("cubic"), ServerLimits::default());
    let (mut written, mut changes) = (0, 0);
    let done = network.run(Time::from_secs(300), |network| {
        if network.now >= Time::from_millis(1000) + Span::from_millis(500) * changes {
            changes += 1;
            network.client = SocketAddr::from(([10, 0, 1, changes as u8], 4000 + changes as u16));
        }
        let Some(connection) = &mut network.connection else { return false };
        written += connection.write(&data[written..]);
        written == data.len() && connection.is_drained()
    });
    assert!(done, "{written} bytes written, {:?}", network.now);
    assert!(network.at_server.stream == data);
    let slot = network.slot.expect("a connection");
    let remote = network.server.connection(slot).expect("a connection").remote();
    assert!(remote.1 >= 2 && remote.1 + 1 >= changes, "{changes} changes, {remote:?}");
}

#[test]
fn an_address_that_changes_every_second_for_a_minute_loses_nothing() {
    // So slow that it takes a minute and more.
    let conditions = PathConditions { byte: Span::from_micros(8), ..PathConditions::clean() };
    let data = bytes(8_000_000, 17);
    let mut network = TestNetwork::new(17, conditions, offer("cubic"), ServerLimits::default());
    let (mut written, mut changes) = (0, 0);
    let done = network.run(Time::from_secs(300), |network| {
        if changes < 60 && network.now >= Time::from_secs(1 + changes) {
            changes += 1;
            network.client = SocketAddr::from(([10, 0, 2, changes as u8], 4000 + changes as u16));
        }
        let Some(connection) = &mut network.connection else { return false };
        written += connection.write(&data[written..]);
        written == data.len() && connection.is_drained()
    });
    assert!(done && changes == 60, "{written} bytes written, {changes} changes, {:?}", network.now);
    assert!(network.at_server.stream == data);
    let slot = network.slot.expect("a connection");
    let remote = network.server.connection(slot).expect("a connection").remote();
    // Nearly every change was found out before the next.
    assert!(remote == (network.client, remote.1) && remote.1 >= 55, "{remote:?}");
}

#[test]
fn a_path_with_a_long_round_trip_leads_to_one_connection_of_the_largest_packets() {
    // An initiator asks again after 300 ms, and here gets a cookie for each of its questions; after 750 ms
    // it tries smaller packets, too.
    for round_trip in [400, 700, 1500, 3000] {
        let data = bytes(20_000, 9);
        let conditions =
            PathConditions { delay: Span::from_millis(round_trip / 2), ..PathConditions::clean() };
        let mut network = transfer(9, conditions, offer("cubic"), &data);
        assert!(network.at_server.stream == data);
        ended_well(&mut network);
        let mtu = network.initiator.as_ref().map(|initiator| initiator.mtu());
        assert_eq!((network.server.stats().accepted, mtu), (1, Some(1500)), "{round_trip} ms");
    }
}

#[test]
fn the_largest_packets_that_the_path_carries_are_found() {
    for (path, found) in [(1500, 1500), (1492, 1492), (1450, 1440), (1420, 1420), (1280, 1280)] {
        let data = bytes(100_000, 8);
        let conditions = PathConditions { mtu: path - 28, ..PathConditions::clean() };
        let mut network = transfer(8, conditions, offer("cubic"), &data);
        assert!(network.at_server.stream == data);
        let mtu = network.initiator.as_ref().map(|initiator| initiator.mtu());
        assert_eq!(mtu, Some(found), "{path}");
        // The others have left nothing at the server.
        network.run(network.now + Span::from_secs(11), |_| false);
        assert!(network.server.open().0 <= 1 && network.server.stats().accepted == 1);
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
        let mut network = TestNetwork::new(18, PathConditions::clean(), offer(scheme), limits);
        network.conditions.batches = batches;
        let mut written = 0;
        let done = network.run(Time::from_secs(300), |network| {
            if network.now >= Time::from_secs(1) {
                network.conditions.mtu = later - 28;
                // From then on all that is sent at once arrives at once.
                if batches {
                    network.conditions.byte = Span::from_nanos(1);
                }
            }
            let Some(connection) = &mut network.connection else { return false };
            assert!(connection.ended().is_none(), "{scheme}: {:?}", connection.ended());
            written += connection.write(&data[written..]);
            written == data.len() && connection.is_drained()
        });
        assert!(done, "{scheme}: {written} bytes written, {:?}", network.now);
        assert!(network.at_server.stream == data, "{scheme}");
        let connection = network.connection.as_ref().expect("a connection");
        assert_eq!(usize::from(connection.mtu()), later, "{scheme}");
    }
}

#[test]
fn an_outage_is_no_smaller_path() {
    let data = bytes(3_000_000, 19);
    let mut network =
        TestNetwork::new(19, PathConditions::clean(), offer("cubic"), ServerLimits::default());
    let mut written = 0;
    let done = network.run(Time::from_secs(300), |network| {
        // Nothing at all from 1 s to 7 s, and much loss before and after.
        let out = (Time::from_secs(1)..Time::from_secs(7)).contains(&network.now);
        network.conditions.loss = if out { 1.0 } else { 0.05 };
        let Some(connection) = &mut network.connection else { return false };
        written += connection.write(&data[written..]);
        written == data.len() && connection.is_drained()
    });
    assert!(done && network.at_server.stream == data, "{written} bytes written, {:?}", network.now);
    assert_eq!(network.connection.as_ref().map(|connection| connection.mtu()), Some(1500));
}

#[test]
fn datagrams_become_shorter_with_the_path() {
    for scheme in ["sprout", "cubic"] {
        let offer = Offer { service: Service::Datagrams, ..offer(scheme) };
        let mut network = TestNetwork::new(20, PathConditions::clean(), offer, tunnel());
        let mut longest = 0;
        network.run(Time::from_secs(20), |network| {
            if network.now >= Time::from_secs(2) {
                network.conditions.mtu = 1420 - 28;
            }
            while let Some(connection) = &mut network.connection
                && connection.waiting_datagrams() == 0
            {
                longest = connection.longest_datagram();
                connection.announce_datagrams(100_000);
                assert!(connection.write_datagram(&vec![0; longest]));
                network.transmit();
            }
            false
        });
        assert!((1300..1345).contains(&longest), "{scheme}: {longest}");
        let later = network.at_server.datagrams.iter().filter(|datagram| datagram.len() == longest);
        assert!(later.count() > 500, "{scheme}: {} datagrams", network.at_server.datagrams.len());
    }
}

/// The path is narrow for a minute. The server, which sends, returns to larger packets ten minutes later,
/// or as soon as the client has moved.
#[test]
fn packets_become_as_large_as_at_first_when_the_path_has() {
    for (moves, by) in [(false, 680), (true, 80)] {
        let conditions = PathConditions { byte: Span::from_micros(50), ..PathConditions::clean() };
        let offer = Offer { back: "cubic".into(), ..offer("cubic") };
        let mut network = TestNetwork::new(23, conditions, offer, sends());
        let (data, mut written, mut sizes) = (bytes(20_000_000, 23), 0, Vec::new());
        network.run(Time::from_secs(by), |network| {
            let narrow = (Time::from_secs(5)..Time::from_secs(60)).contains(&network.now);
            network.conditions.mtu = if narrow { 1360 } else { 1500 } - 28;
            if moves && network.now >= Time::from_secs(61) {
                network.client = SocketAddr::from(([10, 0, 3, 1], 4000));
            }
            let Some(slot) = network.slot else { return false };
            let connection = network.server.connection(slot).expect("a connection");
            assert!(connection.ended().is_none(), "{:?}", connection.ended());
            written += connection.write(&data[written..data.len().min(written + 10_000)]);
            if sizes.last() != Some(&connection.mtu()) {
                sizes.push(connection.mtu());
            }
            network.server.reschedule(slot);
            false
        });
        assert_eq!(sizes, [1500, 1360, 1500], "{moves}");
        let arrived = &network.at_client.stream;
        assert!(arrived.len() > by as usize * 5000 && *arrived == data[..arrived.len()], "{moves}");
    }
}

#[test]
fn the_search_for_a_size_succeeds_on_poor_paths_too() {
    for seed in 0..20 {
        let conditions = PathConditions { mtu: 1420 - 28, ..PathConditions::poor() };
        let network = transfer(seed, conditions, offer("cubic"), &bytes(20_000, seed));
        let mtu = network.initiator.as_ref().map_or(0, |initiator| initiator.mtu());
        assert!((1280..=1420).contains(&mtu), "{mtu}");
    }
}

fn sends() -> ServerLimits {
    ServerLimits { sends: true, ..ServerLimits::default() }
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
        let mut network = TestNetwork::new(15, PathConditions::clean(), offer, limits);
        network.run(Time::from_secs(20), |network| network.failure.is_some());
        assert!(
            matches!(&network.failure, Some(ConnectError::Refused(why)) if why.contains("it is `paceline")),
            "{:?}",
            network.failure
        );
    }
}

#[test]
fn datagrams_arrive_whole_or_not_at_all() {
    for scheme in ["sprout", "cubic"] {
        let offer = Offer { service: Service::Datagrams, ..offer(scheme) };
        let mut network = TestNetwork::new(9, PathConditions::poor(), offer, tunnel());
        let sent: Vec<Vec<u8>> = (0..400).map(|i| bytes(1 + i * 3, i as u64)).collect();
        let mut next = 0;
        network.run(Time::from_secs(30), |network| {
            let Some(connection) = &mut network.connection else { return false };
            while next < sent.len() && connection.waiting_datagrams() < 20 {
                assert!(connection.write_datagram(&sent[next]));
                next += 1;
            }
            false
        });
        let arrived = &network.at_server.datagrams;
        assert!(arrived.len() > 360 && arrived.len() <= 400, "{scheme}: {}", arrived.len());
        assert!(arrived.iter().all(|bytes| sent.contains(bytes)), "{scheme}");
    }
}

#[test]
fn datagrams_longer_than_packets_arrive_whole_or_not_at_all() {
    for (scheme, conditions) in [
        ("sprout", PathConditions::clean()),
        ("sprout", PathConditions::poor()),
        ("cubic", PathConditions::poor()),
        ("xcp", PathConditions::clean()),
    ] {
        let offer = Offer { service: Service::Datagrams, mtu: 1280, ..offer(scheme) };
        let mtu = 1280 - 28;
        let lossless = conditions.loss == 0.0;
        let mut network =
            TestNetwork::new(21, PathConditions { mtu, ..conditions }, offer, tunnel());
        let sent: Vec<Vec<u8>> = (0..300).map(|i| bytes(1100 + i * 11, i as u64)).collect();
        let mut next = 0;
        network.run(Time::from_secs(30), |network| {
            let Some(connection) = &mut network.connection else { return false };
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
        let arrived = &network.at_server.datagrams;
        let least = if lossless { 300 } else { 200 };
        assert!(arrived.len() >= least && arrived.len() <= 300, "{scheme}: {}", arrived.len());
        assert!(arrived.iter().all(|bytes| sent.contains(bytes)), "{scheme}");
        assert!(arrived.iter().any(|bytes| bytes.len() > 4300), "{scheme}");
    }
}

#[test]
fn datagrams_with_too_many_parts_are_not_taken() {
    let offer = Offer { service: Service::Datagrams, mtu: 1280, ..offer("cubic") };
    let mut network = TestNetwork::new(22, PathConditions::clean(), offer, tunnel());
    network.run(Time::from_secs(5), |network| network.connection.is_some());
    let connection = network.connection.as_mut().expect("a connection");
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
        let mut network = TestNetwork::new(14, PathConditions::clean(), offer, tunnel());
        let mut sent = 0u64;
        network.run(Time::from_secs(20), |network| {
            // One at a time, long and short ones in turn, and more wait.
            while let Some(connection) = &mut network.connection
                && connection.waiting_datagrams() == 0
            {
                let longest = connection.longest_datagram();
                assert!((1390..=1421).contains(&longest), "{longest}");
                assert!(!connection.write_datagram(&vec![0; longest + 1]));
                let length = if sent.is_multiple_of(3) { longest } else { 1 + (sent % 7) as usize };
                connection.announce_datagrams(100_000);
                assert!(connection.write_datagram(&vec![0; length]));
                sent += 1;
                network.transmit();
            }
            false
        });
        let arrived = network.at_server.wire_bytes as f64 * 8e-6 / 20.0;
        // Of 12 Mbit/s. Sprout's counts are of packets of 1440 bytes, and it is cautious; the window
        // of ABC, which sees no router here, grows as Cubic's.
        assert!(arrived > 5.0, "{scheme}: {arrived} Mbit/s");
        let sender = network.connection.as_ref().and_then(|c| c.sender()).expect("a sender");
        assert!(sender.deliverable() > 10_000, "{scheme}");
    }
}

#[test]
fn messages_arrive_once_and_in_order() {
    let mut network =
        TestNetwork::new(10, PathConditions::poor(), offer("cubic"), ServerLimits::default());
    let mut told = false;
    let mut heard = Vec::new();
    network.run(Time::from_secs(60), |network| {
        if let Some(slot) = network.slot
            && !told
            && let Some(connection) = network.server.connection(slot)
        {
            told = true;
            (0..20).for_each(|i| assert!(connection.send_message(vec![i; 100])));
            network.server.reschedule(slot);
        }
        if let Some(connection) = &mut network.connection {
            heard.extend(std::iter::from_fn(|| connection.receive_message()).map(|m| m[0]));
        }
        heard.len() == 20
    });
    assert_eq!(heard, (0..20).collect::<Vec<u8>>());
}

#[test]
fn the_end_of_the_other_side_is_noticed() {
    let mut network =
        TestNetwork::new(11, PathConditions::clean(), offer("cubic"), ServerLimits::default());
    network
        .run(Time::from_secs(5), |network| network.connection.is_some() && network.slot.is_some());
    // An idle connection lives on.
    network.run(Time::from_secs(60), |_| false);
    assert!(network.connection.as_ref().is_some_and(|c| c.ended().is_none()));
    // From now on nothing arrives.
    network.conditions.loss = 1.0;
    let done = network.run(Time::from_secs(80), |network| {
        let slot = network.slot.expect("a connection");
        let server = network.server.connection(slot).and_then(|c| c.ended().cloned());
        let client = network.connection.as_ref().and_then(|c| c.ended().cloned());
        matches!(server, Some(End::Silence(_))) && matches!(client, Some(End::Silence(_)))
    });
    assert!(done);
}

#[test]
fn a_scheme_that_is_not_there_is_refused() {
    let mut network =
        TestNetwork::new(12, PathConditions::clean(), offer("nosuch"), ServerLimits::default());
    network.run(Time::from_secs(20), |network| network.failure.is_some());
    assert!(matches!(&network.failure, Some(ConnectError::Refused(why)) if why.contains("nosuch")));
}

#[test]
fn nobody_there_is_told() {
    let conditions = PathConditions { loss: 1.0, ..PathConditions::clean() };
    let mut network = TestNetwork::new(13, conditions, offer("cubic"), ServerLimits::default());
    network.run(Time::from_secs(60), |network| network.failure.is_some());
    let failure = network.failure.expect("nobody is there");
    assert!(matches!(failure, ConnectError::Silence { .. }));
    // The time is the one that was asked for, and can be read.
    assert!(failure.to_string().contains("within 10s:"), "{failure}");
}

#[test]
fn a_reason_that_an_end_gives_cannot_have_the_others_terminal_do_anything() {
    let mut network =
        TestNetwork::new(14, PathConditions::clean(), offer("cubic"), ServerLimits::default());
    assert!(network.run(Time::from_secs(5), |network| network.connection.is_some()));
    let connection = network.connection.as_mut().expect("a connection");
    connection.close(3, "\u{1b}]0;title\u{7}\u{9b}2Jgone\r\nßo");
    network.run(network.now + Span::from_millis(2000), |_| false);
    let slot = network.slot.expect("a connection");
    let end = network.server.connection(slot).and_then(|c| c.ended().cloned());
    let reason = "?]0;title??2Jgone??ßo".replace('?', "\u{fffd}");
    assert_eq!(end, Some(End::There { code: 3, reason }));
}

/// Limits with these times for the connection and for the handshake.
fn patient(idle: u64, silence: u64) -> Limits {
    let (idle, silence) = (Span::from_secs(idle), Span::from_secs(silence));
    Limits { idle, silence, ..Limits::default() }
}

#[test]
fn a_connection_stands_over_round_trips_of_30_seconds() {
    for half in [2_700, 8_000, 15_000] {
        let conditions =
            PathConditions { delay: Span::from_millis(half), ..PathConditions::clean() };
        let limits = ServerLimits { each: patient(60, 60), ..ServerLimits::default() };
        let mut network =
            TestNetwork::with_limits(25, conditions, offer("cubic"), patient(60, 90), limits);
        let (data, mut written) = (bytes(3000, 25), 0);
        let done = network.run(Time::from_secs(300), |network| {
            if let Some(connection) = &mut network.connection {
                written += connection.write(&data[written..]);
            }
            network.at_server.stream.len() == data.len()
        });
        assert!(done, "{half} ms: {:?}, {:?}", network.failure, network.server.stats());
        assert_eq!(network.server.open(), (1, 0), "{half} ms");
    }
}

#[test]
fn the_longer_idle_time_of_both_ends_is_the_connections() {
    for (client, server) in [(60, 10), (10, 60)] {
        for outage in [12, 50] {
            let each = patient(server, 10);
            let limits = ServerLimits { each, ..ServerLimits::default() };
            let conditions = PathConditions::clean();
            let mut network = TestNetwork::with_limits(
                26,
                conditions,
                offer("cubic"),
                patient(client, 10),
                limits,
            );
            let (data, mut written) = (bytes(5_000_000, 26), 0);
            let done = network.run(Time::from_secs(400), |network| {
                let down = Time::from_secs(1)..Time::from_secs(1 + outage);
                network.conditions.loss = if down.contains(&network.now) { 1.0 } else { 0.0 };
                if let Some(connection) = &mut network.connection {
                    written += connection.write(&data[written..]);
                }
                network.at_server.stream.len() == data.len()
            });
            let idle = network.connection.as_ref().expect("a connection").idle();
            assert_eq!(idle, Span::from_secs(60));
            assert!(done && network.at_server.stream == data, "{client}, {server}, {outage}");
        }
    }
}

#[test]
fn an_end_cannot_keep_the_other_waiting_for_longer_than_ten_minutes() {
    let each = patient(10, 10);
    let limits = ServerLimits { each, ..ServerLimits::default() };
    let asked = patient(1_000_000, 10);
    let conditions = PathConditions::clean();
    let mut network = TestNetwork::with_limits(27, conditions, offer("cubic"), asked, limits);
    let both = |network: &mut TestNetwork| network.connection.is_some() && network.slot.is_some();
    assert!(network.run(Time::from_secs(5), both));
    let slot = network.slot.expect("a connection");
    let idle = network.server.connection(slot).expect("a connection").idle();
    assert_eq!(idle, paceline_wire::LONGEST_IDLE);
}

/// The client moves from IPv4 to IPv6, whose headers are longer by 20 bytes.
#[test]
fn after_a_move_packets_fit_and_congestion_control_begins_anew() {
    for (to, family) in [
        (SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 9], 4000)), 48),
        (SocketAddr::from(([10, 0, 3, 1], 4000)), 28),
        // Another port alone is no other path.
        (SocketAddr::from(([10, 0, 0, 2], 4001)), 28),
    ] {
        let offer = Offer { back: "cubic".into(), ..offer("cubic") };
        let mut network = TestNetwork::new(28, PathConditions::clean(), offer, sends());
        let same_host = to.ip() == network.client.ip();
        let (data, mut written) = (bytes(20_000_000, 28), 0);
        let (mut before, mut after, mut moved) = (0, 0, false);
        network.run(Time::from_secs(10), |network| {
            if network.now >= Time::from_secs(5) {
                network.client = to;
            }
            let Some(slot) = network.slot else { return false };
            let connection = network.server.connection(slot).expect("a connection");
            written += connection.write(&data[written..data.len().min(written + 10_000)]);
            let window = connection.sender().expect("a sender").window();
            match connection.remote().1 {
                0 => before = window,
                _ if !moved => (moved, after) = (true, window),
                _ => {}
            }
            if moved {
                network.conditions.mtu = 1500 - family;
            }
            network.server.reschedule(slot);
            false
        });
        assert!(moved, "{to}");
        assert_eq!(after < before / 2, !same_host, "{to}: {before} bytes, then {after}");
        let arrived = &network.at_client.stream;
        assert!(arrived.len() > 8_000_000 && *arrived == data[..arrived.len()], "{to}");
        let slot = network.slot.expect("a connection");
        let mtu = network.server.connection(slot).expect("a connection").mtu();
        assert_eq!(mtu, 1500, "no packet was too long");
    }
}

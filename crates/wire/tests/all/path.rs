//! Paths whose largest packet or whose address at one end changes, in virtual time.

use std::net::SocketAddr;

use crate::common::{PathConditions, TestNetwork, bytes, ended_well, offer, transfer};
use paceline_cc::{Span, Time};
use paceline_wire::{Offer, ServerLimits, Service};

fn sends() -> ServerLimits {
    ServerLimits { sends: true, ..ServerLimits::default() }
}

fn tunnel() -> ServerLimits {
    ServerLimits { datagrams: true, ..ServerLimits::default() }
}

#[test]
fn a_path_with_a_long_round_trip_leads_to_one_connection_of_the_largest_packets() {
    // An initiator repeats its initiation after 300 ms, and here gets a cookie for each; after 750
    // ms it tries smaller packets, too.
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
        // The other attempts have left nothing at the server.
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
                // From then on datagrams sent at one time arrive at one time.
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
        // An outage from 1 s to 7 s, and heavy loss before and after.
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

/// The path carries only small packets for a minute. The server, which sends, returns to larger
/// packets ten minutes later, or as soon as the client's address has changed.
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

/// The client's address changes from IPv4 to IPv6, whose headers are longer by 20 bytes.
#[test]
fn after_a_move_packets_fit_and_congestion_control_begins_anew() {
    for (to, family) in [
        (SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 9], 4000)), 48),
        (SocketAddr::from(([10, 0, 3, 1], 4000)), 28),
        // A change of the port alone is not a new path.
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
    // So slow that the transfer takes more than a minute.
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
    // Nearly every change was noticed before the next.
    assert!(remote == (network.client, remote.1) && remote.1 >= 55, "{remote:?}");
}

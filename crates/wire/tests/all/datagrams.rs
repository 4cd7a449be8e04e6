//! Datagrams between a client and a server over bad paths, in virtual time.

use crate::common::{PathConditions, TestNetwork, bytes, offer};
use paceline_cc::Time;
use paceline_wire::{ConnectError, Offer, ServerLimits, Service};

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
                // Datagrams that fit leave in one packet as always.
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
    // Sixteen datagrams of 64 parts may wait.
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
            // One at a time, long and short ones alternately, while more wait.
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
        // Of 12 Mbit/s. Sprout counts packets of 1440 bytes, and is cautious; ABC's window, without
        // a router here, grows as Cubic's.
        assert!(arrived > 5.0, "{scheme}: {arrived} Mbit/s");
        let sender = network.connection.as_ref().and_then(|c| c.sender()).expect("a sender");
        assert!(sender.deliverable() > 10_000, "{scheme}");
    }
}

//! A host on the path that sends copies of datagrams from its own address does not divert a
//! connection to that address (RFC 9000 §9.3.3), in virtual time.

use std::net::SocketAddr;

use crate::common::{self, Copier, PathConditions, TestNetwork, offer};
use paceline_cc::{Span, Time};
use paceline_wire::{Offer, ServerLimits};

fn copier() -> Option<Copier> {
    let address = SocketAddr::from(([10, 0, 9, 9], 999));
    Some(Copier { address, lead: Span::from_millis(5), only_copies: false })
}

/// Returns the address to which the server sends, and how often it has changed.
fn remote(network: &mut TestNetwork) -> (SocketAddr, u64) {
    let slot = network.slot.expect("a connection");
    network.server.connection(slot).expect("a connection").remote()
}

/// Returns a network with an established connection in which both ends send.
fn connected(seed: u64, conditions: PathConditions) -> TestNetwork {
    let limits = ServerLimits { sends: true, ..ServerLimits::default() };
    let offer = Offer { back: "cubic".into(), ..offer("cubic") };
    let mut network = TestNetwork::new(seed, conditions, offer, limits);
    assert!(network.run(Time::from_secs(10), |network| network.slot.is_some()
        && network.connection.is_some()));
    network
}

/// Lets both ends send until `end`, and calls `look` again and again.
fn run(network: &mut TestNetwork, end: Time, mut look: impl FnMut(&mut TestNetwork)) {
    network.run(end, |network| {
        let piece = [7; 2000];
        if let Some(connection) = &mut network.connection {
            connection.write(&piece);
        }
        let slot = network.slot.expect("a connection");
        if let Some(connection) = network.server.connection(slot) {
            connection.write(&piece);
            network.server.reschedule(slot);
        }
        look(network);
        false
    });
}

#[test]
fn copies_that_are_always_faster_do_not_lead_the_server_away() {
    for (seed, conditions) in [(1, PathConditions::clean()), (2, PathConditions::poor())] {
        let is_clean = conditions.loss == 0.0;
        let mut network = connected(seed, conditions);
        network.copiers[1] = copier();
        let (mut looks, mut away) = (0u64, 0u64);
        run(&mut network, Time::from_secs(60), |network| {
            looks += 1;
            away += u64::from(remote(network).0 != network.client);
        });
        // Where challenges are lost, the connection may be diverted, but comes back.
        assert!(if is_clean { away == 0 } else { away < looks / 5 }, "{away} of {looks}");
        let carried = (network.at_server.stream.len(), network.at_client.stream.len());
        assert!(carried.0 > 5_000_000 && carried.1 > 5_000_000, "{carried:?}");
    }
}

#[test]
fn copies_that_are_always_faster_do_not_lead_the_client_away() {
    let mut network = connected(3, PathConditions::clean());
    network.copiers[0] = copier();
    run(&mut network, Time::from_secs(60), |network| {
        let (at, changes) = network.connection.as_ref().expect("a connection").remote();
        assert_eq!((at, changes), (SocketAddr::from(common::SERVER), 0));
    });
    assert!(network.at_client.stream.len() > 5_000_000);
}

/// While the original datagrams are blocked, the connection has only copies to follow.
#[test]
fn a_connection_that_was_led_away_comes_back_beside_a_copier_that_goes_on() {
    for outage in [300, 5_000, 20_000] {
        let mut network = connected(4, PathConditions::clean());
        let (start, client) = (network.now + Span::from_secs(1), network.client);
        let (end, mut was_away) = (start + Span::from_millis(outage), false);
        network.copiers[1] = copier();
        run(&mut network, end, |network| {
            network.copiers[1].as_mut().expect("a copier").only_copies = network.now >= start;
            was_away |= remote(network).0 != client;
        });
        assert!(was_away, "after {outage} ms nothing but copies arrives, and is followed");
        network.copiers[1] = copier();
        let mut away_at = end;
        run(&mut network, end + Span::from_secs(60), |network| {
            if remote(network).0 != client {
                away_at = network.now;
            }
        });
        assert!(away_at <= end + Span::from_secs(20), "{outage} ms: away until {away_at:?}");
    }
}

#[test]
fn a_client_that_moves_after_an_attack_is_followed() {
    let mut network = connected(5, PathConditions::clean());
    network.copiers[1] = copier();
    let moves_at = network.now + Span::from_secs(5);
    run(&mut network, moves_at, |_| {});
    network.copiers[1] = None;
    network.client = SocketAddr::from(([10, 0, 4, 4], 4004));
    run(&mut network, moves_at + Span::from_millis(1500), |_| {});
    assert_eq!(remote(&mut network), (network.client, 1));
    let arrived = network.at_server.stream.len();
    run(&mut network, moves_at + Span::from_secs(10), |_| {});
    assert!(network.at_server.stream.len() > arrived + 1_000_000);
}

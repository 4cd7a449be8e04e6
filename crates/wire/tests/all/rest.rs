//! Resting connections, which carry nothing: they send few packets, and the first datagram ends the
//! rest.
#![allow(clippy::print_stdout, reason = "prints figures for docs/tunnel.md")]

use crate::common::{PathConditions, TestNetwork, offer};
use paceline_cc::{Span, Time};
use paceline_wire::{End, Offer, ServerLimits, Service};

const KEEPALIVE: Span = Span::from_secs(25);
/// The idle time that both ends ask for by default.
const IDLE: Span = Span::from_secs(10);

/// Returns a connection for datagrams both ways that has carried some and then nothing for 20 s.
fn quiet(scheme: &str, keepalive: Span) -> TestNetwork {
    let offer =
        Offer { service: Service::Datagrams, back: scheme.into(), keepalive, ..offer(scheme) };
    let limits = ServerLimits { datagrams: true, ..ServerLimits::default() };
    let mut network = TestNetwork::new(1, PathConditions::clean(), offer, limits);
    let mut left = [20; 2];
    network.run(Time::from_secs(25), |network| {
        let Some(connection) = &mut network.connection else { return false };
        if left[0] > 0 && connection.waiting_datagrams() == 0 {
            left[0] -= 1;
            assert!(connection.write_datagram(&[1; 700]));
        }
        let connection = network.slot.and_then(|slot| network.server.connection(slot));
        if let Some(connection) = connection
            && left[1] > 0
            && connection.waiting_datagrams() == 0
        {
            left[1] -= 1;
            assert!(connection.write_datagram(&[2; 700]));
        }
        false
    });
    network.now = Time::from_secs(25);
    assert_eq!((network.at_server.datagrams.len(), network.at_client.datagrams.len()), (20, 20));
    network
}

fn run_for(network: &mut TestNetwork, span: Span) {
    let end = network.now + span;
    network.run(end, |_| false);
    network.now = end;
}

/// Returns true if the server has a connection that has not ended.
fn server_lives(network: &mut TestNetwork) -> bool {
    let slot = network.slot.expect("a connection");
    network.server.connection(slot).is_some_and(|connection| connection.ended().is_none())
}

#[test]
fn a_connection_that_carries_nothing_gives_a_sign_of_life_now_and_then() {
    for scheme in ["sprout", "sprout-ewma", "cubic", "bbr"] {
        let per_minute = |keepalive| {
            let mut network = quiet(scheme, keepalive);
            let before = network.to_server + network.to_client;
            run_for(&mut network, Span::from_secs(600));
            assert!(network.connection.as_ref().is_some_and(|one| one.ended().is_none()));
            assert!(server_lives(&mut network));
            let resting = network.connection.as_ref().is_some_and(|one| one.is_resting());
            assert_eq!(resting, !keepalive.is_zero());
            (network.to_server + network.to_client - before) / 10
        };
        let (always, resting) = (per_minute(Span::ZERO), per_minute(KEEPALIVE));
        println!("{scheme}: {always} packets a minute without rest, {resting} at rest");
        // A ping and a pong every 25 s, and new keys every two minutes.
        assert!((4..=10).contains(&resting), "{scheme}: {resting}");
        assert!(always > 40, "{scheme}: {always}");
    }
}

#[test]
fn the_first_datagram_wakes_a_connection_that_rests() {
    for scheme in ["sprout", "sprout-ewma", "cubic", "bbr"] {
        for pause in [5, 600] {
            let mut network = quiet(scheme, KEEPALIVE);
            run_for(&mut network, Span::from_secs(pause));
            let (sent, before) = (network.now, network.at_server.datagrams.len());
            let connection = network.connection.as_mut().expect("a connection");
            assert!(connection.is_resting() && connection.write_datagram(&[3; 1000]));
            network.run(sent + Span::from_secs(5), |network| {
                network.at_server.datagrams.len() > before
            });
            let took = network.now.since(sent);
            println!("{scheme}, {pause} s of rest: the first datagram took {took}");
            // A one-way delay of 20 ms; with Sprout, also the round trip for a new forecast.
            assert!(took < Span::from_millis(100), "{scheme}: {took}");
            assert!(!network.connection.as_ref().is_some_and(|one| one.is_resting()));
            let slot = network.slot.expect("a connection");
            assert!(network.server.connection(slot).is_some_and(|one| !one.is_resting()));
            // Afterwards the connection is as fast as before.
            let mut left = 200;
            let done = network.run(network.now + Span::from_secs(20), |network| {
                let connection = network.connection.as_mut().expect("a connection");
                if left > 0 && connection.waiting_datagrams() == 0 {
                    left -= 1;
                    assert!(connection.write_datagram(&[4; 1000]));
                }
                network.at_server.datagrams.len() >= before + 201
            });
            assert!(done, "{scheme}: {}", network.at_server.datagrams.len() - before);
        }
    }
}

#[test]
fn an_end_that_has_gone_during_a_rest_is_missed() {
    for scheme in ["sprout", "cubic"] {
        let mut network = quiet(scheme, KEEPALIVE);
        network.conditions.mtu = 0;
        let begun = network.now;
        let mut ended = [None; 2];
        network.run(begun + Span::from_secs(100), |network| {
            let connection = network.connection.as_ref();
            if connection.is_some_and(|one| matches!(one.ended(), Some(End::Silence(_)))) {
                ended[0].get_or_insert(network.now);
            }
            if !server_lives(network) {
                ended[1].get_or_insert(network.now);
            }
            ended.iter().all(Option::is_some)
        });
        // A keepalive interval until the first ping, then the idle time without an answer.
        for end in ended {
            let after = end.expect("it ends").since(begun);
            assert!(after <= KEEPALIVE + IDLE + Span::from_secs(1), "{scheme}: {after}");
        }
    }
}

/// An end that was stopped, like a machine that sleeps, continues.
#[test]
fn an_end_that_was_stopped_while_nothing_was_carried_goes_on() {
    let mut network = quiet("cubic", KEEPALIVE);
    // The other end carries nothing from now on, either: 3 s later both would rest, but they are
    // stopped.
    let connection = network.connection.as_mut().expect("a connection");
    assert!(connection.write_datagram(&[3; 1000]));
    run_for(&mut network, Span::from_secs(1));
    network.now += Span::from_secs(20);
    run_for(&mut network, Span::from_secs(60));
    assert!(network.connection.as_ref().is_some_and(|one| one.is_resting()));
    assert!(server_lives(&mut network));
}

#[test]
fn the_first_datagram_has_the_idle_time_to_be_answered() {
    let mut network = quiet("cubic", KEEPALIVE);
    network.conditions.mtu = 0;
    run_for(&mut network, Span::from_secs(1));
    let sent = network.now;
    let connection = network.connection.as_mut().expect("a connection");
    assert!(connection.write_datagram(&[3; 1000]));
    network.run(sent + Span::from_secs(60), |network| {
        network.connection.as_ref().is_some_and(|one| one.ended().is_some())
    });
    let after = network.now.since(sent);
    assert!((IDLE..IDLE + Span::from_secs(1)).contains(&after), "{after}");
}

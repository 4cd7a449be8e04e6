//! Clients whose server was restarted, in virtual time.

use std::net::SocketAddr;

use crate::common::{PathConditions, SERVER, TestNetwork, bytes, offer};
use paceline_cc::{Ecn, Span, Time};
use paceline_wire::key::Identity;
use paceline_wire::packet::{QUESTION, server_number};
use paceline_wire::{ConnectionCounts, End, Limits, Offer, Server, ServerLimits, Service};

fn tunnel() -> ServerLimits {
    ServerLimits { datagrams: true, ..ServerLimits::default() }
}

/// Returns a network with a connection that carries datagrams, one second after its start.
fn connected(identity: &Identity, conditions: PathConditions) -> TestNetwork {
    let (service, back) = (Service::Datagrams, "cubic".into());
    let offer = Offer { service, back, ..offer("cubic") };
    let mut network = TestNetwork::with_identity(
        identity.clone(),
        1,
        conditions,
        offer,
        Limits::default(),
        tunnel(),
    );
    assert!(network.run(Time::from_secs(1), |network| network.connection.is_some()));
    network.run(Time::from_secs(1), |_| false);
    network.now = Time::from_secs(1);
    network
}

fn restart(network: &mut TestNetwork, identity: &Identity) {
    network.server = Server::new(identity.clone(), tunnel()).expect("random numbers");
    network.slot = None;
}

/// Lets the client write a datagram every 20 ms. Returns when its connection ended, and how.
fn ended(network: &mut TestNetwork, end: Time) -> Option<(Time, End)> {
    let mut next = network.now;
    let done = network.run(end, |network| {
        let connection = network.connection.as_mut().expect("a connection");
        if network.now >= next {
            next = network.now + Span::from_millis(20);
            connection.write_datagram(&[1; 100]);
        }
        connection.ended().is_some()
    });
    let end = network.connection.as_ref().and_then(|connection| connection.ended().cloned());
    done.then(|| (network.now, end.expect("an end")))
}

#[test]
fn a_client_notices_within_a_second_that_its_server_was_restarted() {
    for delay in [1, 20, 100] {
        let delay = Span::from_millis(delay);
        let identity = Identity::generate().expect("random numbers");
        let mut network = connected(&identity, PathConditions { delay, ..PathConditions::clean() });
        let restarted = network.now;
        restart(&mut network, &identity);
        let (at, end) = ended(&mut network, Time::from_secs(20)).expect("an end");
        assert_eq!(end, End::Reset);
        assert!(at < restarted + Span::from_millis(1000), "{delay}: {at:?}");
    }
}

#[test]
fn a_question_or_answer_that_is_lost_comes_again() {
    let identity = Identity::generate().expect("random numbers");
    let mut network = connected(&identity, PathConditions::clean());
    restart(&mut network, &identity);
    let mut questions = 0;
    network.drops = Some(Box::new(move |_, to_server, bytes| {
        questions += u64::from(to_server && bytes[0] == QUESTION);
        bytes[0] == QUESTION && questions < 5
    }));
    let (at, end) = ended(&mut network, Time::from_secs(20)).expect("an end");
    assert!(end == End::Reset && at < Time::from_secs(5), "{at:?}");
}

#[test]
fn a_server_that_has_the_connection_ends_nothing() {
    let identity = Identity::generate().expect("random numbers");
    let mut network = connected(&identity, PathConditions::clean());
    // An outage of five seconds: questions reach the server, but its answers do not reach the
    // client.
    let (from, until) = (Time::from_secs(2), Time::from_secs(7));
    network.drops =
        Some(Box::new(move |now, to_server, _| !to_server && from <= now && now < until));
    assert_eq!(ended(&mut network, Time::from_secs(30)), None);
    assert!(network.at_server.datagrams.len() > 500);
}

#[test]
fn a_server_with_other_keys_or_none_at_all_ends_nothing_before_the_idle_time() {
    let identity = Identity::generate().expect("random numbers");
    let other = Identity::generate().expect("random numbers");
    let mut network = connected(&identity, PathConditions::clean());
    restart(&mut network, &other);
    let (at, end) = ended(&mut network, Time::from_secs(60)).expect("an end");
    assert!(matches!(end, End::Silence(_)), "{end:?}");
    assert!(at > Time::from_secs(10), "{at:?}");
}

#[test]
fn strangers_get_no_answer_and_holders_of_the_key_a_shorter_one() {
    let identity = Identity::generate().expect("random numbers");
    let mut network = connected(&identity, PathConditions::clean());
    let restarted = Server::new(identity.clone(), tunnel()).expect("random numbers");
    let mut before_restart = std::mem::replace(&mut network.server, restarted);
    // The client sends its question.
    let mut question = Vec::new();
    let mut place = [0; 2048];
    let mut now = network.now;
    while question.is_empty() && now < Time::from_secs(5) {
        let connection = network.connection.as_mut().expect("a connection");
        connection.write_datagram(&[1; 100]);
        while let Some(out) = connection.transmit(now, &mut place) {
            if place[0] == QUESTION {
                question = place[..out.length].to_vec();
            }
        }
        now += Span::from_millis(10);
    }
    let from = SocketAddr::from(([10, 0, 0, 9], 9));
    let (server, sink) = (&mut network.server, &mut network.at_server);
    // The server that still has the connection does not answer this question.
    let bytes = &mut question.clone();
    assert_eq!(before_restart.on_datagram(now, from, Ecn::NotEct, bytes, sink), None);
    assert_eq!(before_restart.take_answer(), None);
    let mut ask = |bytes: &[u8]| {
        assert_eq!(server.on_datagram(now, from, Ecn::NotEct, &mut bytes.to_vec(), sink), None);
        server.take_answer()
    };
    let (to, answer) = ask(&question).expect("an answer");
    assert!(to == from && answer.len() < question.len());
    for at in 0..question.len() {
        let mut wrong = question.clone();
        wrong[at] ^= 1;
        assert_eq!(ask(&wrong), None, "byte {at}");
        assert_eq!(ask(&question[..at]), None);
    }
    // A reset is never answered.
    assert_eq!(ask(&answer), None);
    // Changed answers have no effect, from whatever address they come.
    let server = SocketAddr::from(SERVER);
    let connection = network.connection.as_mut().expect("a connection");
    for at in 0..answer.len() {
        let mut wrong = answer.clone();
        wrong[at] ^= 1;
        let sink = &mut network.at_client;
        assert!(!connection.on_datagram(now, server, Ecn::NotEct, &mut wrong, sink));
    }
    assert_eq!(connection.ended(), None);
    let mut answer = answer;
    assert!(connection.on_datagram(now, server, Ecn::NotEct, &mut answer, &mut network.at_client));
    assert_eq!(connection.ended(), Some(&End::Reset));
}

#[test]
fn questions_reach_the_loop_of_their_connection() {
    let identity = Identity::generate().expect("random numbers");
    let mut network = connected(&identity, PathConditions::clean());
    let counts = ConnectionCounts::new();
    let numbered = |number| {
        let server = Server::new(identity.clone(), tunnel()).expect("random numbers");
        server.numbered(number, &counts)
    };
    network.server = numbered(3);
    network.connection = None;
    let (service, back) = (Service::Datagrams, "cubic".into());
    let offer = Offer { service, back, ..offer("cubic") };
    let to = SocketAddr::from(SERVER);
    let limits = Limits::default();
    let again = paceline_wire::Initiator::new(network.now, identity.key(), to, offer, limits);
    network.initiator = Some(again.expect("a good offer"));
    network.run(Time::from_secs(2), |network| network.connection.is_some());
    let asked = std::rc::Rc::new(std::cell::Cell::new(None));
    let seen = asked.clone();
    network.drops = Some(Box::new(move |_, to_server, bytes| {
        if to_server && bytes[0] == QUESTION {
            seen.set(server_number(bytes));
        }
        false
    }));
    network.server = numbered(5);
    assert_eq!(ended(&mut network, Time::from_secs(20)).map(|(_, end)| end), Some(End::Reset));
    assert_eq!(asked.get(), Some(3));
}

#[test]
fn streams_are_reset_too() {
    let identity = Identity::generate().expect("random numbers");
    let offer = offer("cubic");
    let mut network = TestNetwork::with_identity(
        identity.clone(),
        2,
        PathConditions::clean(),
        offer,
        Limits::default(),
        ServerLimits::default(),
    );
    let (data, mut written, mut restarted) = (bytes(20_000_000, 2), 0, false);
    let done = network.run(Time::from_secs(30), |network| {
        if network.now >= Time::from_secs(2) && !restarted {
            restarted = true;
            network.server =
                Server::new(identity.clone(), ServerLimits::default()).expect("random numbers");
        }
        let Some(connection) = &mut network.connection else { return false };
        written += connection.write(&data[written..]);
        connection.ended().is_some()
    });
    assert!(done && network.now < Time::from_secs(4), "{:?}", network.now);
    let end = network.connection.as_ref().and_then(|connection| connection.ended());
    assert_eq!(end, Some(&End::Reset));
}

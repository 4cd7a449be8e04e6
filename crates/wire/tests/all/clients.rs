//! Clients with keys of their own: admission, handouts, and revoked keys.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::common::hostile::{self, HostileClient};
use crate::common::{PathConditions, RecordingSink, SERVER, TestNetwork, offer};
use paceline_cc::{Ecn, Span, Stream, Time};
use paceline_wire::key::{Identity, Key};
use paceline_wire::{
    Admission, AdmittedClient, ClientPublic, ConnectError, Connection, End, Handout, Initiator,
    Limits, Prefix, Server, ServerLimits,
};

fn own_key(key: &Key) -> (Key, ClientPublic) {
    key.for_new_client().expect("random numbers")
}

fn handout(address: &str) -> Handout {
    let prefix = |text: &str| Prefix::parse(text).expect("a network");
    Handout {
        networks: vec![prefix(address), prefix("fd77::2/64")],
        routes: vec![prefix("10.0.0.0/8")],
    }
}

/// Returns a list of clients with their handouts.
fn list(clients: &[(ClientPublic, Handout)]) -> Option<Arc<Admission>> {
    let admitted = clients.iter().map(|(key, handout)| {
        let name = key.to_string();
        AdmittedClient { key: *key, name, handout: handout.clone() }
    });
    Some(Arc::new(admitted.collect()))
}

/// Returns a network whose client has this key.
fn network(seed: u64, limits: ServerLimits, key: impl Fn(&Key) -> Key) -> TestNetwork {
    let mut network = TestNetwork::new(seed, PathConditions::clean(), offer("cubic"), limits);
    let key = key(&network.key);
    connect_again(&mut network, &key);
    network
}

/// Lets a client with this key connect from now on.
fn connect_again(network: &mut TestNetwork, key: &Key) {
    let to = SocketAddr::from(SERVER);
    let initiator = Initiator::new(network.now, key, to, offer("cubic"), Limits::default());
    network.initiator = Some(initiator.expect("a good offer"));
    (network.connection, network.failure, network.slot) = (None, None, None);
}

/// Runs until the connection is established at both ends.
fn stands(network: &mut TestNetwork) -> bool {
    network.run(network.now + Span::from_secs(5), |network| {
        network.connection.is_some()
            && network.slot.is_some_and(|slot| !network.server.is_half_open(slot))
    })
}

fn at_server(network: &mut TestNetwork) -> &mut Connection {
    let slot = network.slot.expect("a connection");
    network.server.connection(slot).expect("a connection")
}

fn refusal(network: &mut TestNetwork) -> String {
    network.run(network.now + Span::from_secs(5), |network| network.failure.is_some());
    match network.failure.take() {
        Some(ConnectError::Refused(reason)) => reason,
        other => panic!("{other:?}, {:?}", network.connection.is_some()),
    }
}

#[test]
fn a_server_tells_clients_apart_by_their_own_keys() {
    let mut network = network(1, ServerLimits::default(), Key::clone);
    let (own, public) = own_key(&network.key);
    let own = Key::parse(&own.to_string()).expect("a key");
    let mut seen = Vec::new();
    // With the shared key, each client that starts is a new one.
    for key in [&own, &network.key.clone(), &network.key.clone(), &own] {
        connect_again(&mut network, key);
        assert!(stands(&mut network));
        seen.push(at_server(&mut network).client().expect("a client"));
        assert!(at_server(&mut network).handout().is_empty());
        let connection = network.connection.as_ref().expect("a connection");
        assert!(connection.client().is_none() && connection.handout().is_empty());
    }
    assert_eq!((seen[0], seen[3]), (public, public));
    assert!(seen[1] != seen[2] && !seen[1..3].contains(&public));
}

#[test]
fn a_listed_client_gets_its_handout_and_others_a_reason() {
    let mut network = network(2, ServerLimits::default(), Key::clone);
    let (own, public) = own_key(&network.key);
    let (other, _) = own_key(&network.key);
    let shared = network.key.clone();
    network.server.admit_only(list(&[(public, handout("10.77.0.2/24"))]));
    for key in [&shared, &other] {
        connect_again(&mut network, key);
        let reason = refusal(&mut network);
        assert!(reason.contains("not on the server's list"), "{reason}");
    }
    assert_eq!((network.server.open(), network.server.stats().refused), ((0, 0), 2));
    connect_again(&mut network, &own);
    assert!(stands(&mut network));
    assert_eq!(at_server(&mut network).client(), Some(public));
    let connection = network.connection.as_ref().expect("a connection");
    assert_eq!(*connection.handout(), handout("10.77.0.2/24"));
    // The longest handout fits into the answer.
    let six = Prefix::parse("fd77::2/64").expect("a network");
    let longest = Handout { networks: vec![six; 8], routes: vec![six; 32] };
    let (own, public) = own_key(&network.key);
    network.server.admit_only(list(&[(public, longest.clone())]));
    connect_again(&mut network, &own);
    assert!(stands(&mut network));
    assert_eq!(*network.connection.as_ref().expect("one").handout(), longest);
}

#[test]
fn a_key_that_is_revoked_while_the_server_runs_is_turned_out_and_others_stay() {
    let mut network = network(3, ServerLimits::default(), Key::clone);
    let ((first, revoked), (second, kept)) = (own_key(&network.key), own_key(&network.key));
    let (a, b) = (handout("10.77.0.2/24"), handout("10.77.0.3/24"));
    network.server.admit_only(list(&[(revoked, a.clone()), (kept, b.clone())]));
    connect_again(&mut network, &second);
    assert!(stands(&mut network));
    let (slot, connection) = (network.slot.expect("one"), network.connection.take());
    connect_again(&mut network, &first);
    assert!(stands(&mut network));
    network.server.admit_only(list(&[(kept, b.clone())]));
    let ended = network.run(network.now + Span::from_secs(5), |network| {
        network.connection.as_ref().is_some_and(|one| one.ended().is_some())
    });
    let end = network.connection.as_ref().and_then(|one| one.ended().cloned());
    let Some(End::There { code: 1, reason }) = end else { panic!("{ended} {end:?}") };
    assert!(reason.contains("taken off the server's list"), "{reason}");
    connect_again(&mut network, &first);
    assert!(refusal(&mut network).contains("not on the server's list"));
    // The other client's connection continues, and carries data.
    assert!(network.server.connection(slot).expect("a connection").ended().is_none());
    (network.connection, network.slot, network.initiator) = (connection, Some(slot), None);
    assert_eq!(network.connection.as_mut().expect("one").write(b"still here"), 10);
    network.run(network.now + Span::from_secs(5), |network| {
        network.connection.as_ref().is_some_and(Connection::is_drained)
    });
    assert_eq!(network.at_server.stream, b"still here");
    // When its address in the list changes, it has to connect again, and gets the new address.
    network.server.admit_only(list(&[(kept, a.clone())]));
    network.run(network.now + Span::from_secs(5), |network| {
        network.connection.as_ref().is_some_and(|one| one.ended().is_some())
    });
    let end = network.connection.as_ref().and_then(|one| one.ended().cloned());
    let Some(End::There { reason, .. }) = end else { panic!("{end:?}") };
    assert!(reason.contains("connect again"), "{reason}");
    connect_again(&mut network, &second);
    assert!(stands(&mut network));
    assert_eq!(*network.connection.as_ref().expect("one").handout(), a);
    // Without a list all clients are admitted again.
    network.server.admit_only(None);
    let shared = network.key.clone();
    connect_again(&mut network, &shared);
    assert!(stands(&mut network));
}

/// Does a handshake up to the server's answer. Returns the initiation with the cookie, the
/// connection's slot at the server, and the connection.
fn shake(
    server: &mut Server,
    key: &Key,
    now: Time,
    port: u16,
) -> (Vec<u8>, Option<usize>, Option<Connection>) {
    let (from, to) = (SocketAddr::from(([10, 0, 0, 2], port)), SocketAddr::from(SERVER));
    let mut one = Initiator::new(now, key, to, offer("cubic"), Limits::default()).expect("good");
    let (mut place, mut sink) = ([0; 2048], RecordingSink::default());
    let (mut initiation, mut slot, mut connection) = (Vec::new(), None, None);
    for _ in 0..2 {
        let length = one.transmit(now, &mut place).expect("time").expect("due");
        initiation = place[..length].to_vec();
        slot = server.on_datagram(now, from, Ecn::NotEct, &mut place[..length], &mut sink);
        if let Some((_, answer)) = server.take_answer() {
            connection = one.on_datagram(now, &answer).expect("admitted");
        }
    }
    (initiation, slot, connection)
}

/// Passes the client's first packet to the server.
fn first_packet(server: &mut Server, connection: &mut Connection, now: Time, port: u16) {
    let from = SocketAddr::from(([10, 0, 0, 2], port));
    let (mut place, mut sink) = ([0; 2048], RecordingSink::default());
    let out = connection.transmit(now, &mut place).expect("a first packet is due");
    server.on_datagram(now, from, Ecn::NotEct, &mut place[..out.length], &mut sink);
}

/// The driver of a server finds a connection whose close was answered, and can free its slot.
#[test]
fn a_connection_whose_close_is_answered_is_due_once_more() {
    let identity = Identity::generate().expect("random numbers");
    let limits = ServerLimits::default();
    let mut server = Server::new(identity.clone(), limits).expect("random numbers");
    let now = Time::from_secs(1);
    let (_, slot, connection) = shake(&mut server, identity.key(), now, 4000);
    let (slot, mut client) = (slot.expect("one"), connection.expect("admitted"));
    first_packet(&mut server, &mut client, now, 4000);
    server.close(slot, 1, "revoked");
    let (mut place, mut sink) = ([0; 2048], RecordingSink::default());
    let from = SocketAddr::from(SERVER);
    while let Some(out) = server.transmit(now, slot, &mut place) {
        client.on_datagram(now, from, Ecn::NotEct, &mut place[..out.length], &mut sink);
    }
    let is_ended = |server: &mut Server| server.connection(slot).expect("one").ended().is_some();
    assert!(!is_ended(&mut server), "the client has not answered");
    assert!(server.due(now).is_none());
    let later = now + Span::from_millis(10);
    let out = client.transmit(later, &mut place).expect("the answer to the close");
    let from = SocketAddr::from(([10, 0, 0, 2], 4000));
    server.on_datagram(later, from, Ecn::NotEct, &mut place[..out.length], &mut sink);
    assert_eq!(server.due(later), Some(slot));
    assert!(is_ended(&mut server));
}

#[test]
fn a_newer_connection_takes_the_place_of_the_older_one_only_when_its_client_is_there() {
    let identity = Identity::generate().expect("random numbers");
    let limits = ServerLimits { one_per_client: true, ..ServerLimits::default() };
    let mut server = Server::new(identity.clone(), limits).expect("random numbers");
    let ((own, _), (other, _)) = (own_key(identity.key()), own_key(identity.key()));
    let now = Time::from_secs(1);
    // A close is sent five times to an end that does not answer.
    let is_closed = |server: &mut Server, slot: usize| {
        let mut place = [0; 2048];
        for second in 0..10 {
            while server.transmit(now + Span::from_secs(second), slot, &mut place).is_some() {}
        }
        let end = server.connection(slot).and_then(|one| one.ended().cloned());
        matches!(end, Some(End::Here { code: 1, reason }) if reason.contains("newer connection"))
    };
    let (_, first, connection) = shake(&mut server, &own, now, 4000);
    first_packet(&mut server, &mut connection.expect("admitted"), now, 4000);
    let (_, stranger, connection) = shake(&mut server, &other, now, 4001);
    first_packet(&mut server, &mut connection.expect("admitted"), now, 4001);
    // Two further handshakes with this key; a host on the path delays the packets that follow.
    let (_, second, held_up) = shake(&mut server, &own, now, 4002);
    let (initiation, third, connection) = shake(&mut server, &own, now, 4003);
    let (first, second, third) = (first.expect("one"), second.expect("one"), third.expect("one"));
    let before = server.wake();
    for port in [4003, 4000, 4010] {
        let from = SocketAddr::from(([10, 0, 0, 2], port));
        let mut sink = RecordingSink::default();
        server.on_datagram(now, from, Ecn::NotEct, &mut initiation.clone(), &mut sink);
        server.take_answer();
    }
    assert!(server.wake() == before && !server.is_half_open(first), "nothing is to be closed");
    first_packet(&mut server, &mut connection.expect("admitted"), now, 4003);
    assert_eq!(server.due(now), Some(first), "the older one is being closed");
    // The delayed packets do not replace the newer connection.
    first_packet(&mut server, &mut held_up.expect("admitted"), now, 4002);
    assert!(is_closed(&mut server, first) && is_closed(&mut server, second));
    for slot in [third, stranger.expect("one")] {
        let mut place = [0; 2048];
        for second in 0..5 {
            while server.transmit(now + Span::from_secs(second), slot, &mut place).is_some() {}
        }
        assert!(server.connection(slot).expect("a connection").ended().is_none());
    }
}

#[test]
fn a_replayed_initiation_leads_to_nothing() {
    let identity = Identity::generate().expect("random numbers");
    let mut server =
        Server::new(identity.clone(), ServerLimits::default()).expect("random numbers");
    let (own, public) = own_key(identity.key());
    server.admit_only(list(&[(public, Handout::default())]));
    let now = Time::from_secs(1);
    let (initiation, slot, connection) = shake(&mut server, &own, now, 4000);
    first_packet(&mut server, &mut connection.expect("admitted"), now, 4000);
    let (slot, accepted) = (slot.expect("one"), server.stats().accepted);
    let mut sink = RecordingSink::default();
    let mut replay = |server: &mut Server, now: Time| {
        let from = SocketAddr::from(([10, 0, 0, 2], 4000));
        let mut bytes = initiation.clone();
        let slot = server.on_datagram(now, from, Ecn::NotEct, &mut bytes, &mut sink);
        (slot, server.take_answer().map(|(_, bytes)| bytes.first().copied()))
    };
    // Replayed while the connection lives, after it, and after its key was revoked; later the
    // cookie has expired.
    assert_eq!(replay(&mut server, now), (None, None));
    server.remove(slot);
    assert_eq!(replay(&mut server, now + Span::from_secs(30)), (None, None));
    server.admit_only(list(&[]));
    assert_eq!(replay(&mut server, now + Span::from_secs(59)), (None, None));
    assert_eq!(replay(&mut server, now + Span::from_secs(200)), (None, Some(Some(0x93))));
    assert_eq!((server.stats().accepted, server.open()), (accepted, (0, 0)));
}

#[test]
fn whatever_a_holder_of_a_key_offers_the_server_goes_on() {
    let identity = Identity::generate().expect("random numbers");
    let mut server =
        Server::new(identity.clone(), ServerLimits::default()).expect("random numbers");
    let mut random = Stream::new(7, "offers");
    let mut refused = 0;
    let schemes =
        ["", "cubic", "remy[file=/etc/passwd]", "sprout[", "abc[dt=1e999s]", "../..", "\0\u{202e}"];
    for i in 0..600u64 {
        let length = random.below(900) as usize;
        let mut offer: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        // Two of three are offers with a hostile field.
        if i % 3 > 0 {
            let mut scheme = || schemes[random.below(schemes.len() as u64) as usize];
            let (scheme, back) = (scheme(), scheme());
            let service = (i % 4) as u8;
            let mtu = [0u16, 1, 575, 1500, u16::MAX][i as usize % 5];
            offer = vec![0, service];
            offer.extend(mtu.to_be_bytes());
            // Window, flag for growth by frames, and idle time.
            offer.extend([0xff; 8]);
            offer.push(u8::from(i % 5 == 0));
            offer.extend([0xff; 8]);
            for text in [scheme, back] {
                offer.extend((text.len() as u16).to_be_bytes());
                offer.extend(text.as_bytes());
            }
            // A scheme that is not text.
            if i % 7 == 0 && !back.is_empty() {
                *offer.last_mut().expect("bytes") = 0xff;
            }
        }
        let now = Time::from_millis(1 + i * 1000);
        let mut client = HostileClient::new(identity.key(), &offer);
        let answer = client.shake(&mut server, now, SocketAddr::from(([10, 0, 0, 2], 4000)));
        refused += u64::from(answer.is_some());
    }
    let stats = server.stats();
    assert!(refused > 100 && stats.accepted < 100 && stats.ignored > 200, "{stats:?}");
    // Afterwards an honest client is still served.
    let (_, slot, _) = shake(&mut server, identity.key(), Time::from_secs(1000), 4001);
    assert!(slot.is_some());
}

#[test]
fn a_client_survives_any_answer_of_a_server() {
    let identity = Identity::generate().expect("random numbers");
    let mut random = Stream::new(8, "answers");
    let now = Time::from_secs(1);
    let mut stood = 0;
    for i in 0..500u64 {
        // An answer with a valid beginning, followed by a random handout; every third one is
        // truncated.
        let mut answer = vec![0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 39, 16];
        answer.extend([random.below(10) as u8, 4 + 2 * random.below(2) as u8]);
        answer.extend((0..random.below(60)).map(|_| random.next_u64() as u8));
        // A handout of one address, and the ticket for a restart.
        let ticket: Vec<u8> = (0..32).map(|_| random.next_u64() as u8).collect();
        match i % 3 {
            0 => answer.truncate(random.below(answer.len() as u64) as usize),
            1 if i % 2 == 0 => answer
                .splice(14.., [&[1, 4, 10, 0, 0, 2, 24, 0][..], &ticket].concat())
                .for_each(drop),
            _ => {}
        }
        let to = SocketAddr::from(SERVER);
        let mut one = Initiator::new(now, identity.key(), to, offer("cubic"), Limits::default())
            .expect("a good offer");
        let mut place = [0; 2048];
        let length = one.transmit(now, &mut place).expect("time").expect("due");
        let response = hostile::response(&identity, &place[..length], &answer);
        match one.on_datagram(now, &response) {
            Ok(Some(connection)) => {
                assert!(connection.handout().networks.len() <= 8);
                stood += 1;
            }
            // An invalid answer is ignored, and the client repeats its initiation.
            Ok(None) => assert!(one.wake() < now + Span::from_secs(1)),
            Err(error) => assert!(matches!(error, ConnectError::Refused(_)), "{error}"),
        }
    }
    assert!((80..200).contains(&stood), "{stood}");
}

#[test]
fn datagrams_of_format_3_get_no_answer() {
    let identity = Identity::generate().expect("random numbers");
    let mut server =
        Server::new(identity.clone(), ServerLimits::default()).expect("random numbers");
    let now = Time::from_secs(1);
    let (initiation, slot, _) = shake(&mut server, identity.key(), now, 4000);
    assert!(slot.is_some() && initiation[1] == 4);
    let ignored = server.stats().ignored;
    let mut old = initiation;
    old[1] = 3;
    let from = SocketAddr::from(([10, 0, 0, 3], 4000));
    let mut sink = RecordingSink::default();
    for kind in [0x91, 0x92, 0x93] {
        old[0] = kind;
        assert_eq!(server.on_datagram(now, from, Ecn::NotEct, &mut old.clone(), &mut sink), None);
        assert_eq!(server.take_answer(), None);
    }
    assert_eq!(server.stats().ignored, ignored + 3);
}

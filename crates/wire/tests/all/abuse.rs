//! Attacks on a server by strangers, and by hosts that record and replay datagrams: none has an
//! effect.

use std::net::SocketAddr;

use crate::common::{PathConditions, RecordingSink, SERVER, TestNetwork, hostile, offer};
use paceline_cc::{Ecn, Span, Stream, Time};
use paceline_wire::key::Identity;
use paceline_wire::{ConnectError, Initiator, Limits, Offer, Server, ServerLimits, Service};

/// Number of datagrams of each kind.
const MANY: u64 = 100_000;

fn server() -> (Server, Identity) {
    let identity = Identity::generate().expect("random numbers");
    let server = Server::new(identity.clone(), ServerLimits::default());
    (server.expect("random numbers"), identity)
}

fn initiation(identity: &Identity) -> Vec<u8> {
    let to = SocketAddr::from(SERVER);
    let made = Initiator::new(Time::ZERO, identity.key(), to, offer("cubic"), Limits::default());
    let mut place = [0; 2048];
    let length = made.expect("a good offer").transmit(Time::ZERO, &mut place);
    place[..length.expect("time").expect("due")].to_vec()
}

/// Returns a random source address.
fn anybody(random: &mut Stream) -> SocketAddr {
    SocketAddr::from(([10, 1, random.below(256) as u8, random.below(256) as u8], 1234))
}

#[test]
fn strangers_get_no_answer_and_leave_no_trace() {
    let (mut server, identity) = server();
    let (_, other) = self::server();
    let mut random = Stream::new(1, "strangers");
    let mut sink = RecordingSink::default();
    let forged = initiation(&other);
    let good = initiation(&identity);
    for i in 0..MANY {
        let mut bytes = match i % 4 {
            // Random bytes of any length, with an existing kind.
            0 => {
                let length = 1 + random.below(1500) as usize;
                let mut bytes = vec![random.next_u64() as u8; length];
                bytes[0] = [0x91, 0x92, 0x93, 0x41, 0x42, 0x43][random.below(6) as usize];
                bytes
            }
            // A handshake with another server's key.
            1 => forged.clone(),
            // A valid one, truncated.
            2 => good[..random.below(good.len() as u64) as usize].to_vec(),
            // A valid one with one bit changed.
            _ => {
                let mut bytes = good.clone();
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
                bytes
            }
        };
        let from = anybody(&mut random);
        let slot = server.on_datagram(
            Time::from_nanos(i * 1000),
            from,
            Ecn::NotEct,
            &mut bytes,
            &mut sink,
        );
        assert_eq!(slot, None);
        assert_eq!(server.take_answer(), None);
    }
    let stats = server.stats();
    assert_eq!((server.open(), server.remembered_cookies()), ((0, 0), 0));
    assert_eq!(stats.ignored, MANY, "{stats:?}");
}

#[test]
fn a_replayed_initiation_leads_to_a_cookie_for_its_own_address_and_no_further() {
    let (mut server, identity) = server();
    let good = initiation(&identity);
    let mut random = Stream::new(2, "replay");
    let mut sink = RecordingSink::default();
    for i in 0..MANY {
        let from = anybody(&mut random);
        let now = Time::from_nanos(i * 10_000);
        let slot = server.on_datagram(now, from, Ecn::NotEct, &mut good.clone(), &mut sink);
        let (to, answer) = server.take_answer().expect("a retry");
        assert!(slot.is_none() && to == from && answer.len() < 100);
        // If the cookie is reflected to the server, it is ignored: it is not an initiation, and
        // belongs to no connection.
        let slot = server.on_datagram(now, from, Ecn::NotEct, &mut answer.clone(), &mut sink);
        assert!(slot.is_none() && server.take_answer().is_none());
    }
    assert_eq!((server.open(), server.remembered_cookies()), ((0, 0), 0));
}

/// Records all datagrams of a whole connection: of a stream, or of a tunnel.
fn recorded(service: Service) -> (TestNetwork, Vec<(bool, Vec<u8>)>) {
    let datagrams = service == Service::Datagrams;
    let limits = ServerLimits { datagrams, ..ServerLimits::default() };
    let offer = Offer { service, ..offer("cubic") };
    let mut network = TestNetwork::new(3, PathConditions::clean(), offer, limits);
    let mut record = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    network.run(Time::from_secs(3), |network| {
        let new = network.wire.iter().filter(|(key, _)| seen.insert(**key));
        record.extend(new.map(|(_, (to_server, _, _, bytes))| (*to_server, bytes.clone())));
        if let Some(connection) = &mut network.connection
            && network.now < Time::from_secs(3)
        {
            match datagrams {
                true if connection.waiting_datagrams() == 0 => {
                    connection.write_datagram(&[7; 1000]);
                }
                true => {}
                false => drop(connection.write(&[7; 1000])),
            }
        }
        false
    });
    // Datagrams in flight arrive.
    network.run(Time::from_secs(6), |network| {
        network.connection.as_ref().is_some_and(|c| c.is_drained())
    });
    network.run(network.now + Span::from_millis(500), |_| false);
    assert!(record.len() > 1000, "{}", record.len());
    (network, record)
}

#[test]
fn a_recorded_connection_played_again_or_reflected_changes_nothing() {
    for service in [Service::Stream, Service::Datagrams] {
        nothing_changes(service);
    }
}

fn nothing_changes(service: Service) {
    let (mut network, record) = recorded(service);
    let arrived = |network: &TestNetwork| {
        let RecordingSink { stream, datagrams, packets, .. } = &network.at_server;
        (stream.len(), datagrams.len(), *packets, network.server.remembered_cookies())
    };
    let before = (arrived(&network), network.server.open());
    assert!(before.0.2 > 300, "{before:?}");
    let accepted = network.server.stats().accepted;
    let mut random = Stream::new(4, "recorded");
    let slot = network.slot.expect("a connection");
    let received = network.server.connection(slot).and_then(|c| c.received()).expect("data");
    for _ in 0..MANY {
        let (_, bytes) = &record[random.below(record.len() as u64) as usize];
        let mut bytes = bytes.clone();
        match random.below(3) {
            0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
            1 => {
                // The congestion header is not authenticated, but a packet number is accepted only
                // once.
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
            _ => {}
        }
        let from = match random.below(2) {
            0 => network.client,
            _ => anybody(&mut random),
        };
        let now = network.now;
        network.server.on_datagram(now, from, Ecn::NotEct, &mut bytes, &mut network.at_server);
        network.server.take_answer();
    }
    assert_eq!((arrived(&network), network.server.open()), before);
    assert_eq!(network.server.stats().accepted, accepted);
    let connection = network.server.connection(slot).expect("a connection");
    assert_eq!(connection.received(), Some(received), "nothing was counted");
    assert_eq!(connection.remote(), (network.client, 0));
}

#[test]
fn clients_with_the_key_cannot_fill_the_server() {
    let (mut server, identity) = server();
    let mut random = Stream::new(5, "flood");
    let mut sink = RecordingSink::default();
    let mut place = [0; 2048];
    let to = SocketAddr::from(SERVER);
    let limits = ServerLimits::default();
    // Clients that receive at their addresses do the handshake, and then send nothing.
    for i in 0..2_000 {
        let from = anybody(&mut random);
        let now = Time::from_nanos(i * 10_000);
        let offer = offer("cubic");
        let mut one = Initiator::new(now, identity.key(), to, offer, Limits::default())
            .expect("a good offer");
        for _ in 0..2 {
            let length = one.transmit(now, &mut place).expect("time").expect("due");
            server.on_datagram(now, from, Ecn::NotEct, &mut place[..length], &mut sink);
            if let Some((_, answer)) = server.take_answer() {
                let _ = one.on_datagram(now, &answer);
            }
        }
        assert!(server.open().0 <= limits.half_open && server.open().0 == server.open().1);
        assert!(server.remembered_cookies() <= 64 * limits.half_open);
    }
    assert!(server.stats().crowded >= 1_500, "{:?}", server.stats());
    // After their time the server forgets them.
    let later = Time::from_secs(11);
    while let Some(slot) = server.due(later) {
        while server.transmit(later, slot, &mut place).is_some() {}
        if server.connection(slot).is_some_and(|c| c.ended().is_some()) {
            server.remove(slot);
        }
    }
    assert_eq!(server.open(), (0, 0));
}

/// Does a handshake in which a host with the key changes the initiator's datagrams by `change`.
/// Returns the connection's slot at the server.
fn shake(
    (server, identity): (&mut Server, &Identity),
    from: SocketAddr,
    offer: Offer,
    change: impl Fn(&[u8]) -> Vec<u8>,
) -> (Option<usize>, Option<ConnectError>) {
    let (now, to) = (Time::from_millis(1), SocketAddr::from(SERVER));
    let mut one = Initiator::new(now, identity.key(), to, offer, Limits::default()).expect("good");
    let (mut place, mut sink) = ([0; 16_384], RecordingSink::default());
    let mut slot = None;
    for _ in 0..2 {
        let length = one.transmit(now, &mut place).expect("time").expect("due");
        let mut bytes = change(&place[..length]);
        slot = slot.or(server.on_datagram(now, from, Ecn::NotEct, &mut bytes, &mut sink));
        let Some((_, answer)) = server.take_answer() else { break };
        if let Err(error) = one.on_datagram(now, &answer) {
            return (slot, Some(error));
        }
    }
    (slot, None)
}

#[test]
fn an_offer_gets_no_larger_packets_than_its_initiation_has_shown() {
    let (mut server, identity) = server();
    let from = SocketAddr::from(([10, 0, 0, 2], 4000));
    let offer = Offer { mtu: 9000, ..offer("cubic") };
    // The offer asks for 9000 bytes, but the initiation has 1200 bytes and a valid code.
    let cut = |bytes: &[u8]| hostile::resized(identity.key(), bytes, 1200);
    let (slot, error) = shake((&mut server, &identity), from, offer.clone(), cut);
    let slot = slot.unwrap_or_else(|| panic!("{error:?}"));
    assert_eq!(server.connection(slot).expect("a connection").mtu(), 1228);
    // Honest clients get the size that they ask for, up to the server's own limit.
    let whole = |bytes: &[u8]| bytes.to_vec();
    let (slot, _) = shake((&mut server, &identity), from, offer.clone(), whole);
    assert_eq!(server.connection(slot.expect("good")).expect("a connection").mtu(), 9000);
    let limits = ServerLimits { mtu: 1500, ..ServerLimits::default() };
    let mut server = Server::new(identity.clone(), limits).expect("random numbers");
    let (slot, _) = shake((&mut server, &identity), from, offer, whole);
    assert_eq!(server.connection(slot.expect("good")).expect("a connection").mtu(), 1500);
}

#[test]
fn a_server_that_only_receives_is_not_made_to_send() {
    let (mut server, identity) = server();
    let from = SocketAddr::from(([10, 0, 0, 2], 4000));
    let whole = |bytes: &[u8]| bytes.to_vec();
    for service in [Service::Stream, Service::Filler] {
        let offer = Offer { service, back: "cubic".into(), ..offer("cubic") };
        let (slot, error) = shake((&mut server, &identity), from, offer, whole);
        let Some(ConnectError::Refused(reason)) = error else { panic!("{error:?}") };
        assert!(slot.is_none() && reason.contains("it only receives"), "{reason}");
    }
    assert_eq!((server.open(), server.stats().refused), ((0, 0), 2));
}

#[test]
fn one_address_gets_a_share_of_the_half_open_places() {
    let (mut server, identity) = server();
    let limits = ServerLimits::default();
    let whole = |bytes: &[u8]| bytes.to_vec();
    for port in 0..200 {
        let from = SocketAddr::from(([10, 0, 0, 2], 4000 + port));
        shake((&mut server, &identity), from, offer("cubic"), whole);
    }
    assert_eq!(server.open().1, limits.half_open_per_address);
    // An IPv6 network of 64 bits counts as one address.
    for host in 0..200 {
        let from = SocketAddr::from(([0x2001, 0xdb8, 0, 7, 0, 0, 0, host], 4000));
        shake((&mut server, &identity), from, offer("cubic"), whole);
    }
    assert_eq!(server.open().1, 2 * limits.half_open_per_address);
    let from = SocketAddr::from(([10, 0, 0, 3], 4000));
    let (slot, _) = shake((&mut server, &identity), from, offer("cubic"), whole);
    assert!(slot.is_some(), "others have their own places");
}

#[test]
fn plaintext_connections_accept_no_forged_packets() {
    let identity = Identity::generate().expect("random numbers");
    let limits = ServerLimits { plaintext: true, ..ServerLimits::default() };
    let mut server = Server::new(identity.clone(), limits).expect("random numbers");
    let from = SocketAddr::from(([10, 0, 0, 2], 4000));
    let offer = Offer { plaintext: true, ..offer("cubic") };
    let (slot, error) = shake((&mut server, &identity), from, offer, |bytes| bytes.to_vec());
    let slot = slot.unwrap_or_else(|| panic!("{error:?}"));
    let local = server.connection(slot).expect("a connection").local();
    let (now, mut sink) = (Time::from_millis(2), RecordingSink::default());
    let mut random = Stream::new(6, "plaintext");
    // A close (docs/wire.md) with zeros for a tag as in version 2, and with guessed tags; the
    // identifier is known.
    for guess in 0..MANY {
        let mut bytes = vec![0x41];
        bytes.extend(local.to_be_bytes());
        bytes.extend((guess << 20).to_be_bytes());
        bytes.push(0x10);
        bytes.extend([12, 0, 1, 0, 8]);
        bytes.extend(b"attacked");
        match guess {
            0 => bytes.extend([0; 16]),
            _ => bytes.extend((0..16).map(|_| random.next_u64() as u8)),
        }
        assert_eq!(server.on_datagram(now, from, Ecn::NotEct, &mut bytes, &mut sink), None);
    }
    assert_eq!(server.connection(slot).expect("a connection").ended(), None);
    assert_eq!(server.stats().ignored, MANY);
}

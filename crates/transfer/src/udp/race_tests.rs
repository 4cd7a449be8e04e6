use std::time::{Duration, Instant};

use paceline_cc::Ecn;
use paceline_os::udp::Inbox;
use paceline_wire::key::Identity;
use paceline_wire::{Server, ServerLimits, Sink};

use super::*;

struct Deaf;
impl Sink for Deaf {}

/// Connects to a server that listens only at the last of these addresses. Returns the address at
/// which the client reached it.
fn race(addresses: &[SocketAddr], server_socket: &mut Socket) -> SocketAddr {
    let identity = Identity::generate().expect("random numbers");
    let key = identity.key().clone();
    let mut server = Server::new(identity, ServerLimits::default()).expect("random numbers");
    let mut socket = Socket::for_any_of(addresses).expect("a socket");
    let offer = Offer { scheme: "cubic".into(), mtu: 1280, ..Offer::default() };
    let begun = Instant::now();
    let now = || Time::from_nanos(1 + begun.elapsed().as_nanos() as u64);
    let limits = Limits { silence: Span::from_secs(60), ..Limits::default() };
    let mut race = Race::new(now(), &key, addresses, offer, limits);
    let (mut outbox, mut inbox, mut found) = (Outbox::new(), Inbox::default(), None);
    while found.is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no connection");
        race.transmit(now(), &mut socket, &mut outbox).expect("it goes on");
        let mut answers = Vec::new();
        let received = server_socket.receive(&mut inbox, |group| {
            server.on_datagram(now(), group.from, Ecn::NotEct, group.bytes, &mut Deaf);
            answers.extend(server.take_answer());
        });
        received.expect("a socket");
        for (to, bytes) in answers {
            server_socket.send(to, 0, &bytes, bytes.len());
        }
        let received = socket.receive(&mut inbox, |group| {
            let made = race.on_datagram(now(), group.bytes).expect("no refusal");
            found = made.map(|connection| connection.remote().0).or(found);
        });
        received.expect("a socket");
        std::thread::sleep(Duration::from_millis(1));
    }
    found.expect("a connection")
}

#[test]
fn silent_and_unreachable_addresses_are_passed_over() {
    let mut server = Socket::bind("127.0.0.1:0".parse().expect("an address")).expect("loopback");
    let there = server.local().expect("an address");
    // A socket that never answers.
    let silent = Socket::bind("127.0.0.1:0".parse().expect("an address")).expect("loopback");
    let silent = silent.local().expect("an address");
    assert_eq!(race(&[there], &mut server), there);
    assert_eq!(race(&[silent, there], &mut server), there);
    // An address of a documentation network, and one to which the system sends no packet.
    let dead: SocketAddr = "[100::1]:9".parse().expect("an address");
    let no_route: SocketAddr = "255.255.255.255:9".parse().expect("an address");
    assert_eq!(race(&[no_route, dead, silent, there], &mut server), there);
}

#[test]
fn an_address_to_which_this_machine_cannot_send_is_told() {
    let key = Identity::generate().expect("random numbers").key().clone();
    let offer = Offer { scheme: "cubic".into(), mtu: 1280, ..Offer::default() };
    let limits = Limits { silence: Span::from_millis(1), ..Limits::default() };
    let silent = Socket::bind("127.0.0.1:0".parse().expect("an address")).expect("loopback");
    let silent = silent.local().expect("an address");
    // An address to which the system sends no packet, since the socket may not broadcast.
    let no_route: SocketAddr = "255.255.255.255:9".parse().expect("an address");
    for (addresses, told) in
        [(&[no_route][..], true), (&[no_route, silent], false), (&[silent], false)]
    {
        let mut socket = Socket::for_any_of(addresses).expect("a socket");
        let mut outbox = Outbox::new();
        let start = Time::from_nanos(1);
        let mut race = Race::new(start, &key, addresses, offer.clone(), limits.clone());
        race.transmit(start, &mut socket, &mut outbox).expect("it goes on");
        assert_eq!(race.unsendable().is_some(), told, "{addresses:?}");
        let later = start + Span::from_secs(10);
        let error = race.transmit(later, &mut socket, &mut outbox).expect_err("silence");
        let text = race.error_text(&error);
        assert!(text.contains("nobody answers"), "{text}");
        assert_eq!(text.contains("this machine cannot send there: "), told, "{text}");
    }
}

#[test]
fn only_packets_that_have_left_count_as_sent() {
    let local = "127.0.0.1:0".parse().expect("an address");
    let mut socket = Socket::bind(local).expect("loopback");
    let to = socket.local().expect("an address");
    let mut outbox = Outbox::new();
    assert!(outbox.send_one(&mut socket, to, &[0; 1200]));
    // Larger than a packet may be.
    assert!(!outbox.send_one(&mut socket, to, &[0; 65_535]));
    assert!(outbox.was_too_large() && outbox.take_lost().is_none());
    let no_route: SocketAddr = "255.255.255.255:9".parse().expect("an address");
    assert!(!outbox.send_one(&mut socket, no_route, &[0; 1200]));
    assert!(outbox.take_lost().is_some());
}

use std::net::SocketAddr;

use paceline_cc::{Ecn, Span, Stream};
use paceline_wire::key::Identity;
use paceline_wire::{Initiator, Limits, Offer, Server, ServerLimits, Service, Sink};

use super::*;

/// Maximum length of an inside packet, under Sprout over IPv4 with packets of 1280 bytes.
const LONGEST: usize = 1181;

/// A connection with datagrams in packets of 1280 bytes, and both of its ends.
struct Pair {
    now: Time,
    client: Connection,
    server: Server,
    slot: usize,
    arrived: RecordingSink,
}

#[derive(Default)]
struct RecordingSink(Vec<Vec<u8>>);

impl Sink for RecordingSink {
    fn on_datagram(&mut self, _connection: u32, bytes: &[u8]) {
        self.0.push(bytes.to_vec());
    }
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 5312))
}

impl Pair {
    fn new() -> Pair {
        let identity = Identity::generate().expect("random numbers");
        let offer = Offer {
            service: Service::Datagrams,
            scheme: "sprout".into(),
            back: "sprout".into(),
            mtu: 1280,
            window: 1 << 20,
            ..Offer::default()
        };
        let limits = ServerLimits { datagrams: true, ..ServerLimits::default() };
        let (now, to) = (Time::ZERO, address(1));
        let made = Initiator::new(now, identity.key(), to, offer, Limits::default());
        let (mut initiator, mut place) = (made.expect("a good offer"), vec![0; 65_536]);
        let mut server = Server::new(identity, limits).expect("random numbers");
        let mut arrived = RecordingSink::default();
        // The server answers the first initiation with a cookie, the second with a response.
        let mut client = None;
        for _ in 0..2 {
            let length = initiator.transmit(now, &mut place).expect("it goes on").expect("due");
            let bytes = &mut place[..length];
            server.on_datagram(now, address(2), Ecn::NotEct, bytes, &mut arrived);
            if let Some((_, answer)) = server.take_answer() {
                client = initiator.on_datagram(now, &answer).expect("a good answer");
            }
        }
        let client = client.expect("a connection");
        let slot = 0;
        Pair { now, client, server, slot, arrived }
    }

    /// Advances the time by `span`, during which both ends exchange packets.
    fn run(&mut self, carrier: &mut Carrier, span: Span) {
        let (end, mut place) = (self.now + span, vec![0; 65_536]);
        while self.now < end {
            carrier.refill(self.now, &mut self.client);
            while let Some(sent) = self.client.transmit(self.now, &mut place) {
                assert!(sent.length + 28 <= 1280);
                let (from, bytes) = (address(2), &mut place[..sent.length]);
                let slot =
                    self.server.on_datagram(self.now, from, sent.ecn, bytes, &mut self.arrived);
                self.slot = slot.unwrap_or(self.slot);
                carrier.refill(self.now, &mut self.client);
            }
            while let Some(slot) = self.server.due(self.now) {
                let Some(sent) = self.server.transmit(self.now, slot, &mut place) else { continue };
                let bytes = &mut place[..sent.length];
                let nobody = &mut RecordingSink::default();
                self.client.on_datagram(self.now, address(1), sent.ecn, bytes, nobody);
            }
            self.now += Span::from_millis(1);
        }
    }
}

/// A UDP packet of `length` bytes from this port, over IPv6 or over IPv4 with or without "don't
/// fragment".
fn packet(kind: Kind, length: usize, port: u8) -> Vec<u8> {
    let mut packet = vec![port; length];
    if kind == Kind::Six {
        packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, 17, 64]);
        packet[4..6].copy_from_slice(&(length as u16 - 40).to_be_bytes());
        packet[8] = 0xfd;
        packet[24] = 0xfd;
    } else {
        packet[..20].copy_from_slice(&[
            0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1,
        ]);
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[6] = if kind == Kind::Whole { 0x40 } else { 0 };
    }
    packet
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// IPv4 with "don't fragment".
    Whole,
    /// IPv4 without "don't fragment".
    Divisible,
    Six,
}

fn carrier(longest: usize) -> Carrier {
    Carrier::new(Time::ZERO, longest, &[])
}

#[test]
fn packets_that_fit_or_must_not_be_refused_arrive_and_others_are_answered() {
    let mut pair = Pair::new();
    let mut carrier = carrier(pair.client.longest_datagram());
    assert_eq!(pair.client.longest_datagram(), LONGEST);
    let cases = [
        (Kind::Whole, 1181, true),
        (Kind::Whole, 1182, false),
        (Kind::Whole, 1280, false),
        (Kind::Divisible, 1182, true),
        (Kind::Divisible, 1500, true),
        (Kind::Divisible, 65_535, true),
        (Kind::Six, 1181, true),
        (Kind::Six, 1182, true),
        (Kind::Six, 1280, true),
        (Kind::Six, 1281, false),
    ];
    for (port, (kind, length, arrives)) in cases.into_iter().enumerate() {
        let sent = packet(kind, length, port as u8);
        carrier.push(pair.now, &sent, 1_000_000);
        let answers: Vec<_> = carrier.answers().collect();
        assert_eq!(answers.is_empty(), arrives, "{kind:?} of {length} bytes");
        if let Some(answer) = answers.first() {
            let (place, mtu) = if kind == Kind::Six { (46, 1280) } else { (26, 1181) };
            assert_eq!(answer[place..place + 2], u16::to_be_bytes(mtu), "{kind:?}");
        }
        pair.run(&mut carrier, Span::from_millis(1500));
        let arrived = std::mem::take(&mut pair.arrived.0);
        assert_eq!(
            arrived,
            if arrives { vec![sent] } else { vec![] },
            "{kind:?} of {length} bytes"
        );
    }
    let stats = carrier.stats();
    assert_eq!((stats.too_long, stats.in_parts, stats.queues.packets), (3, 5, 7));
}

#[test]
fn what_was_queued_before_the_path_became_narrower_is_answered_or_carried() {
    let mut pair = Pair::new();
    // The queues have not yet learned that the path carries less.
    let mut carrier = carrier(1401);
    let sent = [Kind::Whole, Kind::Divisible, Kind::Six].map(|kind| packet(kind, 1401, kind as u8));
    sent.iter().for_each(|packet| carrier.push(pair.now, packet, 1_000_000));
    assert_eq!(carrier.answers().count(), 0);
    pair.run(&mut carrier, Span::from_millis(1500));
    let answers: Vec<_> = carrier.answers().map(|answer| answer[0] >> 4).collect();
    assert_eq!(answers, [4, 6]);
    assert_eq!(pair.arrived.0, [sent[1].clone()]);
    assert!(carrier.set_longest(LONGEST) && !carrier.set_longest(LONGEST));
}

/// No input from the device panics, and only packets from the device leave.
#[test]
fn nothing_panics() {
    let mut pair = Pair::new();
    let (mut carrier, mut random) = (carrier(LONGEST), Stream::new(7, "carrier"));
    for _ in 0..20_000 {
        let kind = [Kind::Whole, Kind::Divisible, Kind::Six][random.below(3) as usize];
        let mut one = packet(kind, 60 + random.below(1500) as usize, 0);
        for _ in 0..random.below(4) {
            let at = random.below(60) as usize;
            one[at] = random.below(256) as u8;
        }
        if random.below(8) == 0 {
            one.truncate(random.below(one.len() as u64) as usize);
        }
        carrier.push(pair.now, &one, 14_400);
        assert!(carrier.answers().all(|answer| answer.len() <= 1280));
        if random.below(20) == 0 {
            pair.run(&mut carrier, Span::from_millis(1));
        }
    }
    let stats = carrier.stats();
    assert!(stats.too_long > 1000 && stats.in_parts > 100, "{stats:?}");
}

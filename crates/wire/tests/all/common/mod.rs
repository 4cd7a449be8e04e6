//! A client, a server and a bad path between them, in virtual time.
#![allow(unreachable_pub)]

pub mod hostile;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use paceline_cc::{Ecn, Span, Stream, Time};
use paceline_wire::key::{Identity, Key};
use paceline_wire::{
    Arrival, ConnectError, Connection, End, Initiator, Limits, Offer, Server, ServerLimits,
    Service, Sink,
};

/// The properties of a path.
#[derive(Clone, Debug)]
pub struct PathConditions {
    pub delay: Span,
    pub jitter: Span,
    pub loss: f64,
    pub duplicate: f64,
    pub corrupt: f64,
    pub replay: f64,
    /// Time to transmit a byte, and the longest time that a datagram may wait for earlier ones.
    pub byte: Span,
    pub longest_wait: Span,
    /// Longest datagram that passes; longer ones are lost.
    pub mtu: usize,
    /// True if datagrams that arrive at one time are read together, before any is answered.
    pub batches: bool,
}

impl PathConditions {
    /// Returns a path of 20 ms each way at 12 Mbit/s.
    pub fn clean() -> PathConditions {
        PathConditions {
            delay: Span::from_millis(20),
            jitter: Span::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
            replay: 0.0,
            byte: Span::from_nanos(667),
            longest_wait: Span::from_millis(200),
            mtu: 1472,
            batches: false,
        }
    }
    pub fn poor() -> PathConditions {
        PathConditions {
            jitter: Span::from_millis(5),
            loss: 0.02,
            duplicate: 0.02,
            corrupt: 0.01,
            replay: 0.05,
            ..PathConditions::clean()
        }
    }
}

/// Records what has arrived at an end.
#[derive(Default)]
pub struct RecordingSink {
    pub stream: Vec<u8>,
    pub datagrams: Vec<Vec<u8>>,
    pub packets: u64,
    pub wire_bytes: u64,
    pub rtts: u64,
}

impl Sink for RecordingSink {
    fn on_stream(&mut self, _connection: u32, bytes: &[u8]) {
        self.stream.extend(bytes);
    }
    fn on_datagram(&mut self, _connection: u32, bytes: &[u8]) {
        self.datagrams.push(bytes.to_vec());
    }
    fn on_packet(&mut self, _connection: u32, now: Time, arrival: &Arrival) {
        assert!(arrival.sent <= now && arrival.size > 60);
        self.packets += 1;
        self.wire_bytes += u64::from(arrival.size);
    }
    fn on_rtt(&mut self, _connection: u32, rtt: Span) {
        assert!(!rtt.is_zero());
        self.rtts += 1;
    }
}

/// A host on the path that sends a copy of each datagram from its own address, and forwards
/// datagrams sent to that address.
#[derive(Clone, Debug)]
pub struct Copier {
    /// Source address of the copies.
    pub address: SocketAddr,
    /// Time by which a copy arrives before its datagram.
    pub lead: Span,
    /// True if only copies arrive.
    pub only_copies: bool,
}

/// Decides which datagrams are lost, from the time, the direction (true for those to the server)
/// and the bytes.
pub type Drops = Box<dyn FnMut(Time, bool, &[u8]) -> bool>;
type Datagram = (bool, SocketAddr, Ecn, Vec<u8>);

pub struct TestNetwork {
    pub now: Time,
    pub random: Stream,
    pub conditions: PathConditions,
    pub wire: BTreeMap<(Time, u64), Datagram>,
    pub old: Vec<Datagram>,
    count: u64,
    busy: [Time; 2],
    pub client: SocketAddr,
    /// The key that all clients of the server share.
    pub key: Key,
    pub initiator: Option<Initiator>,
    pub connection: Option<Connection>,
    pub failure: Option<ConnectError>,
    pub server: Server,
    pub slot: Option<usize>,
    pub at_client: RecordingSink,
    pub at_server: RecordingSink,
    /// Number of datagrams sent in each direction.
    pub to_server: u64,
    pub to_client: u64,
    /// Returns true for datagrams that are lost; its second argument is true for those to the
    /// server.
    pub drops: Option<Drops>,
    /// The copiers of datagrams to the client and to the server.
    pub copiers: [Option<Copier>; 2],
}

pub const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 5311);

pub fn offer(scheme: &str) -> Offer {
    Offer {
        service: Service::Stream,
        scheme: scheme.into(),
        mtu: 1500,
        window: 1 << 20,
        ..Offer::default()
    }
}

pub fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Stream::new(seed, "bytes");
    (0..length).map(|_| random.next_u64() as u8).collect()
}

impl TestNetwork {
    pub fn new(
        seed: u64,
        conditions: PathConditions,
        offer: Offer,
        limits: ServerLimits,
    ) -> TestNetwork {
        TestNetwork::with_limits(seed, conditions, offer, Limits::default(), limits)
    }

    /// Returns a network whose client has limits of its own.
    pub fn with_limits(
        seed: u64,
        conditions: PathConditions,
        offer: Offer,
        client_limits: Limits,
        limits: ServerLimits,
    ) -> TestNetwork {
        let identity = Identity::generate().expect("random numbers");
        TestNetwork::with_identity(identity, seed, conditions, offer, client_limits, limits)
    }

    /// Returns a network whose server has these keys.
    pub fn with_identity(
        identity: Identity,
        seed: u64,
        conditions: PathConditions,
        offer: Offer,
        client_limits: Limits,
        limits: ServerLimits,
    ) -> TestNetwork {
        let key = identity.key().clone();
        let client = SocketAddr::from(([10, 0, 0, 2], 4000));
        let to = SocketAddr::from(SERVER);
        let initiator = Initiator::new(Time::ZERO, &key, to, offer, client_limits);
        TestNetwork {
            now: Time::ZERO,
            random: Stream::new(seed, "world"),
            conditions,
            wire: BTreeMap::new(),
            old: Vec::new(),
            count: 0,
            busy: [Time::ZERO; 2],
            client,
            key,
            initiator: Some(initiator.expect("a good offer")),
            connection: None,
            failure: None,
            server: Server::new(identity, limits).expect("random numbers"),
            slot: None,
            at_client: RecordingSink::default(),
            at_server: RecordingSink::default(),
            to_server: 0,
            to_client: 0,
            drops: None,
            copiers: [None, None],
        }
    }

    fn put(&mut self, to_server: bool, from: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let PathConditions { mtu, loss, byte, longest_wait, .. } = self.conditions;
        self.to_server += u64::from(to_server);
        self.to_client += u64::from(!to_server);
        if self.drops.as_mut().is_some_and(|drops| drops(self.now, to_server, bytes)) {
            return;
        }
        let busy = &mut self.busy[usize::from(to_server)];
        if bytes.len() > mtu || self.random.chance(loss) {
            return;
        }
        if busy.since(self.now) > longest_wait {
            return;
        }
        *busy = (*busy).max(self.now) + byte * (bytes.len() as u64 + 28);
        let out = *busy;
        let mut bytes = bytes.to_vec();
        if self.random.chance(self.conditions.corrupt) {
            let at = self.random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << self.random.below(8);
        }
        if let Some(copier) = self.copiers[usize::from(to_server)].clone() {
            let copy = (to_server, copier.address, ecn, bytes.clone());
            self.arrive(out - copier.lead, copy);
            if copier.only_copies {
                return;
            }
        }
        let datagram = (to_server, from, ecn, bytes);
        let copies = 1 + u64::from(self.random.chance(self.conditions.duplicate));
        for _ in 0..copies {
            self.arrive(out, datagram.clone());
        }
        if self.conditions.replay > 0.0 {
            if self.old.len() < 1000 {
                self.old.push(datagram);
            } else {
                let at = self.random.below(1000) as usize;
                self.old[at] = datagram;
            }
            if self.random.chance(self.conditions.replay) {
                let at = self.random.below(self.old.len() as u64) as usize;
                let again = self.old[at].clone();
                self.arrive(out, again);
            }
        }
    }

    fn arrive(&mut self, out: Time, datagram: Datagram) {
        let jitter = self.conditions.jitter.mul_f64(self.random.uniform());
        self.count += 1;
        self.wire.insert((out + self.conditions.delay + jitter, self.count), datagram);
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to_server, from, ecn, mut bytes) = entry.remove();
            if to_server {
                let slot =
                    self.server.on_datagram(self.now, from, ecn, &mut bytes, &mut self.at_server);
                self.slot = slot.or(self.slot);
            } else if let Some(connection) = &mut self.connection {
                connection.on_datagram(self.now, from, ecn, &mut bytes, &mut self.at_client);
            } else if let Some(initiator) = &mut self.initiator {
                match initiator.on_datagram(self.now, &bytes) {
                    Ok(connection) => self.connection = connection,
                    Err(error) => self.failure = Some(error),
                }
            }
            if !self.conditions.batches {
                self.transmit();
            }
        }
        self.transmit();
    }

    pub fn transmit(&mut self) {
        let mut place = [0; 2048];
        if let Some(connection) = &mut self.connection {
            let mut sent = Vec::new();
            while let Some(out) = connection.transmit(self.now, &mut place) {
                assert!(out.length <= 1472, "longer than the path's packets");
                sent.push((out.ecn, place[..out.length].to_vec()));
            }
            let client = self.client;
            sent.iter().for_each(|(ecn, bytes)| self.put(true, client, *ecn, bytes));
        } else if let Some(initiator) = &mut self.initiator
            && self.failure.is_none()
        {
            match initiator.transmit(self.now, &mut place) {
                Ok(Some(length)) => self.put(true, self.client, Ecn::NotEct, &place[..length]),
                Ok(None) => {}
                Err(error) => self.failure = Some(error),
            }
        }
        let from = SocketAddr::from(SERVER);
        while let Some((to, bytes)) = self.server.take_answer() {
            if to == self.client {
                self.put(false, from, Ecn::NotEct, &bytes);
            }
        }
        while let Some(slot) = self.server.due(self.now) {
            while let Some(out) = self.server.transmit(self.now, slot, &mut place) {
                // Datagrams to an address that the client has left are lost.
                let copier = self.copiers[1].as_ref();
                let passes_on = copier.is_some_and(|copier| copier.address == out.to);
                let is_cut = copier.is_some_and(|copier| copier.only_copies);
                if passes_on || (out.to == self.client && !is_cut) {
                    let bytes = place[..out.length].to_vec();
                    self.put(false, from, out.ecn, &bytes);
                }
            }
            let ended = self.server.connection(slot).is_some_and(|c| c.ended().is_some());
            if ended {
                return;
            }
        }
    }

    /// Runs until `done` returns true, or until `end`; returns false in the latter case.
    pub fn run(&mut self, end: Time, mut done: impl FnMut(&mut TestNetwork) -> bool) -> bool {
        for _ in 0..3_000_000u64 {
            self.deliver();
            if done(self) {
                return true;
            }
            self.transmit();
            let client = match (&self.connection, &self.initiator) {
                (Some(connection), _) => connection.wake(),
                (None, Some(initiator)) => initiator.wake(),
                _ => Time::NEVER,
            };
            let wire = self.wire.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let next = wire.min(client).min(self.server.wake());
            if next > end || self.failure.is_some() {
                return done(self);
            }
            self.now = self.now.max(next);
        }
        panic!("time stands still at {:?}", self.now);
    }
}

/// Sends `data` and returns the network at the end, when both ends know that it has arrived.
pub fn transfer(seed: u64, conditions: PathConditions, offer: Offer, data: &[u8]) -> TestNetwork {
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

pub fn ended_well(network: &mut TestNetwork) {
    let client = network.connection.as_ref().and_then(|c| c.ended().cloned());
    assert_eq!(client, Some(End::Here { code: 0, reason: String::new() }));
    network.run(network.now + Span::from_millis(2000), |_| false);
    let slot = network.slot.expect("a connection");
    let server = network.server.connection(slot).and_then(|c| c.ended().cloned());
    assert_eq!(server, Some(End::There { code: 0, reason: String::new() }));
}

//! Several servers at one address, like the loops of `paceline recv`: their limits apply to all of
//! them together, and one of them may use the whole limit.

use std::net::SocketAddr;

use crate::common::{RecordingSink, SERVER, offer};
use paceline_cc::{Ecn, Time};
use paceline_wire::key::Identity;
use paceline_wire::{
    ConnectError, Connection, ConnectionCounts, Initiator, Limits, Server, ServerLimits,
};

const CONNECTIONS: usize = 64;
const HALF_OPEN: usize = 16;

struct Servers {
    identity: Identity,
    counts: ConnectionCounts,
    all: Vec<Server>,
    clients: u16,
}

impl Servers {
    fn new(count: u8) -> Servers {
        let identity = Identity::generate().expect("random numbers");
        let counts = ConnectionCounts::new();
        let limits = ServerLimits {
            connections: CONNECTIONS,
            half_open: HALF_OPEN,
            half_open_per_address: HALF_OPEN,
            ..ServerLimits::default()
        };
        let server = |number| {
            let server = Server::new(identity.clone(), limits.clone()).expect("random numbers");
            server.numbered(number, &counts)
        };
        let all = (0..count).map(server).collect();
        Servers { identity, counts, all, clients: 0 }
    }

    fn counted(&self) -> (usize, usize) {
        (self.counts.open(), self.counts.half_open())
    }

    /// Does a handshake of a new client with this server; returns `None` without an answer.
    fn shake(
        &mut self,
        now: Time,
        number: usize,
    ) -> Result<Option<(SocketAddr, Connection)>, ConnectError> {
        self.clients += 1;
        let from = SocketAddr::from(([10, 2, 0, 1], self.clients));
        let (to, limits) = (SocketAddr::from(SERVER), Limits::default());
        let mut one = Initiator::new(now, self.identity.key(), to, offer("cubic"), limits)?;
        let (mut place, mut sink) = ([0; 2048], RecordingSink::default());
        let server = &mut self.all[number];
        for _ in 0..2 {
            let length = one.transmit(now, &mut place)?.expect("due");
            server.on_datagram(now, from, Ecn::NotEct, &mut place[..length], &mut sink);
            let Some((_, answer)) = server.take_answer() else { return Ok(None) };
            if let Some(connection) = one.on_datagram(now, &answer)? {
                return Ok(Some((from, connection)));
            }
        }
        Ok(None)
    }

    /// Sends the first packet after the handshake.
    fn establish(&mut self, now: Time, number: usize, (from, mut one): (SocketAddr, Connection)) {
        let (mut place, mut sink) = ([0; 2048], RecordingSink::default());
        one.send_message(b"here".to_vec());
        let out = one.transmit(now, &mut place).expect("a packet");
        let bytes = &mut place[..out.length];
        assert!(self.all[number].on_datagram(now, from, out.ecn, bytes, &mut sink).is_some());
    }

    /// Does the work that is due, and removes connections that have ended.
    fn settle(&mut self, now: Time) {
        let mut place = [0; 2048];
        for server in &mut self.all {
            while let Some(slot) = server.due(now) {
                while server.transmit(now, slot, &mut place).is_some() {}
                if server.connection(slot).is_some_and(|one| one.ended().is_some()) {
                    server.remove(slot);
                }
            }
        }
    }
}

#[test]
fn a_burst_at_one_server_uses_the_whole_limit_and_the_others_wait() {
    let mut servers = Servers::new(8);
    let now = Time::from_millis(1);
    let burst: Vec<_> = (0..HALF_OPEN).filter_map(|_| servers.shake(now, 3).expect("ok")).collect();
    assert_eq!((burst.len(), servers.counted()), (HALF_OPEN, (HALF_OPEN, HALF_OPEN)));
    // All servers are at the limit until connections are no longer half open.
    for number in 0..8 {
        assert!(servers.shake(now, number).expect("no refusal").is_none(), "server {number}");
    }
    for one in burst {
        servers.establish(now, 3, one);
    }
    assert_eq!(servers.counted(), (HALF_OPEN, 0));
    assert_eq!(servers.all[6].open(), (HALF_OPEN, 0), "each tells the counts of all");
    assert!(servers.shake(now, 6).expect("no refusal").is_some());
    assert_eq!(servers.counted(), (HALF_OPEN + 1, 1));
}

#[test]
fn connections_are_limited_over_all_servers_and_all_are_given_back() {
    let mut servers = Servers::new(8);
    let now = Time::from_millis(1);
    // Three quarters of the connections at one server, the rest at the others.
    for n in 0..CONNECTIONS {
        let number = if n % 4 == 3 { n / 4 % 8 } else { 2 };
        let one = servers.shake(now, number).expect("no refusal").expect("room");
        servers.establish(now, number, one);
        assert_eq!(servers.counted(), (n + 1, 0));
    }
    for number in [2, 5] {
        let refused = servers.shake(now, number).map(|_| ());
        let Err(ConnectError::Refused(reason)) = refused else { panic!("{refused:?}") };
        assert!(reason.contains("as many connections as it may have"), "{reason}");
    }
    // Refused clients are not counted, nor, after a while, are silent ones.
    assert_eq!(servers.counted(), (CONNECTIONS, 0));
    servers.settle(Time::from_secs(60));
    assert_eq!(servers.counted(), (0, 0));
}

#[test]
fn abandoned_handshakes_and_ended_servers_leave_the_counts() {
    let mut servers = Servers::new(8);
    let now = Time::from_millis(1);
    for number in (0..8).chain([4, 4, 4]) {
        assert!(servers.shake(now, number).expect("no refusal").is_some());
    }
    assert_eq!(servers.counted(), (11, 11));
    // A server ends, like a loop that fails.
    drop(servers.all.remove(4));
    assert_eq!(servers.counted(), (7, 7));
    servers.settle(Time::from_millis(10_002));
    assert_eq!(servers.counted(), (0, 0));
}

#[test]
fn a_connection_that_is_postponed_waits_for_the_others_and_no_longer() {
    let mut servers = Servers::new(1);
    let now = Time::from_millis(1);
    for _ in 0..2 {
        let (from, one) = servers.shake(now, 0).expect("no refusal").expect("room");
        servers.establish(now, 0, (from, one));
    }
    let server = &mut servers.all[0];
    let slots: Vec<usize> = server.slots().collect();
    for slot in &slots {
        server.connection(*slot).expect("a connection").send_message(b"busy".to_vec());
        server.reschedule(*slot);
    }
    let first = server.due(now).expect("both are");
    server.postpone(now, first);
    let second = server.due(now).expect("the other one");
    assert_ne!(first, second);
    server.postpone(now, second);
    assert_eq!(server.due(now), None, "each has had its turn");
    assert!(
        server.wake() <= now + paceline_cc::Span::from_micros(1),
        "and the next follows at once"
    );
}

//! A thousand connections at once on one server.

use std::collections::VecDeque;
use std::net::SocketAddr;

use crate::common::{RecordingSink, SERVER, offer};
use paceline_cc::{Ecn, Span, Time};
use paceline_wire::key::Identity;
use paceline_wire::{Connection, Initiator, Limits, Server, ServerLimits, Sink};

const MANY: usize = 1000;
const BYTES: usize = 20_000;

struct Client {
    at: SocketAddr,
    initiator: Initiator,
    connection: Option<Connection>,
    written: usize,
}

/// Counts the bytes of each connection and checks that they are its own.
#[derive(Default)]
struct Streams(std::collections::BTreeMap<u32, (u8, usize)>);

impl Sink for Streams {
    fn on_stream(&mut self, connection: u32, bytes: &[u8]) {
        let entry = self.0.entry(connection).or_insert((bytes[0], 0));
        assert!(bytes.iter().all(|&byte| byte == entry.0), "bytes of another connection");
        entry.1 += bytes.len();
    }
}

#[test]
fn a_thousand_connections_at_once_carry_their_own_bytes() {
    let identity = Identity::generate().expect("random numbers");
    // All of them do their handshakes within one round trip.
    let limits = ServerLimits { half_open: MANY, ..ServerLimits::default() };
    let mut server = Server::new(identity.clone(), limits).expect("random numbers");
    let to = SocketAddr::from(SERVER);
    let mut clients: Vec<Client> = (0..MANY)
        .map(|n| {
            let made =
                Initiator::new(Time::ZERO, identity.key(), to, offer("cubic"), Limits::default());
            let at = SocketAddr::from(([10, 0, (n >> 8) as u8, n as u8], 4000));
            Client { at, initiator: made.expect("a good offer"), connection: None, written: 0 }
        })
        .collect();
    let by_address = |from: SocketAddr| match from {
        SocketAddr::V4(at) => {
            let [_, _, high, low] = at.ip().octets();
            usize::from(high) << 8 | usize::from(low)
        }
        SocketAddr::V6(_) => MANY,
    };
    let (mut streams, mut nobody) = (Streams::default(), RecordingSink::default());
    let (mut place, mut back) = (vec![0; 2048], VecDeque::new());
    let mut most_open = 0;
    for step in 0..2000u64 {
        // 5 ms each way.
        let now = Time::from_millis(10 * step);
        for (n, client) in clients.iter_mut().enumerate() {
            let mut out = Vec::new();
            if let Some(connection) = &mut client.connection {
                while client.written < BYTES {
                    let piece = [n as u8; 1000];
                    let took = connection.write(&piece[..(BYTES - client.written).min(1000)]);
                    client.written += took;
                }
                while let Some(packet) = connection.transmit(now, &mut place) {
                    out.push((packet.ecn, place[..packet.length].to_vec()));
                }
            } else if let Ok(Some(length)) = client.initiator.transmit(now, &mut place) {
                out.push((Ecn::NotEct, place[..length].to_vec()));
            }
            for (ecn, mut bytes) in out {
                server.on_datagram(now, client.at, ecn, &mut bytes, &mut streams);
                back.extend(server.take_answer());
            }
        }
        most_open = most_open.max(server.open().0);
        let later = now + Span::from_millis(5);
        while let Some(slot) = server.due(later) {
            while let Some(out) = server.transmit(later, slot, &mut place) {
                back.push_back((out.to, place[..out.length].to_vec()));
            }
        }
        for (to, mut bytes) in back.drain(..) {
            let client = &mut clients[by_address(to)];
            match &mut client.connection {
                Some(connection) => {
                    let from = SocketAddr::from(SERVER);
                    connection.on_datagram(later, from, Ecn::NotEct, &mut bytes, &mut nobody);
                }
                None => {
                    let made = client.initiator.on_datagram(later, &bytes);
                    client.connection = made.expect("no refusal");
                }
            }
        }
        let drained = |client: &Client| {
            client.written == BYTES && client.connection.as_ref().is_some_and(|c| c.is_drained())
        };
        if clients.iter().all(drained) {
            break;
        }
    }
    assert_eq!((most_open, server.open()), (MANY, (MANY, 0)));
    assert_eq!(streams.0.len(), MANY);
    assert!(streams.0.values().all(|&(_, bytes)| bytes == BYTES));
}

//! A client on crate `paceline-wire` that sends any stream and any datagrams that a test needs.
#![allow(dead_code, reason = "each test program uses a part")]

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use paceline_cc::{Ecn, Time};
use paceline_wire::key::Key;
use paceline_wire::{Connection, End, Initiator, Limits, Offer, Service, Sink};

/// Longest time for one step of a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Datagrams received from a connection.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) datagrams: Vec<Vec<u8>>,
}

impl Sink for Heard {
    fn on_datagram(&mut self, _connection: u32, bytes: &[u8]) {
        self.datagrams.push(bytes.to_vec());
    }
}

/// A connection that a test drives.
pub(crate) struct RawClient {
    socket: UdpSocket,
    start: Instant,
    pub(crate) connection: Connection,
    pub(crate) heard: Heard,
}

/// An offer of a stream under Cubic.
pub(crate) fn stream() -> Offer {
    Offer { scheme: "cubic".into(), mtu: 1500, window: 1 << 20, ..Offer::default() }
}

/// An offer of datagrams both ways under Cubic.
pub(crate) fn datagrams() -> Offer {
    Offer { service: Service::Datagrams, back: "cubic".into(), ..stream() }
}

/// Makes a handshake. Sends nothing after it.
///
/// # Errors
/// The server refuses, or does not answer.
pub(crate) fn shake(at: &str, key: &str, offer: Offer) -> Result<RawClient, String> {
    let to: SocketAddr = at.parse().expect("an address");
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let key = Key::parse(key).expect("a key");
    let start = Instant::now();
    let limits = Limits::default();
    let mut initiator = Initiator::new(Time::ZERO, &key, to, offer, limits).expect("a good offer");
    let mut place = [0; 65_536];
    loop {
        let now = Time::from_nanos(start.elapsed().as_nanos() as u64);
        while let Some(length) =
            initiator.transmit(now, &mut place).map_err(|error| error.to_string())?
        {
            socket.send_to(&place[..length], to).expect("loopback");
        }
        let Ok((length, _)) = socket.recv_from(&mut place) else { continue };
        let made = initiator.on_datagram(now, &place[..length]);
        if let Some(connection) = made.map_err(|error| error.to_string())? {
            return Ok(RawClient { socket, start, connection, heard: Heard::default() });
        }
    }
}

impl RawClient {
    /// Sends packets that are due, and reads those that arrive within 20 ms.
    pub(crate) fn turn(&mut self) {
        let mut place = [0; 65_536];
        let now = || Time::from_nanos(self.start.elapsed().as_nanos() as u64);
        for _ in 0..256 {
            let Some(out) = self.connection.transmit(now(), &mut place) else { break };
            self.socket.send_to(&place[..out.length], out.to).expect("loopback");
        }
        if let Ok((length, from)) = self.socket.recv_from(&mut place) {
            let bytes = &mut place[..length];
            self.connection.on_datagram(now(), from, Ecn::NotEct, bytes, &mut self.heard);
        }
    }

    /// Continues until `done`. Returns false if the connection ends first, or after a minute.
    pub(crate) fn until(&mut self, mut done: impl FnMut(&mut RawClient) -> bool) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if done(self) {
                return true;
            }
            if self.connection.ended().is_some() {
                return false;
            }
            self.turn();
        }
        false
    }

    /// Sends these bytes as the stream. Returns when all have arrived, or when the connection has
    /// ended.
    pub(crate) fn send_stream(&mut self, bytes: &[u8]) -> bool {
        let mut sent = 0;
        self.until(|client| {
            sent += client.connection.write(&bytes[sent..]);
            sent == bytes.len() && client.connection.is_drained()
        })
    }

    /// Closes the connection. Returns how it has ended.
    pub(crate) fn close(mut self) -> Option<End> {
        self.connection.close(0, "");
        self.until(|client| client.connection.ended().is_some());
        self.connection.ended().cloned()
    }
}

//! A server of several event loops over UDP: its limits apply to all loops together.

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use paceline_cc::{Ecn, Time};
use paceline_transfer::udp::{Event, ServerOptions, Target, serve};
use paceline_wire::key::{Identity, Key};
use paceline_wire::{ConnectError, Connection, End, Initiator, Limits, Offer, ServerLimits, Sink};

const CONNECTIONS: usize = 40;
const HALF_OPEN: usize = 24;

struct DiscardingSink;
impl Sink for DiscardingSink {}

/// Maximum time of any step before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Clients of the server, several per socket: all handshakes of a socket reach the same loop.
struct Clients {
    key: Key,
    to: SocketAddr,
    begun: Instant,
    /// A message for each connection that the server has ended.
    ended: mpsc::Receiver<()>,
}

impl Clients {
    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.begun.elapsed().as_nanos()).expect("not that long"))
    }

    fn socket(&self) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
        socket
    }

    /// Makes a handshake. Returns `None` if the server has not answered it twice.
    fn shake(&self, socket: &UdpSocket) -> Result<Option<Connection>, ConnectError> {
        let offer =
            Offer { scheme: "cubic".into(), mtu: 1500, window: 1 << 20, ..Offer::default() };
        let began = self.now();
        let mut one = Initiator::new(began, &self.key, self.to, offer, Limits::default())?;
        let (mut place, mut sent) = (vec![0; 2048], 0);
        // The server answers the first packet with a cookie; it should answer each further one with
        // a connection.
        while sent < 4 {
            if let Some(length) = one.transmit(self.now(), &mut place)? {
                sent += 1;
                socket.send_to(&place[..length], self.to).expect("sent");
            }
            if let Ok((length, _)) = socket.recv_from(&mut place)
                && let Some(connection) = one.on_datagram(self.now(), &place[..length])?
            {
                return Ok(Some(connection));
            }
        }
        Ok(None)
    }

    /// Sends the packets that a connection has to send now.
    fn flush(&self, socket: &UdpSocket, one: &mut Connection) {
        let mut place = vec![0; 2048];
        while let Some(out) = one.transmit(self.now(), &mut place) {
            socket.send_to(&place[..out.length], self.to).expect("sent");
        }
    }

    /// Shows the server that this end has the keys, and waits until the server knows.
    fn establish(&self, socket: &UdpSocket, one: &mut Connection) {
        one.send_message(b"here".to_vec());
        let (mut place, end) = (vec![0; 2048], Instant::now() + PATIENCE);
        while Instant::now() < end {
            self.flush(socket, one);
            if let Ok((length, from)) = socket.recv_from(&mut place) {
                let bytes = &mut place[..length];
                if one.on_datagram(self.now(), from, Ecn::NotEct, bytes, &mut DiscardingSink) {
                    return;
                }
            }
        }
        panic!("the server does not answer");
    }
}

fn burst(clients: &Clients) {
    let (first, second) = (clients.socket(), clients.socket());
    let mut all = Vec::new();
    for n in 0..HALF_OPEN {
        let one = clients.shake(&first).expect("no refusal");
        all.push(one.unwrap_or_else(|| panic!("one loop has room for all, not for {n}")));
    }
    // Neither this loop nor another one has room now.
    for socket in [&first, &second] {
        assert!(clients.shake(socket).expect("no refusal").is_none());
    }
    all.iter_mut().for_each(|one| clients.establish(&first, one));
    // Established connections do not count as half-open: all loops have room for others, until the
    // limit of connections is reached.
    for _ in HALF_OPEN..CONNECTIONS {
        let one = clients.shake(&second).expect("no refusal");
        all.push(one.expect("there is room again"));
    }
    for socket in [&first, &second] {
        let refused = clients.shake(socket).map(|_| ());
        let Err(ConnectError::Refused(reason)) = refused else { panic!("{refused:?}") };
        assert!(reason.contains("as many connections as it may have"), "{reason}");
    }
    // The end of the first connection ends the server.
    let one = &mut all[0];
    one.close(0, "");
    clients.flush(&first, one);
}

/// Runs a server of `loops` loops that ends with its first connection, while `clients` runs.
/// Returns whether all connections ended without an error, and the server's events about
/// connections: that they began, or why they ended.
fn serve_once(
    loops: usize,
    clients: impl FnOnce(&Clients) + Send + 'static,
) -> (bool, Vec<Option<String>>) {
    let identity = Identity::generate().expect("random numbers");
    let key = identity.key().clone();
    let limits =
        ServerLimits { connections: CONNECTIONS, half_open: HALF_OPEN, ..ServerLimits::default() };
    let options = ServerOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        identity,
        clients: None,
        outlives_hangup: false,
        limits,
        loops: loops.try_into().expect("not zero"),
        realtime: false,
        target: Target::Nowhere,
        outside_links: false,
        disk: paceline_transfer::udp::DiskLimits::default(),
        once: true,
        qlog: None,
        series: false,
        progress: None,
    };
    let (listening, at) = mpsc::channel();
    let (tell_ended, ended) = mpsc::channel();
    let clients = thread::spawn(move || {
        let to = at.recv().expect("an address");
        clients(&Clients { key, to, begun: Instant::now(), ended });
    });
    let mut told = Vec::new();
    let good = serve(&options, &mut |event| match event {
        Event::Listening(at) => listening.send(at).expect("somebody waits"),
        Event::Connected(_) => told.push(None),
        Event::Ended { reason, .. } => {
            told.push(Some(reason));
            // The clients may already be finished.
            let _ = tell_ended.send(());
        }
        _ => {}
    });
    clients.join().expect("no panic");
    (good.expect("a server"), told)
}

#[test]
fn a_burst_at_one_of_eight_loops_may_use_the_limits_of_the_whole_server() {
    let (good, told) = serve_once(8, burst);
    assert!(good);
    assert_eq!(told.iter().filter(|told| told.is_none()).count(), CONNECTIONS);
}

/// One client is silent after its handshake. Of two others, the first closes its connection; the
/// second waits for the server's message.
fn silent_and_others(clients: &Clients) {
    let sockets = [(); 3].map(|()| clients.socket());
    let shake = |socket| clients.shake(socket).expect("no refusal").expect("a connection");
    let _silent = shake(&sockets[0]);
    // After 5 s the server removes the silent client and continues.
    clients.ended.recv_timeout(PATIENCE).expect("it is forgotten");
    let [mut first, mut second] = [1, 2].map(|at| shake(&sockets[at]));
    clients.establish(&sockets[1], &mut first);
    clients.establish(&sockets[2], &mut second);
    first.close(0, "");
    clients.flush(&sockets[1], &mut first);
    let (mut place, end) = (vec![0; 2048], Instant::now() + PATIENCE);
    while second.ended().is_none() && Instant::now() < end {
        clients.flush(&sockets[2], &mut second);
        if let Ok((length, from)) = sockets[2].recv_from(&mut place) {
            let bytes = &mut place[..length];
            second.on_datagram(clients.now(), from, Ecn::NotEct, bytes, &mut DiscardingSink);
        }
    }
    let Some(End::There { code: 1, reason }) = second.ended() else {
        panic!("not told: {:?}", second.ended())
    };
    assert!(reason.contains("the receiver has ended"), "{reason}");
}

#[test]
fn a_handshake_alone_does_not_end_a_server_and_its_end_is_told_to_all() {
    let (good, told) = serve_once(2, silent_and_others);
    assert!(good, "{told:?}");
    let reasons: Vec<&String> = told.iter().flatten().collect();
    assert!(reasons[0].contains("nothing came after the handshake"), "{told:?}");
    assert!(reasons.iter().any(|reason| reason.is_empty()), "{told:?}");
    assert!(reasons.iter().any(|reason| reason.contains("the receiver has ended")), "{told:?}");
}

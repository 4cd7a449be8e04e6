//! The Saturator's server, and an attacker who records a client's packets and replays them.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use paceline_cc::Span;
use paceline_transfer::saturate::window::Rule;
use paceline_transfer::saturate::{ClientOptions, Event, ServerOptions, client, server};
use paceline_wire::key::{Identity, Key};
use paceline_wire::saturator::{Body, COOKIE, Channel, Codec, HELLO, SessionCodec, new_nonce};

/// Maximum time of any step before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

struct Client {
    codec: Codec,
    to: SocketAddr,
    /// Sockets of the link and of the feedback way.
    ways: [UdpSocket; 2],
}

impl Client {
    fn new(codec: Codec, to: SocketAddr) -> Client {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
            socket
        };
        Client { codec, to, ways: [socket(), socket()] }
    }

    /// Sends hellos on both ways until the server knows both.
    fn connect(&self, session: u64) -> SessionCodec {
        let nonce = new_nonce().expect("random numbers");
        let mut its = None;
        for channel in [Channel::Link, Channel::Feedback] {
            let mut cookie = [0; COOKIE];
            let (began, mut ready) = (Instant::now(), false);
            while !ready {
                assert!(began.elapsed() < PATIENCE, "the server does not answer");
                let (size, window) = (1400, 1000);
                let (up, down, thesis) = (true, true, false);
                let hello = Body::Hello { channel, up, down, size, window, thesis, nonce, cookie };
                let mut place = [0; 1024];
                let length = self.codec.write(session, hello, HELLO, &mut place).expect("room");
                let way = &self.ways[channel as usize];
                way.send_to(&place[..length], self.to).expect("sent");
                let Ok((length, _)) = way.recv_from(&mut place) else { continue };
                match self.codec.read(&place[..length]).map(|message| message.body) {
                    Ok(Body::Retry { cookie: new, .. }) => cookie = new,
                    Ok(Body::Ready { nonce, .. }) => (ready, its) = (true, Some(nonce)),
                    _ => {}
                }
            }
        }
        self.codec.session(session, &nonce, &its.expect("an answer"))
    }

    /// Reads acknowledgements from the feedback way until it stays silent for a while. Returns
    /// their number.
    fn acks(&self, codec: &mut SessionCodec) -> usize {
        let (mut place, mut count) = ([0; 2048], 0);
        while let Ok((length, _)) = self.ways[1].recv_from(&mut place) {
            count += usize::from(matches!(codec.read(&place[..length]), Ok(Body::Ack { .. })));
        }
        count
    }
}

#[test]
fn recorded_packets_are_not_answered_whoever_sends_them_again() {
    let (serving, to, key) = serving();
    let client = Client::new(Codec::new(&key, true), to);
    let mut codec = client.connect(7);
    let mut data = [0; 1472];
    let body = Body::Data { number: 0, sent: 1, steady: false };
    let length = codec.write(body, 1400, &mut data).expect("room");
    let [link, feedback] = &client.ways;
    let began = Instant::now();
    link.send_to(&data[..length], to).expect("sent");
    while client.acks(&mut codec) == 0 {
        assert!(began.elapsed() < PATIENCE, "data is acknowledged");
    }
    // Replays the recorded packet: from its own address, from another one, and truncated.
    let other = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for _ in 0..100 {
        for bytes in [&data[..length], &data[..56], &data[..80]] {
            for from in [link, feedback, &other] {
                from.send_to(bytes, to).expect("sent");
            }
        }
    }
    assert_eq!(client.acks(&mut codec), 0, "none of them is answered");
    // The server also ignores a new packet from an address without a hello, and accepts a new one
    // from the link's address.
    let new = Body::Data { number: 1, sent: 2, steady: false };
    let length = codec.write(new, 1400, &mut data).expect("room");
    other.send_to(&data[..length], to).expect("sent");
    assert_eq!(client.acks(&mut codec), 0);
    let began = Instant::now();
    link.send_to(&data[..length], to).expect("sent");
    while client.acks(&mut codec) == 0 {
        assert!(began.elapsed() < PATIENCE, "data is acknowledged");
    }
    let length = codec.write(Body::End, 0, &mut data).expect("room");
    feedback.send_to(&data[..length], to).expect("sent");
    assert_eq!(serving.join().expect("no panic"), Ok(true));
}

/// Runs a server on its own thread. Returns the thread, the server's address and its key.
fn serving() -> (std::thread::JoinHandle<Result<bool, String>>, SocketAddr, Key) {
    let identity = Identity::generate().expect("random numbers");
    let key = identity.key().clone();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServerOptions { listen, identity, once: true };
    let (events, told) = mpsc::channel();
    let serving = std::thread::spawn(move || {
        server(&options, &mut |event| drop(events.send(event))).map_err(|error| error.to_string())
    });
    let Ok(Event::Listening(to)) = told.recv_timeout(PATIENCE) else { panic!("no server") };
    (serving, to, key)
}

fn options(to: Vec<SocketAddr>, key: Key, duration: Span) -> ClientOptions {
    ClientOptions {
        to,
        key,
        link: None,
        feedback: None,
        up: true,
        down: false,
        duration,
        size: 1500,
        window: 200,
        rule: Rule::Delivery,
        patience: Span::from_secs(60),
    }
}

#[test]
fn a_silent_address_is_passed_over() {
    let (serving, to, key) = serving();
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let first = silent.local_addr().expect("an address");
    let options = options(vec![first, to], key, Span::from_millis(500));
    let measured = client(&options, &mut |_| {}).expect("the second address answers");
    assert_eq!(measured.problem, None);
    assert!(measured.up.is_some_and(|up| up.sent.sent > 0));
    assert_eq!(serving.join().expect("no panic"), Ok(true));
}

/// Relays datagrams between a client and a server with a delay of half a second each way, until
/// `ends` is closed.
fn relay(to: SocketAddr, ends: mpsc::Receiver<()>) -> SocketAddr {
    const DELAY: Duration = Duration::from_millis(500);
    let front = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    front.set_nonblocking(true).expect("a socket");
    let at = front.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut ways: Vec<(SocketAddr, UdpSocket)> = Vec::new();
        // Time, way, direction (true to the server) and bytes of each datagram.
        let mut waiting: VecDeque<(Instant, usize, bool, Vec<u8>)> = VecDeque::new();
        let mut place = [0; 2048];
        while ends.try_recv() == Err(mpsc::TryRecvError::Empty) {
            while let Ok((length, from)) = front.recv_from(&mut place) {
                let known = ways.iter().position(|(client, _)| *client == from);
                let way = known.unwrap_or_else(|| {
                    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
                    socket.connect(to).expect("a socket");
                    socket.set_nonblocking(true).expect("a socket");
                    ways.push((from, socket));
                    ways.len() - 1
                });
                waiting.push_back((Instant::now() + DELAY, way, true, place[..length].to_vec()));
            }
            for (way, (_, socket)) in ways.iter().enumerate() {
                while let Ok(length) = socket.recv(&mut place) {
                    let bytes = place[..length].to_vec();
                    waiting.push_back((Instant::now() + DELAY, way, false, bytes));
                }
            }
            while waiting.front().is_some_and(|(due, ..)| *due <= Instant::now()) {
                let Some((_, way, up, bytes)) = waiting.pop_front() else { break };
                // A datagram that does not fit into the socket's buffer is lost, as on any link.
                let _ = match up {
                    true => ways[way].1.send(&bytes),
                    false => front.send_to(&bytes, ways[way].0),
                };
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    at
}

#[test]
fn what_was_measured_is_kept_if_the_server_falls_silent() {
    let (_serving, to, key) = serving();
    let (cut, ends) = mpsc::channel::<()>();
    let at = relay(to, ends);
    let mut options = options(vec![at], key, Span::from_secs(600));
    options.patience = Span::from_secs(15);
    // The path is cut after the first time that the traces should be written.
    let (mut cut, mut flushed) = (Some(cut), 0);
    let measured = client(&options, &mut |so_far| {
        flushed = so_far.up.as_ref().map_or(0, |up| up.recorded.packets);
        cut = None;
    });
    let measured = measured.expect("what was measured");
    let problem = measured.problem.expect("it was cut off");
    assert!(problem.contains("no packet from"), "{problem}");
    let up = measured.up.expect("a direction").recorded;
    assert!(flushed > 0 && up.packets >= flushed && !up.opportunities.is_empty(), "{flushed}");
}

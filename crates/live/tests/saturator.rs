//! The Saturator's server, and somebody who records a client's packets and sends them again.

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use paceline_live::saturate::{Event, ServerOptions, server};
use paceline_wire::key::Identity;
use paceline_wire::saturator::{Body, COOKIE, Channel, Codec, HELLO, SessionCodec, new_nonce};

/// How long anything may take before the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

struct Client {
    codec: Codec,
    to: SocketAddr,
    /// The link and the way of acknowledgements.
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

    /// Says hello on both ways until the server knows both.
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

    /// Reads what has come on the way of acknowledgements, until nothing comes for a while.
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
    let identity = Identity::generate().expect("random numbers");
    let key = identity.key().clone();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServerOptions { listen, identity, once: true };
    let (events, told) = mpsc::channel();
    let serving = std::thread::spawn(move || {
        server(&options, &mut |event| drop(events.send(event))).map_err(|error| error.to_string())
    });
    let Ok(Event::Listening(to)) = told.recv_timeout(PATIENCE) else { panic!("no server") };
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
    // The recorded packet again: from its own address, from another one, and cut short.
    let other = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for _ in 0..100 {
        for bytes in [&data[..length], &data[..56], &data[..80]] {
            for from in [link, feedback, &other] {
                from.send_to(bytes, to).expect("sent");
            }
        }
    }
    assert_eq!(client.acks(&mut codec), 0, "none of them is answered");
    // A new packet from an address that has said no hello is not taken either, and a new one of the link is.
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

//! A hostile holder of a server's key string: handshakes that this crate's client does not send.

use std::net::SocketAddr;

use paceline_cc::{Ecn, Time};
use paceline_wire::Server;
use paceline_wire::key::{Identity, Key};
use paceline_wire::packet::{Initiation, Packet, Response};
use ring::hmac;

/// The bytes of base 64 with `-` and `_`.
fn decode(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'-' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        let word = chunk.iter().fold(0u32, |word, &c| word << 6 | u32::from(digit(c)));
        let word = word << (6 * (4 - chunk.len()));
        bytes.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    bytes
}

/// The key of codes for this purpose (docs/wire.md).
fn code_key(key: &Key, purpose: &[u8]) -> hmac::Key {
    let text = key.to_string();
    let bytes = decode(text.strip_prefix("pl1-").expect("a key"));
    let root = hmac::Key::new(hmac::HMAC_SHA256, &bytes[32..64]);
    let secret = hmac::sign(&root, &[purpose, &bytes[..32]].concat());
    hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref())
}

/// Returns the same initiation with `length` bytes, and a valid authentication code.
pub fn resized(key: &Key, datagram: &[u8], length: usize) -> Vec<u8> {
    let Ok(Packet::Initiation(packet)) = Packet::read(datagram) else { panic!("no initiation") };
    let key = code_key(key, b"paceline initiation");
    let mac = |covered: &[u8]| hmac::sign(&key, covered).as_ref().try_into().expect("32 bytes");
    let mut bytes = vec![0; length.max(1200)];
    Initiation::write(packet.sender, packet.cookie, packet.noise, mac, length, &mut bytes)
        .expect("room");
    bytes
}

/// Public key and shared secret of a key string.
fn secrets(key: &Key) -> ([u8; 32], [u8; 32]) {
    let text = key.without_client().to_string();
    let bytes = decode(text.strip_prefix("pl1-").expect("a key"));
    (bytes[..32].try_into().expect("32 bytes"), bytes[32..64].try_into().expect("32 bytes"))
}

/// The answer of a server of this identity to an initiation: a good handshake with any bytes as its answer.
pub fn response(identity: &Identity, initiation: &[u8], answer: &[u8]) -> Vec<u8> {
    let Ok(Packet::Initiation(packet)) = Packet::read(initiation) else { panic!("no initiation") };
    let text = identity.to_text();
    let private = decode(text.lines().nth(1).expect("a second line"));
    let (_, shared) = secrets(identity.key());
    let mut state = noise(|builder| {
        builder.local_private_key(&private[..32])?.psk(0, &shared)?.build_responder()
    });
    let mut place = vec![0; 2048];
    state.read_message(packet.noise, &mut place).expect("a good initiation");
    let length = state.write_message(answer, &mut place).expect("room");
    let response = Response { receiver: packet.sender, sender: 9, noise: &place[..length] };
    let mut bytes = vec![0; 2048];
    let length = response.write(&mut bytes).expect("room");
    bytes.truncate(length);
    bytes
}

/// One end of the handshake (docs/wire.md).
fn noise(
    build: impl FnOnce(snow::Builder<'_>) -> Result<snow::HandshakeState, snow::Error>,
) -> snow::HandshakeState {
    let pattern = "Noise_IKpsk0_25519_ChaChaPoly_SHA256".parse().expect("a pattern");
    let builder = snow::Builder::new(pattern).prologue(b"paceline wire 4");
    builder.and_then(build).expect("good keys")
}

/// A client that offers any bytes in a good handshake.
pub struct HostileClient {
    key: Key,
    state: snow::HandshakeState,
    message: Vec<u8>,
    /// The server's identifier of the connection, once it has answered.
    pub remote: u32,
}

impl HostileClient {
    /// A client with a random key of its own.
    pub fn new(key: &Key, offer: &[u8]) -> HostileClient {
        let private: [u8; 32] = ring::rand::generate(&ring::rand::SystemRandom::new())
            .expect("random numbers")
            .expose();
        let (public, shared) = secrets(key);
        let mut state = noise(|builder| {
            let builder = builder.remote_public_key(&public)?.local_private_key(&private)?;
            builder.psk(0, &shared)?.build_initiator()
        });
        let mut message = vec![0; offer.len() + 128];
        let length = state.write_message(offer, &mut message).expect("room");
        message.truncate(length);
        HostileClient { key: key.clone(), state, message, remote: 0 }
    }

    /// The initiation with this cookie.
    pub fn initiation(&self, cookie: Option<&[u8; 40]>) -> Vec<u8> {
        let key = code_key(&self.key, b"paceline initiation");
        let mac = |covered: &[u8]| hmac::sign(&key, covered).as_ref().try_into().expect("32 bytes");
        let mut bytes = vec![0; 2048];
        let length = Initiation::write(7, cookie, &self.message, mac, 1200, &mut bytes);
        bytes.truncate(length.expect("room"));
        bytes
    }

    /// Takes an answer in: the next initiation, or what the server has said in the handshake.
    pub fn on_answer(&mut self, answer: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
        match Packet::read(answer) {
            Ok(Packet::Retry(retry)) => Ok(self.initiation(Some(retry.cookie))),
            Ok(Packet::Response(response)) => {
                self.remote = response.sender;
                let mut said = vec![0; response.noise.len()];
                let length = self.state.read_message(response.noise, &mut said).expect("it fits");
                said.truncate(length);
                Err(said)
            }
            other => panic!("no answer to an initiation: {other:?}"),
        }
    }

    /// The whole handshake with a server in this process. Returns what it has said, if it has answered.
    pub fn shake(&mut self, server: &mut Server, now: Time, from: SocketAddr) -> Option<Vec<u8>> {
        let mut sink = super::RecordingSink::default();
        let mut bytes = self.initiation(None);
        for _ in 0..2 {
            server.on_datagram(now, from, Ecn::NotEct, &mut bytes, &mut sink);
            let (_, answer) = server.take_answer()?;
            match self.on_answer(&answer) {
                Ok(next) => bytes = next,
                Err(said) => return Some(said),
            }
        }
        None
    }
}

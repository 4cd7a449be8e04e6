//! A hostile owner of a server's key string, which does handshakes that this crate's client never
//! does.

use std::net::SocketAddr;

use paceline_cc::{Ecn, Time};
use paceline_wire::Server;
use paceline_wire::key::{Identity, Key};
use paceline_wire::packet::{Initiation, Packet, Response};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;

/// Decodes base 64 with `-` and `_`.
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

/// Returns the key of authentication codes for this purpose (docs/wire.md).
fn code_key(key: &Key, purpose: &[u8]) -> hmac::Key {
    let text = key.to_string();
    let bytes = decode(text.strip_prefix("pl1-").expect("a key"));
    let root = hmac::Key::new(hmac::HMAC_SHA256, &bytes[32..64]);
    let secret = hmac::sign(&root, &[purpose, &bytes[..32]].concat());
    hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref())
}

/// Returns this initiation with `length` bytes, and a valid authentication code.
pub fn resized(key: &Key, datagram: &[u8], length: usize) -> Vec<u8> {
    let Ok(Packet::Initiation(packet)) = Packet::read(datagram) else { panic!("no initiation") };
    let key = code_key(key, b"paceline initiation");
    let mac = |covered: &[u8]| hmac::sign(&key, covered).as_ref().try_into().expect("32 bytes");
    let mut bytes = vec![0; length.max(1200)];
    Initiation::write(packet.sender, packet.cookie, packet.noise, mac, length, &mut bytes)
        .expect("room");
    bytes
}

/// Returns the public key and the shared secret of a key string.
fn secrets(key: &Key) -> ([u8; 32], [u8; 32]) {
    let text = key.without_client().to_string();
    let bytes = decode(text.strip_prefix("pl1-").expect("a key"));
    (bytes[..32].try_into().expect("32 bytes"), bytes[32..64].try_into().expect("32 bytes"))
}

/// Returns a valid response of a server with this identity to an initiation, with arbitrary bytes
/// as its answer.
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

/// Returns one end of the handshake (docs/wire.md).
fn noise(
    build: impl FnOnce(snow::Builder<'_>) -> Result<snow::HandshakeState, snow::Error>,
) -> snow::HandshakeState {
    let pattern = "Noise_IKpsk0_25519_ChaChaPoly_SHA256".parse().expect("a pattern");
    let builder = snow::Builder::new(pattern).prologue(b"paceline wire 4");
    builder.and_then(build).expect("good keys")
}

/// A client that offers arbitrary bytes in a valid handshake.
pub struct HostileClient {
    key: Key,
    state: snow::HandshakeState,
    message: Vec<u8>,
    /// The server's identifier of the connection, once the server has answered.
    pub remote: u32,
    /// The key for packets to the server.
    seal: Option<LessSafeKey>,
    /// The number of the next packet.
    pub number: u64,
}

/// Returns an offer as the library writes it: packets of 1228 bytes, under Cubic, with the
/// responder's scheme.
pub fn offer(service: u8, back: &str) -> Vec<u8> {
    let mut bytes = vec![0, service];
    bytes.extend(1228u16.to_be_bytes());
    bytes.extend((1u64 << 20).to_be_bytes());
    // True: the window grows by frames.
    bytes.push(1);
    // Idle time and keepalive interval, in ms.
    bytes.extend(10_000u32.to_be_bytes());
    bytes.extend(25_000u32.to_be_bytes());
    for scheme in ["cubic", back] {
        bytes.extend((scheme.len() as u16).to_be_bytes());
        bytes.extend(scheme.as_bytes());
    }
    bytes
}

/// Returns a data frame of this kind (docs/wire.md): transmission number, segment, bytes.
pub fn data(kind: u8, number: u64, segment: u64, bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    frame.extend(&number.to_be_bytes()[2..]);
    frame.extend(&segment.to_be_bytes()[1..]);
    frame.push(0);
    frame.extend([0; 6]);
    frame.extend(bytes);
    frame
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl HostileClient {
    /// Returns a client with a random key of its own.
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
        HostileClient { key: key.clone(), state, message, remote: 0, seal: None, number: 0 }
    }

    /// Returns the initiation with this cookie.
    pub fn initiation(&self, cookie: Option<&[u8; 40]>) -> Vec<u8> {
        let key = code_key(&self.key, b"paceline initiation");
        let mac = |covered: &[u8]| hmac::sign(&key, covered).as_ref().try_into().expect("32 bytes");
        let mut bytes = vec![0; 2048];
        let length = Initiation::write(7, cookie, &self.message, mac, 1200, &mut bytes);
        bytes.truncate(length.expect("room"));
        bytes
    }

    /// Takes an answer in. Returns the next initiation, or as an error the server's answer in the
    /// handshake.
    pub fn on_answer(&mut self, answer: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
        match Packet::read(answer) {
            Ok(Packet::Retry(retry)) => Ok(self.initiation(Some(retry.cookie))),
            Ok(Packet::Response(response)) => {
                self.remote = response.sender;
                let mut said = vec![0; response.noise.len()];
                let length = self.state.read_message(response.noise, &mut said).expect("it fits");
                said.truncate(length);
                let keys = self.state.dangerously_get_raw_split();
                let key = UnboundKey::new(&CHACHA20_POLY1305, &keys.0).expect("a key");
                self.seal = Some(LessSafeKey::new(key));
                Err(said)
            }
            other => panic!("no answer to an initiation: {other:?}"),
        }
    }

    /// Returns the connection's next packet, authentic, with these frames.
    pub fn packet(&mut self, frames: &[u8]) -> Vec<u8> {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.packet_of(number, &[0x10], frames)
    }

    /// Returns an authentic packet with this number and this congestion header.
    pub fn packet_of(&self, number: u64, header: &[u8], frames: &[u8]) -> Vec<u8> {
        let seal = self.seal.as_ref().expect("the handshake is done");
        let mut packet = vec![0x41];
        packet.extend(self.remote.to_be_bytes());
        packet.extend(number.to_be_bytes());
        let mut payload = frames.to_vec();
        let covered = Aad::from(packet.clone());
        let tag = seal.seal_in_place_separate_tag(nonce(number), covered, &mut payload);
        packet.extend(header);
        packet.extend(payload);
        packet.extend(tag.expect("room").as_ref());
        packet
    }

    /// Does the whole handshake with a server in this process. Returns the server's answer, if
    /// there is one.
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

//! A hostile holder of a server's key string: handshakes that this crate's client does not send.

use paceline_wire::key::Key;
use paceline_wire::packet::{Initiation, Packet};
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

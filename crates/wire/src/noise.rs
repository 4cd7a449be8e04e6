//! The Noise handshake: `NKpsk0`.
//!
//! The sender knows the server's static key (`NK`), and both know a secret (`psk0`). The secret
//! goes in before the first message, so that a server answers nobody who does not have it. The
//! sender has no key of its own: whoever has the server's key string may send.

use snow::{Builder, HandshakeState};

use crate::key::{Identity, Key};

/// The pattern and its functions.
const PATTERN: &str = "Noise_NKpsk0_25519_ChaChaPoly_SHA256";
/// What both ends must agree on beside the keys.
const PROLOGUE: &[u8] = b"paceline wire 3";

/// The keys of the two directions: from the initiator, and to it.
pub(crate) type Keys = ([u8; 32], [u8; 32]);

fn builder<'a>() -> Option<Builder<'a>> {
    Builder::new(PATTERN.parse().ok()?).prologue(PROLOGUE).ok()
}

/// A private and a public key.
pub(crate) fn generate() -> Option<([u8; 32], [u8; 32])> {
    let pair = builder()?.generate_keypair().ok()?;
    Some((*pair.private.first_chunk()?, *pair.public.first_chunk()?))
}

/// The initiator's handshake.
pub(crate) fn initiator(key: &Key) -> Option<HandshakeState> {
    let builder = builder()?.remote_public_key(&key.public).ok()?;
    builder.psk(0, &key.shared).ok()?.build_initiator().ok()
}

/// The responder's handshake.
pub(crate) fn responder(identity: &Identity) -> Option<HandshakeState> {
    let builder = builder()?.local_private_key(&identity.private).ok()?;
    builder.psk(0, &identity.key().shared).ok()?.build_responder().ok()
}

/// Writes the next message.
pub(crate) fn write(state: &mut HandshakeState, payload: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; payload.len() + 128];
    let length = state.write_message(payload, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// Reads a message; `None` if it is not by somebody who has the keys.
pub(crate) fn read(state: &mut HandshakeState, message: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; message.len()];
    let length = state.read_message(message, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// The keys of a finished handshake.
pub(crate) fn keys(mut state: HandshakeState) -> Option<Keys> {
    state.is_handshake_finished().then(|| state.dangerously_get_raw_split())
}

//! The Noise handshake: `IKpsk0`.
//!
//! The initiator knows the server's static key (`K`) and sends its own, encrypted, with the first
//! message (`I`); both know a secret (`psk0`). The secret is mixed in before the first message, so
//! that a server answers only initiators that have it. The server recognises its clients by the
//! initiator's static key.

use snow::{Builder, HandshakeState};

use crate::client_key::{ClientKey, ClientPublic};
use crate::key::{Identity, Key};
use crate::key_pair::PATTERN;

/// Label that both ends must have in common, besides the keys.
const PROLOGUE: &[u8] = b"paceline wire 4";

/// The keys of the two directions: from the initiator, and to the initiator.
pub(crate) type Keys = ([u8; 32], [u8; 32]);

fn builder<'a>() -> Option<Builder<'a>> {
    Builder::new(PATTERN.parse().ok()?).prologue(PROLOGUE).ok()
}

/// Returns the initiator's handshake with the server of `key`, for the client `client`.
pub(crate) fn initiator(key: &Key, client: &ClientKey) -> Option<HandshakeState> {
    let builder = builder()?.remote_public_key(&key.public).ok()?;
    let builder = builder.local_private_key(client.private()).ok()?;
    builder.psk(0, &key.shared).ok()?.build_initiator().ok()
}

/// Returns the responder's handshake.
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

/// Reads a message; `None` if its sender does not have the keys.
pub(crate) fn read(state: &mut HandshakeState, message: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; message.len()];
    let length = state.read_message(message, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// Returns the initiator's static key, after its first message was read.
pub(crate) fn client(state: &HandshakeState) -> Option<ClientPublic> {
    state.get_remote_static()?.first_chunk().copied().map(ClientPublic)
}

/// Returns the keys of a finished handshake.
pub(crate) fn keys(mut state: HandshakeState) -> Option<Keys> {
    state.is_handshake_finished().then(|| state.dangerously_get_raw_split())
}

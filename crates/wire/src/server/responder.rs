//! The server's half of a handshake.

use crate::noise;
use crate::packet::Response;
use crate::terms::Answer;

/// The answering end of a handshake, which writes the response.
pub(super) struct HandshakeResponder {
    pub(super) state: snow::HandshakeState,
    pub(super) remote: u32,
    pub(super) local: u32,
}

impl HandshakeResponder {
    /// Returns the response with this answer.
    pub(super) fn write(&mut self, answer: &Answer) -> Option<Vec<u8>> {
        let noise = noise::write(&mut self.state, &answer.write().ok()?)?;
        let mut bytes = vec![0; noise.len() + 16];
        let response = Response { receiver: self.remote, sender: self.local, noise: &noise };
        let length = response.write(&mut bytes).ok()?;
        bytes.truncate(length);
        Some(bytes)
    }
}

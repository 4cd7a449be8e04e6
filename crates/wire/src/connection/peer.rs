//! The identity of the other end, and what the server has handed out.

use super::Connection;
use crate::{ClientPublic, Handout};

/// Facts about the other end from the handshake.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    client: Option<ClientPublic>,
    handout: Handout,
}

impl Connection {
    /// Returns the public key of the client at the other end; `None` at the client itself. A client
    /// without its own key has a random one, which it made when it started.
    ///
    /// Until a packet has arrived after the handshake (`Server::is_half_open`), the client has not
    /// shown that it is present: its initiation may have been delayed or repeated by a host on the
    /// path.
    pub fn client(&self) -> Option<ClientPublic> {
        self.peer.client
    }
    /// Returns the handout: at the client the one received with the answer, at the server the one
    /// that it sent.
    pub fn handout(&self) -> &Handout {
        &self.peer.handout
    }

    /// Stores the facts from the handshake.
    #[must_use]
    pub(crate) fn with_peer(self, client: Option<ClientPublic>, handout: Handout) -> Connection {
        Connection { peer: Peer { client, handout }, ..self }
    }
}

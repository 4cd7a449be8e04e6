//! Who is at the other end, and what it has handed out.

use super::Connection;
use crate::{ClientPublic, Handout};

/// What the handshake has shown about the other end.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    client: Option<ClientPublic>,
    handout: Handout,
}

impl Connection {
    /// Returns the public key of the client at the other end; `None` at the client itself. A client without a key
    /// of its own has a random one, which it made when it started.
    ///
    /// Until something has come from the connection after its handshake (`Server::is_half_open`), the client has not
    /// shown that it is there now: its initiation may have been held up and repeated by somebody on the way.
    pub fn client(&self) -> Option<ClientPublic> {
        self.peer.client
    }
    /// Returns what the server has handed out: at the client what came with the answer, at the server what it sent.
    pub fn handout(&self) -> &Handout {
        &self.peer.handout
    }

    /// Notes what the handshake has shown.
    #[must_use]
    pub(crate) fn with_peer(self, client: Option<ClientPublic>, handout: Handout) -> Connection {
        Connection { peer: Peer { client, handout }, ..self }
    }
}

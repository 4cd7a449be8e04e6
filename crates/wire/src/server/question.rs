//! A restarted server's answers to clients of its former connections.

use core::net::SocketAddr;

use super::Server;

impl Server {
    /// Answers a client's question about a connection that this server does not have. Returns false
    /// for any other datagram.
    pub(super) fn on_question(&mut self, from: SocketAddr, bytes: &[u8]) -> bool {
        let answer = self.resets.answer(bytes, |local, remote| self.has(local, remote));
        let is_answered = answer.is_some();
        if let Some(answer) = answer {
            self.answer = Some((from, answer));
        }
        is_answered
    }

    /// Returns true if a connection has these identifiers of this end and of the other.
    fn has(&self, local: u32, remote: u32) -> bool {
        let slot = self.slots.get((local & 0xffff) as usize).and_then(Option::as_ref);
        slot.is_some_and(|slot| slot.connection.ids() == (local, remote))
    }
}

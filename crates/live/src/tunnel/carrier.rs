//! One end of a tunnel's connection: the queues in front of it, and what they may hold.

use paceline_wire::Connection;

use super::queues::{FlowQueues, QueueStats};

/// Queues may always hold so many bytes, also in an outage: ten packets, as in the authors' program.
const LEAST: u64 = 14_400;

/// The queues in front of a connection.
#[derive(Debug)]
pub(super) struct Carrier {
    queues: FlowQueues,
    /// Packets that came out of the queues and were not taken, because the path became too small.
    too_long: u64,
}

impl Carrier {
    /// Queues for packets of at most so many bytes.
    pub(super) fn new(longest: usize) -> Carrier {
        Carrier { queues: FlowQueues::new(longest), too_long: 0 }
    }

    /// Counters of the queues, and packets that were too long for the path.
    pub(super) fn stats(&self) -> (QueueStats, u64) {
        (self.queues.stats(), self.too_long)
    }

    /// The most bytes that may wait in front of a connection: what its scheme's forecast delivers
    /// (thesis §2.3.3), or else its window.
    pub(super) fn limit(connection: &Connection) -> u64 {
        connection.sender().map_or(0, paceline_flow::Sender::deliverable).max(LEAST)
    }

    /// Takes a packet of the device in.
    pub(super) fn push(&mut self, packet: &[u8], limit: u64) {
        self.queues.push(packet, limit);
    }

    /// Hands the next packet to the connection, if that has none: as late as possible, so that the
    /// queues decide until then.
    pub(super) fn refill(&mut self, connection: &mut Connection) {
        while connection.waiting_datagrams() == 0 {
            let Some(packet) = self.queues.pop() else { break };
            connection.announce_datagrams(self.queues.bytes());
            self.too_long += u64::from(!connection.write_datagram(&packet));
            self.queues.recycle(packet);
        }
    }
}

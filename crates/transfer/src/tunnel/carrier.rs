//! One end of a tunnel's connection: its queues and their limit, and the handling of packets that
//! are longer than a packet of the path can carry.

use paceline_cc::Time;
use paceline_ip::{icmp, packet};
use paceline_wire::Connection;

use super::Prefix;
use super::byte_counter::ByteCounter;
use super::queues::{FlowQueues, QueueStats};
use super::refusals::Refusals;

/// Minimum limit of the queues in bytes, also during an outage: ten packets, as in the authors'
/// program.
const LEAST: u64 = 14_400;

/// Counters of one end of a tunnel.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct CarrierStats {
    /// Counters of the queues.
    pub queues: QueueStats,
    /// Packets refused because they were longer than a packet of the path can carry.
    pub too_long: u64,
    /// Packets of that kind that must not be refused, and were carried in parts.
    pub in_parts: u64,
    /// Packets from the other end dropped because their inside source address does not belong to
    /// that end.
    pub not_allowed: u64,
}

/// The queues in front of a connection.
#[derive(Debug)]
pub(super) struct Carrier {
    queues: FlowQueues,
    longest: usize,
    refusals: Refusals,
    sent: ByteCounter,
    stats: CarrierStats,
}

impl Carrier {
    /// Creates queues for packets of at most `longest` bytes, from a device with these addresses.
    pub(super) fn new(now: Time, longest: usize, networks: &[Prefix]) -> Carrier {
        Carrier {
            queues: FlowQueues::new(longest),
            longest,
            refusals: Refusals::new(networks),
            sent: ByteCounter::new(now),
            stats: CarrierStats::default(),
        }
    }

    /// Returns the counters since the start.
    pub(super) fn stats(&self) -> CarrierStats {
        CarrierStats { queues: self.queues.stats(), ..self.stats }
    }

    /// Returns the queues.
    pub(super) fn queues(&self) -> &FlowQueues {
        &self.queues
    }
    /// Returns the counter of packets that were handed to the connection.
    pub(super) fn sent(&self) -> &ByteCounter {
        &self.sent
    }

    /// Returns the maximum number of bytes in the queues of a connection: what the scheme's
    /// forecast delivers (thesis §2.3.3), or its cwnd if it makes no forecast.
    pub(super) fn limit(connection: &Connection) -> u64 {
        connection.sender().map_or(0, paceline_flow::Sender::deliverable).max(LEAST)
    }

    /// Sets how many bytes of a packet one datagram carries. Returns true if that has changed.
    pub(super) fn set_longest(&mut self, longest: usize) -> bool {
        std::mem::replace(&mut self.longest, longest) != longest
    }

    /// Takes a packet from the device. Refuses at once a packet that is too long.
    pub(super) fn push(&mut self, now: Time, packet: &[u8], limit: u64) {
        if packet.len() <= self.longest || !self.refuse(now, packet, self.longest) {
            self.queues.push(now, packet, limit);
        }
    }

    /// Refuses a packet longer than `longest`. Returns false if the packet must not be refused.
    #[cold]
    fn refuse(&mut self, now: Time, bytes: &[u8], longest: usize) -> bool {
        let parsed = packet::parse(bytes).ok();
        let whole = parsed.and_then(|parsed| Some((parsed.flow, bytes.get(..parsed.length)?)));
        let Some((flow, whole)) = whole.filter(|(_, whole)| icmp::may_refuse(whole)) else {
            return false;
        };
        self.stats.too_long += 1;
        self.refusals.answer(now, flow, whole, longest);
        true
    }

    /// Returns the ICMP replies to refused packets, to be written to the device.
    pub(super) fn answers(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.refusals.drain()
    }

    /// Hands the next packet to the connection if it holds none. As late as possible, so that the
    /// queues still decide which packet that is.
    pub(super) fn refill(&mut self, now: Time, connection: &mut Connection) {
        while connection.waiting_datagrams() == 0 {
            let Some(packet) = self.queues.pop(now) else { break };
            connection.announce_datagrams(self.queues.bytes());
            if packet.len() <= connection.longest_datagram() {
                connection.write_datagram(&packet);
                self.sent.count(now, packet.len());
            } else {
                self.carry_long(now, &packet, connection);
            }
            self.queues.recycle(packet);
        }
    }

    /// Handles a packet that is too long: it was queued before the path's MTU shrank, or must not
    /// be refused.
    #[cold]
    fn carry_long(&mut self, now: Time, packet: &[u8], connection: &mut Connection) {
        if self.refuse(now, packet, connection.longest_datagram()) {
            return;
        }
        if connection.write_long_datagram(packet) {
            self.stats.in_parts += 1;
            self.sent.count(now, packet.len());
        } else {
            self.stats.too_long += 1;
        }
    }
}

#[cfg(test)]
#[path = "carrier_tests.rs"]
mod tests;

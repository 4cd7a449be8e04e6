//! Accounts for all packets: each packet that was sent has arrived, was dropped or lost, or is
//! under way.

use crate::nodes::{Carrier, Endpoint};
use crate::world::World;

/// Packets since the start of a run. Data and acknowledgements are separate where stages
/// distinguish them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Data packets sent.
    pub sent: u64,
    /// Acknowledgements and reports sent.
    pub acks_sent: u64,
    /// SYNs, SYN-ACKs and their acknowledgements sent.
    pub handshakes_sent: u64,
    /// SYNs, SYN-ACKs and their acknowledgements that reached the other end.
    pub handshakes_received: u64,
    /// Copies made by duplication.
    pub duplicated: u64,
    /// Data packets that reached their receivers.
    pub received: u64,
    /// Acknowledgements and reports that reached their senders.
    pub acks_received: u64,
    /// Packets that queues dropped.
    pub dropped: u64,
    /// Packets lost on stretches.
    pub lost: u64,
    /// Packets in queues, in transmission, or in delays.
    pub under_way: u64,
}

impl Census {
    /// Returns true if every packet is accounted for.
    pub fn is_balanced(&self) -> bool {
        let made = self.sent + self.acks_sent + self.handshakes_sent + self.duplicated;
        let arrived = self.received + self.acks_received + self.handshakes_received;
        made == arrived + self.dropped + self.lost + self.under_way
    }
}

impl World {
    /// Counts all packets.
    pub fn census(&self) -> Census {
        let mut census = Census::default();
        for slot in &self.slots {
            match &slot.endpoint {
                Endpoint::Sender(sender) => {
                    let (stats, handshakes) = (sender.stats(), sender.handshakes());
                    census.sent += stats.sent;
                    census.acks_received += stats.acks + sender.reports();
                    census.handshakes_sent += handshakes.syns + handshakes.acks;
                    census.handshakes_received += handshakes.syn_acks;
                }
                Endpoint::Receiver(receiver) => {
                    let stats = receiver.stats();
                    census.received += stats.packets;
                    census.acks_sent += stats.acks + stats.reports;
                    // A receiver answers each SYN that arrives.
                    census.handshakes_received += stats.syns + stats.handshake_acks;
                    census.handshakes_sent += stats.syns;
                }
                Endpoint::Transport(end) if end.receives() => {
                    census.received += end.taken;
                    census.acks_sent += end.sent;
                }
                Endpoint::Transport(end) => {
                    census.sent += end.sent;
                    census.acks_received += end.taken;
                }
            }
        }
        for carrier in &self.carriers {
            match carrier {
                Carrier::Link(link) => {
                    census.dropped += link.counters().dropped_packets();
                    census.under_way += (link.backlog_packets() + link.uncollected()) as u64;
                }
                Carrier::LookAhead(link) => {
                    census.dropped += link.counters().dropped_packets();
                    census.under_way += (link.backlog_packets() + link.propagating()) as u64;
                }
                Carrier::Medium(shared) => {
                    let medium = &shared.medium;
                    for number in 0..medium.len() {
                        census.dropped += medium.counters(number).dropped_packets();
                        census.under_way += medium.backlog_packets(number) as u64;
                    }
                    census.under_way += medium.uncollected() as u64;
                }
                Carrier::Pipe(pipe) => {
                    census.lost += pipe.counters().lost_packets;
                    census.duplicated += pipe.counters().duplicated;
                    census.under_way += pipe.packets() as u64;
                }
            }
        }
        census
    }
}

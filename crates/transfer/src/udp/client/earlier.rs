//! Counters summed over several connections of a client.

use paceline_cc::Time;
use paceline_flow::SenderStats;
use paceline_wire::Connection;

/// Counters of connections that were cut off, as this end saw them, and when the first was
/// established.
#[derive(Default)]
pub(super) struct Earlier {
    pub(super) start: Time,
    pub(super) connections: u32,
    pub(super) sent: SenderStats,
    pub(super) acknowledged: u64,
    pub(super) goodput: u64,
}

impl Earlier {
    /// Adds a connection that was cut off.
    pub(super) fn add(&mut self, connection: &Connection, mtu: u16) {
        self.sent = sum(self.sent, connection.sent().unwrap_or_default());
        self.acknowledged += acknowledged(connection, mtu);
        self.goodput += connection.stream_acknowledged();
    }
}

/// Adds the counters of two connections.
pub(super) fn sum(one: SenderStats, other: SenderStats) -> SenderStats {
    let mut sum = one;
    sum.sent += other.sent;
    sum.retransmits += other.retransmits;
    sum.lost += other.lost;
    sum.late += other.late;
    sum.timeouts += other.timeouts;
    sum.probes += other.probes;
    sum.acks += other.acks;
    sum
}

/// Returns the acknowledged bytes on the wire, each piece of data once: those sent, minus those
/// lost and those in flight. Packets that were declared lost and arrived later count as lost.
pub(super) fn acknowledged(connection: &Connection, mtu: u16) -> u64 {
    let sent = connection.sent().unwrap_or_default();
    let in_flight = connection.sender().map_or(0, paceline_flow::Sender::in_flight);
    let gone = sent.sent.saturating_sub(sent.lost);
    gone.saturating_mul(u64::from(mtu)).saturating_sub(in_flight)
}

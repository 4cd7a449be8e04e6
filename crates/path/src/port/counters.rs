//! Counters of a port.

use paceline_cc::Span;

use crate::queue::{DropReason, DroppedPacket};

/// Counters since the start. On a link with an overhead per packet (a trace), bytes include it, so
/// that delivered bytes divided by offered bytes are the link's utilisation.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets that were pushed.
    pub arrived_packets: u64,
    /// Bytes that were pushed.
    pub arrived_bytes: u64,
    /// Packets whose transmission has ended.
    pub delivered_packets: u64,
    /// Bytes of packets whose transmission has ended.
    pub delivered_bytes: u64,
    /// Packets dropped because the buffer was full.
    pub dropped_full: u64,
    /// Packets dropped by active queue management.
    pub dropped_aqm: u64,
    /// Packets dropped because their sojourn time exceeded the limit.
    pub dropped_stale: u64,
    /// Packets that an 802.11 link gave up after all retransmissions.
    pub dropped_unacknowledged: u64,
    /// Bytes of all dropped packets.
    pub dropped_bytes: u64,
    /// Packets marked CE here, by the queue or the router.
    pub marks: u64,
    /// Packets of [`TrafficClass::EXPLICIT`](paceline_cc::TrafficClass::EXPLICIT) that the router changed from ECT(1) to ECT(0) here.
    pub ect0_marks: u64,
    /// Sum over delivered packets of the time from arrival to the end of transmission.
    pub sojourn: Span,
}

impl Counters {
    /// Returns the packets dropped for any reason.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_full + self.dropped_aqm + self.dropped_stale + self.dropped_unacknowledged
    }

    /// Returns the mean time from arrival to the end of transmission; zero before the first packet.
    pub fn mean_sojourn(&self) -> Span {
        self.sojourn / self.delivered_packets
    }

    /// Adds the counters of another port.
    pub fn add(&mut self, other: &Counters) {
        let Counters {
            arrived_packets,
            arrived_bytes,
            delivered_packets,
            delivered_bytes,
            dropped_full,
            dropped_aqm,
            dropped_stale,
            dropped_unacknowledged,
            dropped_bytes,
            marks,
            ect0_marks,
            sojourn,
        } = *other;
        self.arrived_packets += arrived_packets;
        self.arrived_bytes += arrived_bytes;
        self.delivered_packets += delivered_packets;
        self.delivered_bytes += delivered_bytes;
        self.dropped_full += dropped_full;
        self.dropped_aqm += dropped_aqm;
        self.dropped_stale += dropped_stale;
        self.dropped_unacknowledged += dropped_unacknowledged;
        self.dropped_bytes += dropped_bytes;
        self.marks += marks;
        self.ect0_marks += ect0_marks;
        self.sojourn += sojourn;
    }

    pub(super) fn count_drop(&mut self, dropped: &DroppedPacket, overhead: u32) {
        match dropped.reason {
            DropReason::Full => self.dropped_full += 1,
            DropReason::Aqm => self.dropped_aqm += 1,
            DropReason::Stale => self.dropped_stale += 1,
            DropReason::Unacknowledged => self.dropped_unacknowledged += 1,
        }
        self.dropped_bytes += u64::from(dropped.packet.size) + u64::from(overhead);
    }
}

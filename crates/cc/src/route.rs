//! The network's half of a scheme: rewrites headers, never holds or drops a packet.

use crate::packet::Packet;
use crate::units::{Rate, Span, Time};

/// The capacity of a link over time.
pub trait Capacity {
    /// Returns the bytes that the link offers in the interval (`from`, `to`]. The past is known for
    /// every link; the future only for emulated ones (trace, schedule, constant rate).
    fn offered(&self, from: Time, to: Time) -> u64;
}

/// The state of a router's link, for the router.
pub struct LinkView<'a> {
    /// The link's capacity.
    pub capacity: &'a dyn Capacity,
    /// Packets in the queue, without the packet in question. If packets of the class
    /// [`TrafficClass::EXPLICIT`](crate::TrafficClass::EXPLICIT) have a queue of their own, those
    /// in that queue.
    pub queue_packets: usize,
    /// Bytes in the queue, counted as `queue_packets`.
    pub queue_bytes: u64,
}

/// A batch of frames (an 802.11 A-MPDU) after its block acknowledgement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Number of the receiving station.
    pub station: u32,
    /// Frames in it, lost ones included.
    pub frames: u32,
    /// The most frames of this size that the batch could have had: M of the ABC paper.
    pub max_frames: u32,
    /// Bytes of the packets in it.
    pub bytes: u32,
    /// Bytes of the packets that were acknowledged.
    pub acked_bytes: u32,
    /// Bytes on air: with the frames' headers and padding.
    pub air_bytes: u32,
    /// The bitrate of the transmission.
    pub rate: Rate,
}

/// The network's half of a scheme.
pub trait Router: Send {
    /// Called when a packet arrives at the link, before the queue may refuse it.
    fn on_arrival(&mut self, _now: Time, _packet: &mut Packet, _link: &LinkView<'_>) {}
    /// Called when a packet leaves the queue after `sojourn`; its transmission starts now.
    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>);
    /// Called when a packet arrives over a shared medium at the router's own node. The packet was
    /// in its sender's queue and will not enter this one. Only media call this. Routers of schemes
    /// for half-duplex media process such packets, too (XCP-b paper, §5).
    fn on_input(&mut self, _now: Time, _packet: &mut Packet, _link: &LinkView<'_>) {}
    /// Called when the link could have carried `bytes` more at `now`, but the queue was empty.
    /// Links that transmit whenever a packet waits (constant and scheduled rates) never call this.
    /// Past opportunities are reported before the next arrival, in order. 802.11 media without
    /// A-MPDUs report, before the next arrival, the port's part of the time in which no station had
    /// a packet.
    fn on_unused(&mut self, _now: Time, _bytes: u32) {}
    /// Called when `bytes` of the share of the link reserved for packets of the class
    /// [`TrafficClass::EXPLICIT`](crate::TrafficClass::EXPLICIT) went to other packets, because no
    /// packet of that class was waiting. Only links whose queue has such a share call this, just
    /// before the departure concerned.
    fn on_unused_share(&mut self, _now: Time, _bytes: u32) {}
    /// Called when the block acknowledgement of a batch arrives at `now`. Only links that transmit
    /// in batches call this.
    fn on_batch(&mut self, _now: Time, _batch: &Batch) {}
    /// Calls `see` with names and values of inner state, for plots.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

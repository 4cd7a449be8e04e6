//! The network's half of a scheme: rewrites headers, never holds or drops a packet.

use crate::packet::Packet;
use crate::units::{Rate, Span, Time};

/// The capacity of a link over time, as far as it is known.
pub trait Capacity {
    /// Bytes that the link offers in the interval (`from`, `to`]. The past of every link is
    /// known; the future only of emulated ones (trace, schedule, constant rate).
    fn offered(&self, from: Time, to: Time) -> u64;
}

/// What a router sees of its link.
pub struct LinkView<'a> {
    /// The link's capacity.
    pub capacity: &'a dyn Capacity,
    /// Packets in the queue, the packet in question not included. Where packets of the class
    /// [`TrafficClass::EXPLICIT`](crate::TrafficClass::EXPLICIT) have a queue of their own: in
    /// that one.
    pub queue_packets: usize,
    /// Bytes in the queue, likewise.
    pub queue_bytes: u64,
}

/// A batch of frames (an 802.11 A-MPDU) as its block acknowledgement has shown it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of the station that it was for.
    pub station: u32,
    /// Frames in it, lost ones included.
    pub frames: u32,
    /// The most frames of this size that it could have had, M of the ABC paper.
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
    /// A packet arrives at the link, before the queue may refuse it.
    fn on_arrival(&mut self, _now: Time, _packet: &mut Packet, _link: &LinkView<'_>) {}
    /// A packet left the queue after `sojourn`; its transmission starts now.
    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>);
    /// A packet has come in over a shared medium, whose receiver the router's node is: it was in
    /// the queue of its sender, and will not be in this one. Only media say so. Routers of schemes
    /// for half-duplex media process such packets, too (XCP-b paper, §5).
    fn on_input(&mut self, _now: Time, _packet: &mut Packet, _link: &LinkView<'_>) {}
    /// The link could have carried `bytes` more at `now`, but the queue was empty. Links that
    /// transmit whenever they have something (constant and scheduled rates) never say so.
    /// Opportunities of the past are told before the next arrival, in order.
    fn on_unused(&mut self, _now: Time, _bytes: u32) {}
    /// `bytes` of the share of the link that is reserved for packets of the class
    /// [`TrafficClass::EXPLICIT`](crate::TrafficClass::EXPLICIT) went to other packets, because
    /// none of that class was waiting. Only links whose queue has such a share say so, just before
    /// the departure that it happened at.
    fn on_unused_share(&mut self, _now: Time, _bytes: u32) {}
    /// The block acknowledgement of a batch came in at `now`. Only links that transmit in batches
    /// say so.
    fn on_batch(&mut self, _now: Time, _batch: &Batch) {}
    /// Names and values of inner state, for plots.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

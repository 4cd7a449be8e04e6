//! The log of a link, for drivers that ask for it.

use paceline_cc::{Ecn, Packet, Span, Time};

use crate::queue::DropReason;

/// What happened to a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It arrived at the queue, which may have refused it: then a drop follows.
    Arrival,
    /// Its transmission ended.
    Departure {
        /// The time from arrival to the end of transmission.
        sojourn: Span,
    },
    /// It was dropped.
    Drop {
        /// Why.
        reason: DropReason,
    },
}

/// Something that happened to a packet at a link. Events are in the order of their times.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkEvent {
    /// When, by the link's own reckoning: exact even if the driver came late.
    pub time: Time,
    /// What.
    pub kind: EventKind,
    /// The flow of the packet.
    pub flow: u32,
    /// Its number, see [`Packet::number`].
    pub number: u64,
    /// Its size in bytes, without a link's overhead.
    pub size: u32,
    /// Its ECN field before the router saw it: on arrival, or as the queue handed it out.
    pub before: Ecn,
    /// Its ECN field after the router saw it.
    pub after: Ecn,
    /// True if the queue or the router marked it: CE, or a brake instead of an accelerate. A
    /// queue that marks when it takes packets in has its marks on arrivals.
    pub marked: bool,
    /// Bytes in the queue after the event, the packet in transmission not included.
    pub queue_bytes: u64,
}

impl LinkEvent {
    /// An event that left the ECN field as it was. `queue_bytes` are those in the queue after it.
    pub fn new(time: Time, kind: EventKind, packet: &Packet, queue_bytes: u64) -> LinkEvent {
        LinkEvent {
            time,
            kind,
            flow: packet.flow,
            number: packet.number(),
            size: packet.size,
            before: packet.ecn,
            after: packet.ecn,
            marked: false,
            queue_bytes,
        }
    }
}

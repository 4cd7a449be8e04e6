//! Events and departures of a link's log, for drivers that enable it.

use paceline_cc::{Ecn, Packet, Span, Time};

use crate::queue::DropReason;

/// Kind of an event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It arrived at the queue. If the queue refused it, a drop follows.
    Arrival,
    /// Its transmission ended.
    Departure {
        /// The time from arrival to the end of transmission.
        sojourn: Span,
    },
    /// It was dropped.
    Drop {
        /// The reason.
        reason: DropReason,
    },
}

/// An event of a packet at a link. Events are in the order of their times.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkEvent {
    /// Time of the event by the link: exact even if the driver calls late.
    pub time: Time,
    /// Kind of the event.
    pub kind: EventKind,
    /// The flow of the packet.
    pub flow: u32,
    /// Its number, see [`Packet::number`].
    pub number: u64,
    /// Its size in bytes, without the link's overhead.
    pub size: u32,
    /// Its ECN field before the router saw it: at arrival, or as the queue returned it.
    pub before: Ecn,
    /// Its ECN field after the router saw it.
    pub after: Ecn,
    /// True if the queue or the router marked it: CE, or a brake instead of an accelerate. A queue
    /// that marks arriving packets has its marks in arrivals.
    pub marked: bool,
    /// Bytes in the queue after the event, without the packet in transmission.
    pub queue_bytes: u64,
}

impl LinkEvent {
    /// Creates an event that did not change the ECN field. `queue_bytes` are those in the queue
    /// after it.
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

/// The part of a departure's event that statistics need.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Time at which the transmission ended.
    pub time: Time,
    /// The time from arrival to the end of transmission.
    pub sojourn: Span,
    /// The packet's size in bytes, without the link's overhead.
    pub size: u32,
    /// True if the queue or the router marked the packet as its transmission began.
    pub marked: bool,
}

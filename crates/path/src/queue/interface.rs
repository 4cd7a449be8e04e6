//! The interface of queues.

use paceline_cc::{Ecn, Packet, Time, TrafficClass};

use super::Limit;

/// Why a packet was dropped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// The buffer was full.
    Full,
    /// Active queue management dropped it.
    Aqm,
    /// Its sojourn time exceeded the buffer's limit.
    Stale,
    /// Its station did not acknowledge any of its transmissions.
    Unacknowledged,
}

/// A dropped packet, for counters, logs, and drivers that own its bytes.
#[derive(Copy, Clone, Debug)]
pub struct DroppedPacket {
    /// The packet.
    pub packet: Packet,
    /// The reason.
    pub reason: DropReason,
}

/// Limits of a plain droptail buffer, without the packet in transmission.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DroptailLimit {
    /// Maximum number of packets.
    pub packets: u64,
    /// Maximum number of bytes.
    pub bytes: u64,
}

/// Holds packets at a link, and decides which of them are dropped or marked.
///
/// A link calls [`push`](Queue::push) for each packet that arrives, and [`pop`](Queue::pop)
/// whenever it can transmit another one. Both receive the time, which never goes back, and append
/// the packets that they drop to `drops`, so that the link counts them and drivers can free their
/// bytes. A queue has no timers: it makes up for missed periodic work at the next call. Only a
/// queue may hold or drop packets; [`Router`](paceline_cc::Router)s rewrite headers, so that any
/// router can be combined with any queue.
///
/// For a queue around another queue, implement [`QueueWrapper`](super::QueueWrapper) instead: the
/// default methods here do not call an inner queue.
pub trait Queue: Send {
    /// Adds a packet and stores `now` in its [`Packet::queued`]; or drops it, or others, into
    /// `drops`.
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>);
    /// Returns the next packet to transmit. May first drop others, and may mark the packet CE.
    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet>;
    /// Pops into `place`, and returns false if there is no packet. For queues that can do this with
    /// fewer copies; the default calls `pop`.
    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        let popped = self.pop(now, drops);
        if let Some(packet) = &popped {
            *place = *packet;
        }
        popped.is_some()
    }
    /// Returns the packets held.
    fn packets(&self) -> usize;
    /// Returns the bytes held.
    fn bytes(&self) -> u64;
    /// Returns true if no packet is held.
    fn is_empty(&self) -> bool {
        self.packets() == 0
    }
    /// Returns the packets that this queue has marked CE since the start.
    fn marks(&self) -> u64 {
        0
    }
    /// Returns the packets and bytes behind which a packet of this class and flow would wait: all
    /// that are held, unless the class or the flow has its own queue.
    fn backlog_for(&self, _class: TrafficClass, _flow: u32) -> (usize, u64) {
        (self.packets(), self.bytes())
    }
    /// Returns the bytes of the share reserved for the class [`TrafficClass::EXPLICIT`] that went
    /// to other packets since the last call, because no packet of that class was waiting; 0 for a
    /// queue without such a share.
    fn take_unused_share(&mut self) -> u32 {
        0
    }
    /// Sets the buffer's limit from now on. Packets in the queue stay. Returns false, without a
    /// change, if the queue does not support this.
    fn set_limit(&mut self, _limit: Limit) -> bool {
        false
    }
    /// Returns the limits of a plain droptail buffer, whose departures a link of constant rate can
    /// compute ahead; `None` for other queues.
    fn droptail_limit(&self) -> Option<DroptailLimit> {
        None
    }
    /// Passes names and values of internal state to `see`, for plots.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// Marks the packet CE if its sender supports ECN, and counts the mark unless it had one. Returns
/// false if the packet must be dropped instead.
pub(super) fn mark(packet: &mut Packet, marks: &mut u64) -> bool {
    if !packet.ecn.is_capable() {
        return false;
    }
    *marks += u64::from(packet.ecn != Ecn::Ce);
    packet.ecn = Ecn::Ce;
    true
}

/// Returns the packet, marked CE, if `may_mark` is true and its sender supports ECN. Otherwise
/// drops it.
#[inline]
pub(super) fn mark_or_drop(
    mut packet: Packet,
    may_mark: bool,
    marks: &mut u64,
    drops: &mut Vec<DroppedPacket>,
) -> Option<Packet> {
    if may_mark && mark(&mut packet, marks) {
        return Some(packet);
    }
    drops.push(DroppedPacket { packet, reason: DropReason::Aqm });
    None
}

//! What a queue is.

use paceline_cc::{Ecn, Packet, Time, TrafficClass};

use super::Limit;

/// Why a packet was dropped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// The buffer was full.
    Full,
    /// Active queue management decided.
    Aqm,
    /// It had waited longer than the buffer's limit of sojourn times.
    Stale,
    /// Its station did not acknowledge it, however often it was transmitted.
    Unacknowledged,
}

/// A dropped packet, for counters, logs, and drivers that own its bytes.
#[derive(Copy, Clone, Debug)]
pub struct DroppedPacket {
    /// The packet.
    pub packet: Packet,
    /// Why.
    pub reason: DropReason,
}

/// The limits of a plain droptail buffer; the packet in transmission does not count.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DroptailLimit {
    /// The most packets.
    pub packets: u64,
    /// The most bytes.
    pub bytes: u64,
}

/// What holds packets at a link, and decides which of them are dropped or marked.
///
/// A link calls [`push`](Queue::push) for each packet that arrives and [`pop`](Queue::pop) whenever
/// it can transmit another one. Both are told the time, which never goes back, and put the packets
/// that they drop into `drops`, so that the link counts them and drivers can free their bytes. A
/// queue has no timers: what it does periodically it makes up for in the next call. Only a queue
/// may hold or drop packets; headers are rewritten by [`Router`](paceline_cc::Router)s, so that any
/// router goes with any queue.
///
/// For a queue around another queue, implement [`QueueWrapper`](super::QueueWrapper) instead: the
/// defaults here know nothing of the queue inside.
pub trait Queue: Send {
    /// Takes a packet in and notes `now` as its [`Packet::queued`], or drops it or others into
    /// `drops`.
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>);
    /// The next packet to transmit; may drop others first, and may mark the packet CE.
    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet>;
    /// As `pop`, into a place of the caller's: false if there is nothing. For queues that can do
    /// this with fewer copies; the default calls `pop`.
    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        let popped = self.pop(now, drops);
        if let Some(packet) = &popped {
            *place = *packet;
        }
        popped.is_some()
    }
    /// Packets held.
    fn packets(&self) -> usize;
    /// Bytes held.
    fn bytes(&self) -> u64;
    /// True if nothing is held.
    fn is_empty(&self) -> bool {
        self.packets() == 0
    }
    /// Packets that this queue has marked CE since the start.
    fn marks(&self) -> u64 {
        0
    }
    /// The packets and bytes that a packet of this class and flow would wait behind: all that are
    /// held, unless the class or the flow has a queue of its own.
    fn backlog_for(&self, _class: TrafficClass, _flow: u32) -> (usize, u64) {
        (self.packets(), self.bytes())
    }
    /// Bytes of the share reserved for packets of the class [`TrafficClass::EXPLICIT`] that went
    /// to other packets since the last call, because none of that class was waiting; 0 for a queue
    /// without such a share.
    fn take_unused_share(&mut self) -> u32 {
        0
    }
    /// Another limit of the buffer from now on. What is held stays; what comes finds the new limit.
    /// False, and nothing is changed, for a queue that cannot do this.
    fn set_limit(&mut self, _limit: Limit) -> bool {
        false
    }
    /// Its limits, if it is a plain droptail buffer, whose departures a link of constant rate can
    /// compute ahead.
    fn droptail_limit(&self) -> Option<DroptailLimit> {
        None
    }
    /// Names and values of inner state, for plots.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// Marks the packet CE if its sender understands ECN, and counts the mark unless it had one.
/// False if it must be dropped instead.
pub(super) fn mark(packet: &mut Packet, marks: &mut u64) -> bool {
    if !packet.ecn.is_capable() {
        return false;
    }
    *marks += u64::from(packet.ecn != Ecn::Ce);
    packet.ecn = Ecn::Ce;
    true
}

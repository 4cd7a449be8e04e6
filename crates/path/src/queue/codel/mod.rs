//! CoDel: controlled delay.
//!
//! # What it does
//! Watches how long each departing packet has waited. Once every packet of an `interval` has waited
//! for `target` or longer, it drops the packet at the head, and drops again after
//! `interval`/√count, where count grows with each drop, until a packet has waited for less. If it
//! starts again within 16 intervals, it starts near the rate at which it stopped. While one MTU or
//! less is left in the queue it never drops.
//!
//! # Signals it needs
//! None; the senders must react to loss, or to CE marks if `ecn` is set.
//!
//! # Parameters
//! Those of [`CodelParams`]. ABC's authors ran CoDel with a target of 50 ms on cellular links.
//! `ring` is the number of packets that the device's transmit ring holds ahead of the queue: CoDel
//! neither sees nor drops them.
//!
//! # Where it fails
//! Links slower than one packet per `target`; many or unresponsive flows, for which √count grows
//! too slowly; links whose rate falls faster than its control law reacts.
//!
//! # Source
//! RFC 8289; Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 10(5), 2012.

pub mod mahimahi;
mod state;
#[cfg(test)]
mod tests;

pub(in crate::queue) use state::{CodelState, FirstAbove, PacketSource, next_drop};

use paceline_cc::params::{Params, above};
use paceline_cc::{Packet, Span, Time};

use super::ring::Ring;
use super::{DroppedPacket, FULL_PACKET, Fifo, Limit, Queue, QueueEntry};

paceline_cc::params! {
    /// Parameters of CoDel.
    pub struct CodelParams {
        /// Sojourn time that is acceptable as a standing queue.
        target: Span = Span::from_millis(5), source "RFC 8289 §4.2";
        /// How long the sojourn time must stay above the target; about a worst-case RTT.
        interval: Span = Span::from_millis(100), in above(Span::ZERO), source "RFC 8289 §4.3";
        /// Marks ECN-capable packets CE instead of dropping them.
        ecn: bool = false, source "ours: off in all queues";
        /// CoDel never drops while at most this many bytes are queued.
        mtu: u32 = FULL_PACKET, unit "bytes", source "RFC 8289 §5.4: MAXPACKET";
        /// Packets in the device's transmit ring, where the queue cannot drop or mark them.
        ring: u32 = 0, in 0..=Ring::MOST, unit "packets", source "ours: none; ns-3's devices: 1";
    }
}

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "codel",
    "Drops at the head when packets have waited too long for an interval",
    "RFC 8289",
    CodelParams::infos,
    |spec, limit, _stream| {
        let params: CodelParams = spec.params()?;
        let ring = params.ring;
        Ok(Ring::before(Box::new(Codel::new(params, limit)), ring))
    },
);

/// CoDel with a FIFO buffer.
#[derive(Clone, Debug)]
pub struct Codel {
    params: CodelParams,
    fifo: Fifo,
    state: CodelState,
    marks: u64,
}

impl Codel {
    /// Creates an empty queue.
    pub fn new(params: CodelParams, limit: Limit) -> Codel {
        Codel { params, fifo: Fifo::new(limit), state: CodelState::default(), marks: 0 }
    }
}

impl PacketSource for Fifo {
    #[inline]
    fn take(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        self.pop_into(now, drops, place)
    }
    fn backlog(&self) -> u64 {
        self.bytes()
    }
}

impl Queue for Codel {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.fifo.set_limit(limit)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.fifo.push(now, packet, drops);
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let mut packet = Packet::opaque(0);
        self.pop_into(now, drops, &mut packet).then_some(packet)
    }

    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        let Codel { params, fifo, state, marks } = self;
        state.pop_into((params, fifo), now, (drops, marks), place)
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.state.inspect(see);
    }
}

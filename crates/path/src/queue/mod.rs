//! Queues: the only things that may hold or drop packets at a link.

pub mod codel;
pub mod fifo;
mod limit;
pub mod registry;
#[cfg(test)]
pub(crate) mod testing;

pub use codel::Codel;
pub use fifo::Fifo;
pub use limit::{BufferSize, Limit};
pub use registry::{QUEUES, QueueInfo, build};

use paceline_cc::{Packet, Time};

/// Why a packet was dropped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The buffer was full.
    Full,
    /// Active queue management decided.
    Aqm,
    /// It had waited longer than the buffer's limit of time.
    Stale,
}

/// A dropped packet, for counters, logs, and drivers that own its bytes.
#[derive(Copy, Clone, Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// Why.
    pub reason: DropReason,
}

/// A queue.
pub trait Queue: Send {
    /// Takes a packet in and notes `now` as its [`Packet::queued`], or drops it or others into
    /// `drops`.
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<Dropped>);
    /// The next packet to transmit; may drop others first, and may mark the packet CE.
    fn pop(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Packet>;
    /// As `pop`, into a place of the caller's: false if there is nothing. For queues that can do
    /// this with fewer copies; the default calls `pop`.
    fn pop_into(&mut self, now: Time, drops: &mut Vec<Dropped>, place: &mut Packet) -> bool {
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
    /// Names and values of inner state, for plots.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

//! Fair queues: flows are hashed to separate queues, each with its own CoDel.

pub mod fq_codel;
pub mod sfq_codel;
#[cfg(test)]
mod tests;

pub use fq_codel::FqCodel;
pub use sfq_codel::SfqCodel;

use paceline_cc::{Packet, Time};

use super::{DroppedPacket, Fifo, Queue};

/// Maximum number of queues to which flows are hashed.
const MOST_BINS: u32 = 65_536;

/// Marks a hash value that has no queue yet.
const NONE: u32 = u32::MAX;

/// Assigns flows to queues by a hash. A queue is created when its first packet arrives.
#[derive(Clone, Debug)]
struct FlowSlots<Q> {
    slots: Vec<u32>,
    queues: Vec<Q>,
    perturbation: u64,
}

impl<Q> FlowSlots<Q> {
    fn new(count: u32, perturbation: u64) -> FlowSlots<Q> {
        FlowSlots { slots: vec![NONE; count.max(1) as usize], queues: Vec::new(), perturbation }
    }

    /// Returns the number of the flow's queue, counted in the order of their creation.
    fn of(&mut self, flow: u32, make: impl FnOnce() -> Q) -> u32 {
        let hash = mix(u64::from(flow) ^ mix(self.perturbation));
        let at = (hash % self.slots.len() as u64) as usize;
        let slot = &mut self.slots[at];
        if *slot == NONE {
            *slot = self.queues.len() as u32;
            self.queues.push(make());
        }
        *slot
    }
}

/// The finishing step of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input changes
/// half of the output's bits.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Packets and bytes of all queues together.
#[derive(Clone, Debug, Default)]
struct Total {
    packets: u64,
    bytes: u64,
}

impl Total {
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }

    fn remove(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
    }

    /// Removes a packet from one of the queues, which may drop stale ones first.
    fn pop(
        &mut self,
        fifo: &mut Fifo,
        now: Time,
        drops: &mut Vec<DroppedPacket>,
    ) -> Option<Packet> {
        let (packets, bytes) = (fifo.packets(), fifo.bytes());
        let packet = fifo.pop(now, drops);
        self.packets -= (packets - fifo.packets()) as u64;
        self.bytes -= bytes - fifo.bytes();
        packet
    }

    /// Does [`Total::pop`] into `place`. Returns false if there is no packet.
    fn pop_into(
        &mut self,
        fifo: &mut Fifo,
        now: Time,
        drops: &mut Vec<DroppedPacket>,
        place: &mut Packet,
    ) -> bool {
        let (packets, bytes) = (fifo.packets(), fifo.bytes());
        let popped = fifo.pop_into(now, drops, place);
        self.packets -= (packets - fifo.packets()) as u64;
        self.bytes -= bytes - fifo.bytes();
        popped
    }
}

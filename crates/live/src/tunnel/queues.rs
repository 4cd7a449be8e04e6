//! The packets that wait in front of a tunnel's connection: a queue for each flow, served in turn.
//! Without input or output.
//!
//! A flow is what has the same addresses, protocol and ports ([`packet::parse`]). Queues are served by
//! deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), so that each flow that has something to
//! send gets the same bytes per round; Winstein's thesis, section 2.3.3, asks for round robin. If all
//! queues together hold more than the connection will soon deliver, packets are dropped from the head
//! of the longest one (ibid.).

use std::collections::{BTreeMap, VecDeque};

use crate::emulator::packet;

/// The most packets that wait, whatever their size.
const MOST_PACKETS: usize = 8192;
/// The most buffers that are kept to be filled again.
const MOST_SPARE: usize = 256;

/// Counters since the start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets that came.
    pub packets: u64,
    /// Of these, packets that were dropped because too much waited.
    pub dropped: u64,
    /// Of these, packets that were no IP packets.
    pub malformed: u64,
}

/// The queue of a flow, which exists as long as it holds a packet.
#[derive(Debug, Default)]
struct Flow {
    packets: VecDeque<Vec<u8>>,
    bytes: u64,
    /// Bytes that it may send before it is another flow's turn.
    credit: u64,
}

/// Packets of many flows.
#[derive(Debug)]
pub struct FlowQueues {
    flows: BTreeMap<u32, Flow>,
    /// The flows that hold packets; the first one is served.
    active: VecDeque<u32>,
    /// What a flow may send in a round.
    quantum: u64,
    packets: usize,
    bytes: u64,
    spare: Vec<Vec<u8>>,
    stats: QueueStats,
}

impl FlowQueues {
    /// Empty queues, of which each may send `quantum` bytes in a round: those of the largest packet.
    pub fn new(quantum: usize) -> FlowQueues {
        FlowQueues {
            flows: BTreeMap::new(),
            active: VecDeque::new(),
            quantum: quantum.max(1) as u64,
            packets: 0,
            bytes: 0,
            spare: Vec::new(),
            stats: QueueStats::default(),
        }
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.packets
    }
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }
    /// Counters since the start.
    pub fn stats(&self) -> QueueStats {
        self.stats
    }

    /// Takes an IP packet in. If more than `limit` bytes wait then, packets are dropped from the head
    /// of the longest queue until they do not; the last packet stays. Returns false if it is no IP
    /// packet.
    pub fn push(&mut self, bytes: &[u8], limit: u64) -> bool {
        self.stats.packets += 1;
        let parsed = packet::parse(bytes).ok();
        let whole = parsed.and_then(|parsed| Some((parsed.flow, bytes.get(..parsed.length)?)));
        let Some((key, bytes)) = whole else {
            self.stats.malformed += 1;
            return false;
        };
        let mut packet = self.spare.pop().unwrap_or_default();
        packet.clear();
        packet.extend_from_slice(bytes);
        let flow = self.flows.entry(key).or_insert_with(|| {
            self.active.push_back(key);
            Flow { credit: self.quantum, ..Flow::default() }
        });
        flow.bytes += packet.len() as u64;
        self.bytes += packet.len() as u64;
        self.packets += 1;
        flow.packets.push_back(packet);
        while self.packets > MOST_PACKETS || (self.bytes > limit && self.packets > 1) {
            self.drop_one();
        }
        true
    }

    /// Drops the head of the longest queue.
    fn drop_one(&mut self) {
        let longest = self.flows.iter().max_by_key(|(_, flow)| flow.bytes);
        let Some((&key, _)) = longest else { return };
        if let Some(packet) = self.take(key) {
            self.stats.dropped += 1;
            self.recycle(packet);
        }
    }

    /// Takes the head of a flow's queue, and forgets the flow if that was its last packet.
    fn take(&mut self, key: u32) -> Option<Vec<u8>> {
        let flow = self.flows.get_mut(&key)?;
        let packet = flow.packets.pop_front()?;
        let length = packet.len() as u64;
        flow.bytes -= length;
        flow.credit = flow.credit.saturating_sub(length);
        self.bytes -= length;
        self.packets -= 1;
        if flow.packets.is_empty() {
            self.flows.remove(&key);
            self.active.retain(|active| *active != key);
        }
        Some(packet)
    }

    /// The next packet to be sent. Give it back by [`FlowQueues::recycle`].
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        loop {
            let key = *self.active.front()?;
            let flow = self.flows.get_mut(&key)?;
            let head = flow.packets.front().map_or(0, |packet| packet.len() as u64);
            if head <= flow.credit {
                return self.take(key);
            }
            flow.credit += self.quantum;
            self.active.rotate_left(1);
        }
    }

    /// Takes the memory of a packet back.
    pub fn recycle(&mut self, packet: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(packet);
        }
    }
}

#[cfg(test)]
#[path = "queues_tests.rs"]
mod tests;

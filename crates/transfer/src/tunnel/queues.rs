//! The queues in front of a tunnel's connection: one per flow, served in turn. Without input or
//! output.
//!
//! Packets of a flow have the same addresses, protocol and ports ([`packet::parse`]). A flow is
//! identified by a hash of these under this process's random key, so that no sender can construct
//! flows that collide with another one's. The queues are served by deficit round robin (Shreedhar
//! and Varghese, SIGCOMM 1995), so that each backlogged flow sends the same number of bytes per
//! round; Winstein's thesis, section 2.3.3, asks for round robin. If all queues together hold more
//! than the connection will soon deliver, packets are dropped from the head of the longest queue
//! (ibid.).

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

use paceline_cc::{Span, Time};
use paceline_ip::packet;

/// Maximum number of packets in all queues, of any size.
const MOST_PACKETS: usize = 8192;
/// Maximum number of empty buffers kept for reuse.
const MOST_SPARE: usize = 256;

/// Counters since the start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets that arrived.
    pub packets: u64,
    /// Of these, packets dropped because the queues were over their limit.
    pub dropped: u64,
    /// Of these, packets that were not valid IP packets.
    pub malformed: u64,
}

/// The queue of a flow, which exists while it holds a packet.
#[derive(Debug, Default)]
struct Flow {
    /// Packets, each with its arrival time.
    packets: VecDeque<(Time, Vec<u8>)>,
    bytes: u64,
    /// Bytes that the flow may send before the next flow's turn.
    credit: u64,
    /// Its position in the order of turns.
    turn: u64,
}

/// The queues of many flows.
#[derive(Debug)]
pub struct FlowQueues {
    flows: HashMap<u64, Flow>,
    /// The flows in the order of their turns. The first one is served.
    turns: BTreeMap<u64, u64>,
    /// The next turn to assign.
    next_turn: u64,
    /// Each flow's queue length in bytes, with the flow.
    lengths: BTreeSet<(u64, u64)>,
    /// The key of the flows' hashes.
    hash: RandomState,
    /// Bytes that a flow may send per round.
    quantum: u64,
    packets: usize,
    bytes: u64,
    spare: Vec<Vec<u8>>,
    /// Sojourn time of sent packets: a moving average with weight 1/8.
    sojourn: Span,
    stats: QueueStats,
}

impl FlowQueues {
    /// Creates empty queues. Each flow may send `quantum` bytes per round: the size of the largest
    /// packet.
    pub fn new(quantum: usize) -> FlowQueues {
        FlowQueues {
            flows: HashMap::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
            lengths: BTreeSet::new(),
            hash: RandomState::new(),
            quantum: quantum.max(1) as u64,
            packets: 0,
            bytes: 0,
            spare: Vec::new(),
            sojourn: Span::ZERO,
            stats: QueueStats::default(),
        }
    }

    /// Returns the bytes in all queues.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns the packets in all queues.
    pub fn len(&self) -> usize {
        self.packets
    }
    /// Returns true if all queues are empty.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }
    /// Returns the counters since the start.
    pub fn stats(&self) -> QueueStats {
        self.stats
    }

    /// Returns the smoothed sojourn time: from a packet's arrival until it leaves the queues,
    /// averaged over the packets sent last.
    pub fn sojourn(&self) -> Span {
        self.sojourn
    }
    /// Returns how long the oldest packet has waited; zero if the queues are empty. Takes time
    /// linear in the number of flows.
    pub fn oldest(&self, now: Time) -> Span {
        let heads = self.flows.values().filter_map(|flow| flow.packets.front());
        heads.map(|(came, _)| now.since(*came)).max().unwrap_or(Span::ZERO)
    }

    /// Takes an IP packet. While more than `limit` bytes wait, drops packets from the head of the
    /// longest queue, except the very last packet. Returns false if the bytes are not an IP packet.
    pub fn push(&mut self, now: Time, bytes: &[u8], limit: u64) -> bool {
        self.stats.packets += 1;
        let parsed = packet::parse(bytes).ok();
        let whole = parsed.and_then(|parsed| {
            let flow = self.hash.hash_one(packet::flow_id(bytes, &parsed));
            Some((flow, bytes.get(..parsed.length)?))
        });
        let Some((key, bytes)) = whole else {
            self.stats.malformed += 1;
            return false;
        };
        let mut packet = self.spare.pop().unwrap_or_default();
        packet.clear();
        packet.extend_from_slice(bytes);
        let flow = self.flows.entry(key).or_insert_with(|| {
            let turn = self.next_turn;
            self.next_turn += 1;
            self.turns.insert(turn, key);
            Flow { credit: self.quantum, turn, ..Flow::default() }
        });
        self.lengths.remove(&(flow.bytes, key));
        flow.bytes += packet.len() as u64;
        self.lengths.insert((flow.bytes, key));
        self.bytes += packet.len() as u64;
        self.packets += 1;
        flow.packets.push_back((now, packet));
        while self.packets > MOST_PACKETS || (self.bytes > limit && self.packets > 1) {
            self.drop_one();
        }
        true
    }

    /// Drops the head of the longest queue.
    fn drop_one(&mut self) {
        let Some(&(_, key)) = self.lengths.last() else { return };
        if let Some((_, packet)) = self.take(key) {
            self.stats.dropped += 1;
            self.recycle(packet);
        }
    }

    /// Removes and returns the head of a flow's queue. Removes the flow with its last packet.
    fn take(&mut self, key: u64) -> Option<(Time, Vec<u8>)> {
        let flow = self.flows.get_mut(&key)?;
        let (came, packet) = flow.packets.pop_front()?;
        let length = packet.len() as u64;
        self.lengths.remove(&(flow.bytes, key));
        flow.bytes -= length;
        self.bytes -= length;
        self.packets -= 1;
        if flow.packets.is_empty() {
            self.turns.remove(&flow.turn);
            self.flows.remove(&key);
        } else {
            self.lengths.insert((flow.bytes, key));
        }
        Some((came, packet))
    }

    /// Returns the next packet to send. Pass its buffer to [`FlowQueues::recycle`] afterwards.
    pub fn pop(&mut self, now: Time) -> Option<Vec<u8>> {
        loop {
            let key = *self.turns.first_key_value()?.1;
            let flow = self.flows.get_mut(&key)?;
            let head = flow.packets.front().map_or(0, |(_, packet)| packet.len() as u64);
            if head <= flow.credit {
                // Only packets that are sent cost credit: a flow whose packets are dropped keeps its turns.
                flow.credit -= head;
                let (came, packet) = self.take(key)?;
                self.sojourn = (self.sojourn * 7 + now.since(came)) / 8;
                return Some(packet);
            }
            flow.credit += self.quantum;
            self.turns.remove(&flow.turn);
            flow.turn = self.next_turn;
            self.next_turn += 1;
            self.turns.insert(flow.turn, key);
        }
    }

    /// Takes a packet's buffer back for reuse.
    pub fn recycle(&mut self, packet: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(packet);
        }
    }
}

#[cfg(test)]
#[path = "queues_tests.rs"]
mod tests;

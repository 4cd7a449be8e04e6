//! FQ-CoDel: flow queueing with CoDel.
//!
//! # What it does
//! Hashes each flow to one of `flows` queues, each under a CoDel of its own. Queues are served by
//! deficit round robin, `quantum` bytes a turn; a queue that has just become busy goes first, once.
//! When the buffer overflows, half the packets of the queue with the most bytes are dropped from
//! its head, 64 at most.
//!
//! # Signals it needs
//! None; the senders must react to loss, or to CE marks if `ecn` is set.
//!
//! # Parameters
//! Those of [`FqCodelParams`]. `ecn` is on in RFC 8290's own deployment and off here, as in the
//! other queues. `backlog` chooses the bytes that CoDel's guard of one MTU looks at: those of all
//! queues (Linux), or of the flow's own queue (ns-3).
//!
//! # Where it fails
//! Flows whose hashes collide, which share a queue; many connections of one user, who gets a share
//! for each; links so slow that a round over all queues takes longer than the target.
//!
//! # Source
//! RFC 8290; RFC 8289.

use std::collections::VecDeque;

use paceline_cc::params::{Params, above};
use paceline_cc::{Packet, Span, Time};

use super::{FlowSlots, MOST_BINS, Total};
use crate::queue::codel::{CodelParams, CodelState, PacketSource};
use crate::queue::ring::Ring;
use crate::queue::{DropReason, DroppedPacket, FULL_PACKET, Fifo, Limit, Queue, QueueEntry};

/// Maximum number of packets dropped per overflow (RFC 8290 §4.1).
const DROP_BATCH: usize = 64;
/// Maximum debt of a queue in quanta, however large its packets are.
const MOST_DEBT: i64 = 1024;

paceline_cc::choices! {
    /// The bytes that CoDel's guard of one MTU looks at.
    pub enum Backlog {
        /// Bytes of all queues.
        Total = "total",
        /// Bytes of the flow's queue.
        Queue = "queue",
    }
}

paceline_cc::params! {
    /// Parameters of FQ-CoDel, with the RFC's names.
    pub struct FqCodelParams {
        /// CoDel's target: sojourn time that is acceptable as a standing queue.
        target: Span = Span::from_millis(5), source "RFC 8290 §5.2.2";
        /// CoDel's interval.
        interval: Span = Span::from_millis(100), in above(Span::ZERO), source "RFC 8290 §5.2.1";
        /// Number of queues to which flows are hashed.
        flows: u32 = 1024, in 1..=MOST_BINS, unit "queues", source "RFC 8290 §5.2.5";
        /// Bytes per turn of the round robin.
        quantum: u32 = FULL_PACKET, in 64.., unit "bytes", source "RFC 8290 §5.2.4";
        /// Maximum number of packets in all queues together, in addition to the buffer's limit.
        limit: u64 = 10_240, in above(0), unit "packets", source "RFC 8290 §5.2.3";
        /// Marks ECN-capable packets CE instead of dropping them.
        ecn: bool = false, source "ours: off in all queues; RFC 8290 §5.2.6: on";
        /// CoDel never drops while at most this many bytes are queued.
        mtu: u32 = FULL_PACKET, unit "bytes", source "RFC 8289 §5.4: MAXPACKET";
        /// Which bytes count for `mtu`: those of all queues, or of the flow's queue.
        backlog: Backlog = Backlog::Total, source "Linux; ns-3: queue";
        /// Changes the hash of flows.
        perturbation: u64 = 0, source "ours";
        /// Packets in the device's transmit ring, where the queue cannot drop or mark them.
        ring: u32 = 0, in 0..=Ring::MOST, unit "packets", source "ours: none; ns-3's devices: 1";
    }
}

/// The queue's entry in the registry.
pub(in crate::queue) const QUEUE: QueueEntry = QueueEntry::builtin(
    "fq_codel",
    "A queue under CoDel for each flow, served in turn, new flows first",
    "RFC 8290",
    FqCodelParams::infos,
    |spec, limit, _stream| {
        let params: FqCodelParams = spec.params()?;
        let ring = params.ring;
        Ok(Ring::before(Box::new(FqCodel::new(params, limit)), ring))
    },
);

/// A flow's queue with the state of its CoDel and of the round robin.
#[derive(Clone, Debug)]
struct Flow {
    fifo: Fifo,
    state: CodelState,
    deficit: i64,
    /// True while the queue is on one of the two lists.
    listed: bool,
}

/// A flow's queue, from which its CoDel takes packets.
struct FlowQueue<'a> {
    fifo: &'a mut Fifo,
    total: &'a mut Total,
    backlog: Backlog,
}

impl PacketSource for FlowQueue<'_> {
    #[inline]
    fn take(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        self.total.pop_into(self.fifo, now, drops, place)
    }
    fn backlog(&self) -> u64 {
        match self.backlog {
            Backlog::Total => self.total.bytes,
            Backlog::Queue => self.fifo.bytes(),
        }
    }
}

/// FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    codel: CodelParams,
    quantum: i64,
    backlog: Backlog,
    limit: Limit,
    /// Maximum number of packets by any limit.
    most: u64,
    bins: FlowSlots<Flow>,
    total: Total,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    marks: u64,
}

impl FqCodel {
    /// Creates empty queues that may hold `limit` together.
    pub fn new(params: FqCodelParams, limit: Limit) -> FqCodel {
        let FqCodelParams { target, interval, ecn, mtu, .. } = params;
        let packets = limit.packets.unwrap_or(u64::MAX).min(params.limit);
        FqCodel {
            codel: CodelParams { target, interval, ecn, mtu, ring: 0 },
            quantum: i64::from(params.quantum.max(1)),
            backlog: params.backlog,
            limit: Limit { packets: Some(packets), ..limit },
            most: params.limit,
            bins: FlowSlots::new(params.flows, params.perturbation),
            total: Total::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            marks: 0,
        }
    }

    /// Drops packets from the head of the queue with the most bytes. Returns false if all queues
    /// are empty.
    fn drop_fattest(&mut self, drops: &mut Vec<DroppedPacket>) -> bool {
        // The first of several equal queues; `max_by_key` takes the last, hence `rev`.
        let fattest = self
            .bins
            .queues
            .iter_mut()
            .rev()
            .max_by_key(|flow| (flow.fifo.bytes(), flow.fifo.packets()));
        let Some(flow) = fattest else { return false };
        let count = (flow.fifo.packets() / 2).clamp(1, DROP_BATCH);
        let before = drops.len();
        for packet in std::iter::from_fn(|| flow.fifo.take_front()).take(count) {
            self.total.remove(&packet);
            drops.push(DroppedPacket { packet, reason: DropReason::Full });
        }
        drops.len() > before
    }
}

impl Queue for FqCodel {
    fn set_limit(&mut self, limit: Limit) -> bool {
        // Each queue was created with the limit of sojourn times, which cannot change.
        let same = limit.sojourn == self.limit.sojourn;
        if same {
            let packets = limit.packets.unwrap_or(u64::MAX).min(self.most);
            self.limit = Limit { packets: Some(packets), ..limit };
        }
        same
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        // A packet larger than the whole buffer must not displace all others.
        if !self.limit.holds(1, u64::from(packet.size)) {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Full });
            return;
        }
        let stale = Limit { packets: None, bytes: None, ..self.limit };
        let index = self.bins.of(packet.flow, || Flow {
            fifo: Fifo::new(stale),
            state: CodelState::default(),
            deficit: 0,
            listed: false,
        });
        let flow = &mut self.bins.queues[index as usize];
        flow.fifo.push(now, packet, drops);
        self.total.add(packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
        while !self.limit.holds(self.total.packets, self.total.bytes) && self.drop_fattest(drops) {}
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let mut packet = Packet::opaque(0);
        self.pop_into(now, drops, &mut packet).then_some(packet)
    }

    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&index) = list.front() else { return false };
            let flow = &mut self.bins.queues[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let Flow { fifo, state, .. } = flow;
            let mut queue = FlowQueue { fifo, total: &mut self.total, backlog: self.backlog };
            let codel = (&self.codel, &mut queue);
            if state.pop_into(codel, now, (&mut *drops, &mut self.marks), place) {
                let deficit = flow.deficit - i64::from(place.size);
                flow.deficit = deficit.max(-MOST_DEBT * self.quantum);
                return true;
            }
            list.pop_front();
            // An empty new queue becomes an old one; otherwise it would always be new again.
            if is_new {
                self.old.push_back(index);
            } else {
                flow.listed = false;
            }
        }
    }

    fn packets(&self) -> usize {
        self.total.packets as usize
    }

    fn bytes(&self) -> u64 {
        self.total.bytes
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("new_queues", self.new.len() as f64);
        see("old_queues", self.old.len() as f64);
    }
}

//! sfqCoDel: stochastic fair queueing with CoDel, as Winstein's thesis ran it.
//!
//! # What it does
//! Hashes each flow to one of `bins`, each under a CoDel of its own, and serves them in turn, one
//! packet at a time whatever its size. A bin that has just become busy goes before those already
//! served. CoDel never drops a bin's last packet, and drops none while all bins together hold no
//! more bytes than the largest packet seen. When the buffer is full, the tail of the bin with the
//! most packets is dropped. The state of a bin's CoDel outlives its packets.
//!
//! # Signals it needs
//! None; the senders must react to loss. It does not know ECN.
//!
//! # Parameters
//! Those of [`SfqCodelParams`].
//!
//! # Where it fails
//! Flows with large packets get more than those with small ones. Otherwise as FQ-CoDel.
//!
//! # Source
//! Nichols' model for ns-2 in its version of March 2013, used in Winstein's thesis (MIT, 2014). It
//! keeps older rules of CoDel: a new start within 8 intervals continues from count − 2, and count
//! grows only with drops that leave the queue above target.

use std::collections::VecDeque;

use paceline_cc::params::{Params, above};
use paceline_cc::{Packet, Span, Time};

use super::{FlowSlots, MOST_BINS, Total};
use crate::queue::codel::{FirstAbove, next_drop};
use crate::queue::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry};

/// Lower bound of the largest packet size seen so far, in bytes.
const SMALLEST_MAX: u32 = 256;

paceline_cc::params! {
    /// Parameters of sfqCoDel.
    pub struct SfqCodelParams {
        /// CoDel's target: sojourn time that is acceptable as a standing queue.
        target: Span = Span::from_millis(5), source "Nichols' model";
        /// CoDel's interval.
        interval: Span = Span::from_millis(100), in above(Span::ZERO), source "Nichols' model";
        /// Number of bins to which flows are hashed.
        bins: u32 = 1024, in 1..=MOST_BINS, unit "bins", source "Nichols' model";
        /// Changes the hash of flows.
        perturbation: u64 = 0, source "ours";
    }
}

/// The queue's entry in the registry.
pub(in crate::queue) const QUEUE: QueueEntry = QueueEntry::builtin(
    "sfq_codel",
    "A queue under CoDel for each flow, served one packet at a time, new flows first",
    "Nichols' ns-2 model, March 2013; Winstein's thesis (MIT, 2014)",
    SfqCodelParams::infos,
    |spec, limit, _stream| Ok(Box::new(SfqCodel::new(spec.params()?, limit))),
);

/// A bin with the state of its CoDel.
#[derive(Clone, Debug)]
struct Bin {
    fifo: Fifo,
    above: FirstAbove,
    drop_next: Time,
    count: u32,
    dropping: bool,
    /// True from its first packet to its first turn.
    new: bool,
    /// True while it is on the schedule.
    listed: bool,
}

/// sfqCoDel.
#[derive(Clone, Debug)]
pub struct SfqCodel {
    params: SfqCodelParams,
    limit: Limit,
    bins: FlowSlots<Bin>,
    total: Total,
    /// The bins in the order of their turns.
    schedule: VecDeque<u32>,
    /// The bin that was longest at the last overflow.
    longest: usize,
    max_packet: u32,
}

impl SfqCodel {
    /// Creates empty bins that may hold `limit` together.
    pub fn new(params: SfqCodelParams, limit: Limit) -> SfqCodel {
        SfqCodel {
            limit,
            bins: FlowSlots::new(params.bins, params.perturbation),
            total: Total::default(),
            schedule: VecDeque::new(),
            longest: 0,
            max_packet: SMALLEST_MAX,
            params,
        }
    }

    /// Drops the tail of the longest bin. Of several equally long bins, chooses another one than
    /// the last time.
    fn drop_longest(&mut self, drops: &mut Vec<DroppedPacket>) {
        let queues = &mut self.bins.queues;
        let mut longest = self.longest;
        for (index, bin) in queues.iter().enumerate() {
            if index != self.longest && bin.fifo.packets() >= queues[longest].fifo.packets() {
                longest = index;
            }
        }
        self.longest = longest;
        if let Some(packet) = queues[longest].fifo.take_back() {
            self.total.remove(&packet);
            drops.push(DroppedPacket { packet, reason: DropReason::Full });
        }
    }

    /// Schedules a bin after other new bins and before the rest, except that the last bin of the
    /// round keeps its turn, as in the model.
    fn schedule(&mut self, index: u32) {
        let new = |index: &&u32| self.bins.queues[**index as usize].new;
        let lead = self.schedule.iter().take_while(new).count();
        if lead + 1 >= self.schedule.len() {
            self.schedule.push_back(index);
        } else {
            self.schedule.insert(lead, index);
        }
        let bin = &mut self.bins.queues[index as usize];
        (bin.new, bin.listed) = (true, true);
    }

    /// Removes the bin's next packet. Also returns whether its sojourn time has been above target
    /// for an interval.
    fn take(
        &mut self,
        index: u32,
        now: Time,
        drops: &mut Vec<DroppedPacket>,
    ) -> Option<(Packet, bool)> {
        let bin = &mut self.bins.queues[index as usize];
        let Some(packet) = self.total.pop(&mut bin.fifo, now, drops) else {
            bin.above = FirstAbove::default();
            return None;
        };
        self.max_packet = self.max_packet.max(packet.size);
        let below = now.since(packet.queued) < self.params.target
            || self.total.bytes <= u64::from(self.max_packet)
            || bin.fifo.is_empty();
        Some((packet, bin.above.note(now, below, self.params.interval)))
    }

    /// Runs CoDel on one bin. Returns the packet to send.
    fn codel(&mut self, index: u32, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let interval = self.params.interval;
        let at = index as usize;
        let (mut packet, mut ok_to_drop) = self.take(index, now, drops)?;
        if !self.bins.queues[at].dropping {
            if ok_to_drop {
                drops.push(DroppedPacket { packet, reason: DropReason::Aqm });
                (packet, _) = self.take(index, now, drops)?;
                let bin = &mut self.bins.queues[at];
                bin.dropping = true;
                let lately = now.since(bin.drop_next) < interval * 8;
                bin.count = if bin.count > 2 && lately { bin.count - 2 } else { 1 };
                bin.drop_next = next_drop(now, interval, bin.count);
            }
            return Some(packet);
        }
        while ok_to_drop && now >= self.bins.queues[at].drop_next {
            drops.push(DroppedPacket { packet, reason: DropReason::Aqm });
            (packet, ok_to_drop) = self.take(index, now, drops)?;
            let bin = &mut self.bins.queues[at];
            if ok_to_drop {
                bin.count = bin.count.saturating_add(1);
                bin.drop_next = next_drop(bin.drop_next, interval, bin.count);
            }
        }
        self.bins.queues[at].dropping = ok_to_drop;
        Some(packet)
    }
}

impl Queue for SfqCodel {
    fn set_limit(&mut self, limit: Limit) -> bool {
        // Each bin was created with the limit of sojourn times, which cannot change.
        let same = limit.sojourn == self.limit.sojourn;
        if same {
            self.limit = limit;
        }
        same
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        let size = u64::from(packet.size);
        // A packet larger than the whole buffer must not displace all others.
        if !self.limit.holds(1, size) {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Full });
            return;
        }
        while !self.limit.holds(self.total.packets + 1, self.total.bytes.saturating_add(size)) {
            self.drop_longest(drops);
        }
        let stale = Limit { packets: None, bytes: None, ..self.limit };
        let index = self.bins.of(packet.flow, || Bin {
            fifo: Fifo::new(stale),
            above: FirstAbove::default(),
            drop_next: Time::ZERO,
            count: 0,
            dropping: false,
            new: false,
            listed: false,
        });
        let bin = &mut self.bins.queues[index as usize];
        bin.fifo.push(now, packet, drops);
        self.total.add(packet);
        if !bin.listed {
            self.schedule(index);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        loop {
            let index = *self.schedule.front()?;
            let bin = &mut self.bins.queues[index as usize];
            bin.new = false;
            if bin.fifo.is_empty() {
                (bin.dropping, bin.listed) = (false, false);
                self.schedule.pop_front();
            } else if let Some(packet) = self.codel(index, now, drops) {
                self.schedule.rotate_left(1);
                return Some(packet);
            }
        }
    }

    fn packets(&self) -> usize {
        self.total.packets as usize
    }

    fn bytes(&self) -> u64 {
        self.total.bytes
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bins", self.schedule.len() as f64);
    }
}

//! DualPI2: the coupled dual queue of L4S.
//!
//! # What it does
//! Packets with ECT(1) or CE go to a low-latency queue L, all others to a classic queue C. A
//! controller updates a base probability p' every `tupdate` from the longer of both waiting times.
//! C drops with p'², or marks ECN-capable packets instead. L marks with `k` p', or, if that is
//! more, when a packet has waited for `step_thresh`. The coupling gives a classic and a scalable
//! flow about equal windows, while L's own marks keep its queue short. L is served first, with a
//! share kept for C.
//!
//! While less than two full packets are left in both queues, the controller neither drops nor marks, as in Linux: on a link on
//! which a packet takes longer than the target, it would drop although no queue stands. The step marks all the same.
//!
//! On overload, when `k` p' reaches one, L drops with p'² and marks the rest, and C drops
//! ECN-capable packets too. Missed updates are made up for at the next push or pop, each with the
//! waiting times at the time when it was due.
//!
//! # Signals it needs
//! None; classic senders must react to loss or CE, those in L to the fraction of marks.
//!
//! # Parameters
//! Those of [`DualPi2Params`]. The step is Linux's 1 ms; RFC 9332's appendix has a ramp,
//! `step_thresh=1ms,range=400us`. `step_packets` puts a number of packets in its place. `scheduler`
//! is a weighted round robin with the share `c_protection` for C, or the packet that has waited
//! longest, with `tshift` added in L. Random decisions come from the queue's own stream; without
//! `random` the RFC's counters decide.
//!
//! # Where it fails
//! Links whose rate varies: the step is a fixed time, and the controller needs some `tupdate`s.
//! Traffic in L that does not react. ABC's packets carry ECT(1) for accelerate and ECT(0) for
//! brake: this queue would sort them into L and C and reorder them; do not combine the two.
//!
//! # Source
//! RFC 9332; De Schepper et al., "PI²: A Linearized AQM for both Classic and Scalable TCP", CoNEXT
//! 2016.

mod params;
mod pi2;
mod scheduler;
#[cfg(test)]
mod tests;

pub use params::{DualPi2Params, Scheduling};

use paceline_cc::params::Params;
use paceline_cc::{Ecn, Packet, Span, Stream, Time};
use pi2::{Decider, Pi2};
use scheduler::Scheduler;

use super::periodic::PeriodicUpdates;
use super::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry, mark, mark_or_drop};

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "dualpi2",
    "A low-latency queue for scalable senders coupled to a classic queue (L4S)",
    "RFC 9332",
    DualPi2Params::infos,
    |spec, limit, stream| Ok(Box::new(DualPi2::new(spec.params()?, limit, stream))),
);

/// One of the two queues: L with low latency, C for classic traffic.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Side {
    L,
    C,
}

/// DualPI2. Fields are named as in RFC 9332, Appendix A.1.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: DualPi2Params,
    limit: Limit,
    l: Fifo,
    c: Fifo,
    pi2: Pi2,
    updates: PeriodicUpdates,
    scheduler: Scheduler,
    decider: Decider,
    marks: u64,
}

impl DualPi2 {
    /// Creates empty queues that may hold `limit` together.
    pub fn new(params: DualPi2Params, limit: Limit, stream: Stream) -> DualPi2 {
        let stale = Limit { packets: None, bytes: None, ..limit };
        DualPi2 {
            limit,
            l: Fifo::new(stale),
            c: Fifo::new(stale),
            pi2: Pi2::default(),
            updates: PeriodicUpdates::new(params.tupdate),
            scheduler: Scheduler::new(&params),
            decider: Decider::new(stream, params.random),
            marks: 0,
            params,
        }
    }

    /// Makes up for the updates since the last call.
    fn catch_up(&mut self, now: Time) {
        while let Some(at) = self.updates.due(now) {
            let waited =
                |fifo: &Fifo| fifo.front().map_or(Span::ZERO, |head| at.since(head.queued));
            let delay = waited(&self.l).max(waited(&self.c));
            if !self.pi2.update(&self.params, delay) && self.is_empty() {
                self.updates.skip(now);
            }
        }
    }

    /// Returns L's own marking probability for a packet that was just removed from it.
    fn native(&self, now: Time, packet: &Packet) -> f64 {
        let params = &self.params;
        // Before that, L had one packet more.
        if (self.l.packets() as u64) < u64::from(params.th_len) {
            return 0.0;
        }
        if params.step_packets > 0 {
            return f64::from(u8::from(self.l.packets() as u64 > u64::from(params.step_packets)));
        }
        let waited = now.since(packet.queued);
        // The ramp is centred on the threshold; with a range of zero it is a step.
        let start = params.step_thresh - params.range / 2;
        let above = waited - start;
        match waited > start {
            false => 0.0,
            true if params.range.is_zero() => 1.0,
            true => (above.as_secs_f64() / params.range.as_secs_f64()).min(1.0),
        }
    }

    /// Returns true if too little is queued for a drop or a mark by the controller (Linux `must_drop`).
    fn is_short(&self) -> bool {
        self.bytes() < 2 * u64::from(self.params.mtu)
    }

    /// Marks or drops a packet of L. Returns `None` if it was dropped.
    fn low_latency(
        &mut self,
        now: Time,
        mut packet: Packet,
        drops: &mut Vec<DroppedPacket>,
    ) -> Option<Packet> {
        let coupled = if self.is_short() { 0.0 } else { self.pi2.coupled(self.params.k) };
        let p = if coupled < 1.0 {
            self.native(now, &packet).max(coupled)
        } else if self.decider.decide(Side::L, self.pi2.classic()) {
            drops.push(DroppedPacket { packet, reason: DropReason::Aqm });
            return None;
        } else {
            1.0
        };
        if self.decider.decide(Side::L, p) {
            mark(&mut packet, &mut self.marks);
        }
        Some(packet)
    }

    /// Marks or drops a packet of C. Returns `None` if it was dropped.
    fn classic(&mut self, packet: Packet, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        if self.is_short() || !self.decider.decide(Side::C, self.pi2.classic()) {
            return Some(packet);
        }
        let overload = self.pi2.coupled(self.params.k) >= 1.0;
        mark_or_drop(packet, !overload, &mut self.marks, drops)
    }
}

impl Queue for DualPi2 {
    fn set_limit(&mut self, limit: Limit) -> bool {
        let stale = Limit { packets: None, bytes: None, ..limit };
        self.limit = limit;
        self.l.set_limit(stale) && self.c.set_limit(stale)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.catch_up(now);
        let bytes = self.bytes().saturating_add(u64::from(packet.size));
        if !self.limit.holds(self.packets() as u64 + 1, bytes) {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Full });
        } else if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) {
            self.l.push(now, packet, drops);
        } else {
            self.c.push(now, packet, drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        self.catch_up(now);
        loop {
            let side = self.scheduler.choose(now, &self.l, &self.c)?;
            let sent = match side {
                Side::L => self.l.pop(now, drops).map(|p| self.low_latency(now, p, drops)),
                Side::C => self.c.pop(now, drops).map(|p| self.classic(p, drops)),
            };
            // There is no packet if all packets of this queue were stale or dropped.
            if let Some(packet) = sent.flatten() {
                self.scheduler.sent(side, &packet, self.l.is_empty(), self.c.is_empty());
                return Some(packet);
            }
        }
    }

    fn packets(&self) -> usize {
        self.l.packets() + self.c.packets()
    }

    fn bytes(&self) -> u64 {
        self.l.bytes() + self.c.bytes()
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("base_prob", self.pi2.base());
        see("l_packets", self.l.packets() as f64);
        see("c_packets", self.c.packets() as f64);
    }
}

//! Two queues at an ABC router: one for ABC's packets, one for all others.
//!
//! # What it does
//! Packets of ABC flows wait apart from all others, so that a queue that others build does not
//! lower ABC's target rate. The link is shared by weights: while both queues wait, each gets its
//! share of the bytes; what one does not use, the other may. The weights are set every `period`, so
//! that long flows of both kinds get the same rate.
//!
//! With `weights=maxmin` each queue measures the bytes of its `k` largest flows by Space-Saving.
//! Such a flow's demand is (1 + `x`) times its rate; all other flows of a queue count as short, and
//! their demand is the rate they got. The capacity is the sum of what both queues got. The max-min
//! fair allocation gives the short flows their demand, since each alone is below the fair level,
//! and fills up the large ones. A queue's weight is what its flows are allocated.
//!
//! With `weights=zombie` each queue estimates its number of flows by a zombie list, and the weights
//! are in proportion to these. Short flows count as flows but cannot use what they are given; long
//! flows beside them get it. This is there for comparison. The zombie lists draw from the queue's
//! own random stream.
//!
//! # Signals it needs
//! That a packet is of an ABC flow: its class is [`TrafficClass::EXPLICIT`]. ABC's router half
//! counts as capacity what ABC's packets consumed and what they left unused: bytes of ABC's share
//! that went to others because no ABC packet waited. ABC's queue may save up `burst` bytes of its
//! share before any count as unused, so that jitter of arrivals is not taken for unused capacity.
//!
//! # Parameters
//! Those of [`AbcDualParams`]; `k`, `counters`, `x` and `keep` are for `weights=maxmin`, `list`,
//! `gain` and `replace` for `weights=zombie`. Space-Saving tells up to `counters` flows of equal
//! rate apart.
//!
//! The authors' code differs from the paper: it serves a queue drawn at random, has a moving
//! average for every port in place of Space-Saving, and keeps the weight of the other queue within
//! 20 % of its measured share. The paper has no such bound; `clamp` adds it.
//!
//! A flow's demand can grow by `x` per memory of the measurements, 1 / (1 - `keep`) periods. A
//! longer memory makes flows slower to win back what they lost; a shorter one takes bursts of
//! single flows for unequal rates, which costs the queue of the burstier flows some weight.
//!
//! # Where it fails
//! More than `counters` long flows in one queue: some count as short, so their demand is estimated
//! as no more than they get. Flows among the `k` largest that cannot use `x` more: their queue gets
//! up to `x` too much. Unequal flows in one queue: the small ones are assumed to want only `x`
//! more, which costs their queue some of its weight.
//!
//! # Source
//! Goyal et al., "ABC: A Simple Explicit Congestion Controller for Wireless Networks", NSDI 2020,
//! §4.3; Metwally et al., "Efficient Computation of Frequent and Top-k Elements in Data Streams",
//! ICDT 2005; Ott et al., "SRED: Stabilized RED", INFOCOM 1999 (zombie lists).

mod maxmin;
mod params;
mod share;
mod space_saving;
#[cfg(test)]
mod tests;
mod zombie;

pub use params::{AbcDualParams, Weights};

use maxmin::MaxMin;
use paceline_cc::params::Params;
use paceline_cc::{Packet, Stream, Time, TrafficClass};
use share::Share;
use zombie::ZombieLists;

use super::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry};

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "abc_dual",
    "A queue for ABC's packets and one for all others, with shares that are fair to flows",
    "Goyal et al., NSDI 2020, section 4.3",
    AbcDualParams::infos,
    |spec, limit, stream| {
        let params: AbcDualParams = spec.params()?;
        params.check(spec)?;
        Ok(Box::new(AbcDual::new(params, limit, stream)))
    },
);

/// One of the two queues: ABC's, or that of all other traffic.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Side {
    Abc,
    Other,
}

impl Side {
    fn of_class(class: TrafficClass) -> Side {
        if class == TrafficClass::EXPLICIT { Side::Abc } else { Side::Other }
    }

    fn of(packet: &Packet) -> Side {
        Side::of_class(packet.class)
    }

    fn index(self) -> usize {
        match self {
            Side::Abc => 0,
            Side::Other => 1,
        }
    }
}

/// The rule that sets the weights.
#[derive(Clone, Debug)]
enum WeightRule {
    MaxMin(MaxMin),
    Zombie(Box<ZombieLists>),
}

/// The two queues, their shares of the link, and the rule that sets the shares.
#[derive(Clone, Debug)]
pub struct AbcDual {
    abc: Fifo,
    other: Fifo,
    share: Share,
    rule: WeightRule,
    params: AbcDualParams,
    /// When the weights are set next.
    next: Time,
    /// Bytes that have left each queue since the last update.
    served: [u64; 2],
}

impl AbcDual {
    /// Creates empty queues that may hold `limit` together, in fixed parts.
    pub fn new(params: AbcDualParams, limit: Limit, stream: Stream) -> AbcDual {
        let (abc, other) = params.parts(limit);
        AbcDual {
            abc: Fifo::new(abc),
            other: Fifo::new(other),
            share: Share::new(0.5, params.burst),
            rule: match params.weights {
                Weights::MaxMin => WeightRule::MaxMin(MaxMin::new(&params)),
                Weights::Zombie => WeightRule::Zombie(Box::new(ZombieLists::new(&params, stream))),
            },
            next: Time::ZERO + params.period,
            served: [0; 2],
            params,
        }
    }

    /// Updates the weights if it is time. Skips periods in which the queue was not called.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.next && self.next != Time::NEVER {
            self.update();
            self.next = now + self.params.period;
        }
    }

    fn update(&mut self) {
        let weight = match &mut self.rule {
            WeightRule::MaxMin(rule) => rule.update(),
            WeightRule::Zombie(rule) => Some(rule.weight()),
        };
        let served = std::mem::take(&mut self.served);
        if let Some(weight) = weight {
            self.share.set(self.params.bounded(weight, served));
        }
    }

    fn fifo(&mut self, side: Side) -> &mut Fifo {
        match side {
            Side::Abc => &mut self.abc,
            Side::Other => &mut self.other,
        }
    }

    /// Charges a departing packet to its queue's share.
    fn sent(&mut self, side: Side, packet: &Packet) {
        let gainer_waits = match side {
            Side::Abc => !self.other.is_empty(),
            Side::Other => !self.abc.is_empty(),
        };
        self.share.sent(side, packet.size, gainer_waits);
        self.served[side.index()] += u64::from(packet.size);
        if let WeightRule::MaxMin(rule) = &mut self.rule {
            rule.sent(side, packet.flow, packet.size);
        }
    }
}

impl Queue for AbcDual {
    fn set_limit(&mut self, limit: Limit) -> bool {
        let (abc, other) = self.params.parts(limit);
        self.abc.set_limit(abc) && self.other.set_limit(other)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.catch_up(now);
        let side = Side::of(packet);
        if let WeightRule::Zombie(rule) = &mut self.rule {
            rule.arrived(side, packet.flow);
        }
        if self.fifo(side).fits(packet.size) {
            self.fifo(side).push(now, packet, drops);
        } else {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Full });
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        self.catch_up(now);
        loop {
            let side = self.share.choose(!self.abc.is_empty(), !self.other.is_empty())?;
            // There is no packet if all packets of this queue were stale.
            if let Some(packet) = self.fifo(side).pop(now, drops) {
                self.sent(side, &packet);
                return Some(packet);
            }
        }
    }

    fn packets(&self) -> usize {
        self.abc.packets() + self.other.packets()
    }

    fn bytes(&self) -> u64 {
        self.abc.bytes() + self.other.bytes()
    }

    fn backlog_for(&self, class: TrafficClass, _flow: u32) -> (usize, u64) {
        let fifo = match Side::of_class(class) {
            Side::Abc => &self.abc,
            Side::Other => &self.other,
        };
        (fifo.packets(), fifo.bytes())
    }

    fn take_unused_share(&mut self) -> u32 {
        self.share.take_unused()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("abc_weight", self.share.weight());
        see("abc_packets", self.abc.packets() as f64);
        see("other_packets", self.other.packets() as f64);
        if let WeightRule::Zombie(rule) = &self.rule {
            see("abc_flows", rule.flows(Side::Abc));
            see("other_flows", rule.flows(Side::Other));
        }
    }
}

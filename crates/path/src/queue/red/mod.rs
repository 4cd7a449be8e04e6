//! RED: random early detection.
//!
//! # What it does
//! Keeps a moving average of the queue's length at arrivals. Below `min` every packet enters; from
//! `min` to `max` packets are dropped with a probability that grows to `max_p`, spread so that
//! drops are evenly spaced; above, all are dropped, or with `gentle` the probability grows to one
//! at twice `max`. After an idle time the average decays as if packets had arrived to an empty
//! queue all that while.
//!
//! # Signals it needs
//! None; the senders must react to loss, or to CE marks if `ecn` is set.
//!
//! # Parameters
//! Those of [`RedParams`]; `gentle` and `wait` are as in ns-3. `min` and `max` are both in packets
//! or both in bytes. `packet_time` is the unit in which idle times are counted; 0s takes the mean
//! time between departures from the busy queue, and 1 ms before 16 of them. `hard_drop` drops
//! ECN-capable packets too where all packets are dropped. DCTCP's marking is
//! `red[min=20,max=20,w=1,ecn=true,gentle=false,hard_drop=false]`, or in short [`step`]. Random
//! decisions come from the queue's own stream.
//!
//! # Where it fails
//! Its thresholds fit one rate: on a link whose rate varies, the same length is a different delay.
//! The average reacts slowly to bursts and outages.
//!
//! # Source
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN
//! 1(4), 1993; Floyd, "Recommendation on using the gentle variant of RED", 2000; RFC 3168 §7.

mod average;
mod length;
pub mod step;
#[cfg(test)]
mod tests;

use average::Average;
pub use length::QueueLength;
use paceline_cc::params::{Params, above};
use paceline_cc::{Packet, Span, Stream, Time};

use super::ring::Ring;
use super::{DroppedPacket, Fifo, Limit, Queue, QueueEntry, mark_or_drop};

paceline_cc::params! {
    /// Parameters of RED.
    pub struct RedParams {
        /// Average below which no packet is dropped: packets (`5`) or bytes (`5kB`).
        min: QueueLength = QueueLength::Packets(5), source "ns-3";
        /// Average at which the probability is `max_p`.
        max: QueueLength = QueueLength::Packets(15), must "at least min, in the same unit",
            source "ns-3";
        /// Weight of one arrival in the average.
        w: f64 = 0.002, in above(0.0).up_to(1.0), source "ns-3";
        /// Probability of drops at `max`.
        max_p: f64 = 0.02, in above(0.0).up_to(1.0), source "ns-3";
        /// Increases the probability to one between `max` and twice `max`, instead of jumping.
        gentle: bool = true, source "Floyd 2000; ns-3";
        /// Waits longer between drops: distances from 1/p to 2/p instead of up to 1/p.
        wait: bool = true, source "ns-3";
        /// Marks ECN-capable packets CE instead of dropping them.
        ecn: bool = false, source "ours: off in all queues";
        /// Drops ECN-capable packets too where the probability is one.
        hard_drop: bool = true, source "RFC 3168 §7";
        /// Transmission time of a packet, the unit of idle times; 0s: as measured.
        packet_time: Span = Span::ZERO, source "ours";
        /// Packets in the device's transmit ring, where the queue cannot drop or mark them.
        ring: u32 = 0, in 0..=Ring::MOST, unit "packets", source "ours: none; ns-3's devices: 1";
    }
}

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "red",
    "Drops arrivals at random as the average length grows from one threshold to another",
    "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993",
    RedParams::infos,
    |spec, limit, stream| {
        let params: RedParams = spec.params()?;
        let (min, max) = (params.min, params.max);
        let max_holds = min.in_bytes() == max.in_bytes() && min.number() <= max.number();
        spec.require(max_holds, &params, "max")?;
        let ring = params.ring;
        Ok(Ring::before(Box::new(Red::new(params, limit, stream)), ring))
    },
);

/// What happens to an arriving packet.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Decision {
    Enqueue,
    /// It is dropped or marked at random.
    Unforced,
    /// The probability is one: it is dropped or, without `hard_drop`, marked.
    Forced,
}

/// RED with a FIFO buffer.
#[derive(Clone, Debug)]
pub struct Red {
    params: RedParams,
    min: f64,
    max: f64,
    in_bytes: bool,
    fifo: Fifo,
    average: Average,
    stream: Stream,
    /// Arrivals since the last drop, while the average is above `min`.
    count: Option<u64>,
    marks: u64,
}

impl Red {
    /// Creates an empty queue.
    pub fn new(params: RedParams, limit: Limit, stream: Stream) -> Red {
        Red {
            min: params.min.number() as f64,
            max: params.max.number() as f64,
            in_bytes: params.min.in_bytes(),
            fifo: Fifo::new(limit),
            average: Average::new(params.w, params.packet_time),
            stream,
            count: None,
            marks: 0,
            params,
        }
    }

    /// Returns the probability at the present average, before drops are spread; `None` for
    /// certainty.
    fn probability(&self) -> Option<f64> {
        let (avg, max_p) = (self.average.value(), self.params.max_p);
        if avg < self.min {
            Some(0.0)
        } else if avg < self.max {
            Some(max_p * (avg - self.min) / (self.max - self.min))
        } else if self.params.gentle && avg < 2.0 * self.max {
            Some(max_p + (1.0 - max_p) * (avg - self.max) / self.max)
        } else {
            None
        }
    }

    /// Decides what happens to an arriving packet.
    fn decide(&mut self) -> Decision {
        if self.average.value() < self.min {
            self.count = None;
            return Decision::Enqueue;
        }
        let Some(p) = self.probability() else {
            self.count = Some(0);
            return Decision::Forced;
        };
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        if self.stream.chance(spread(p, count, self.params.wait)) {
            self.count = Some(0);
            return Decision::Unforced;
        }
        Decision::Enqueue
    }
}

/// Returns the probability of a drop `count` arrivals after the last one, so that distances between
/// drops are uniform.
fn spread(p: f64, count: u64, wait: bool) -> f64 {
    let reached = count as f64 * p;
    match wait {
        true if reached < 1.0 => 0.0,
        true if reached < 2.0 => p / (2.0 - reached),
        false if reached < 1.0 => p / (1.0 - reached),
        _ => 1.0,
    }
}

impl Queue for Red {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.fifo.set_limit(limit)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        let length = if self.in_bytes { self.fifo.bytes() } else { self.fifo.packets() as u64 };
        self.average.arrival(now, length);
        if !self.fifo.fits(packet.size) {
            self.count = self.count.map(|_| 0);
            self.fifo.push(now, packet, drops);
            return;
        }
        let may_mark = match self.decide() {
            Decision::Enqueue => return self.fifo.push(now, packet, drops),
            Decision::Unforced => self.params.ecn,
            Decision::Forced => self.params.ecn && !self.params.hard_drop,
        };
        if let Some(packet) = mark_or_drop(*packet, may_mark, &mut self.marks, drops) {
            self.fifo.push(now, &packet, drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let mut packet = Packet::opaque(0);
        self.pop_into(now, drops, &mut packet).then_some(packet)
    }

    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        let popped = self.fifo.pop_into(now, drops, place);
        self.average.departure(now, popped, self.fifo.is_empty());
        popped
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
        see("average", self.average.value());
        see("probability", self.probability().unwrap_or(1.0));
    }
}

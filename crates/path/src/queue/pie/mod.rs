//! PIE: proportional integral controller enhanced.
//!
//! # What it does
//! Drops arriving packets with a probability that it updates every `t_update` from how far the
//! queueing delay is from `qdelay_ref`, and from how it changed since the last update. Steps are
//! scaled down while the probability is small. Nothing is dropped while a burst allowance lasts,
//! while the delay was less than half the reference and the probability is below 20 %, or while
//! two MTUs or less are queued.
//!
//! The updates come at the multiples of `t_update`, without timers: each push and pop first
//! catches up on those that it missed. So the probability decays while nothing happens, and in
//! an outage it goes on growing from the last known delay.
//!
//! # Signals it needs
//! None; the senders must react to loss, or to CE marks if `ecn` is set.
//!
//! # Parameters
//! Those of [`PieParams`], with the options of RFC 8033 §5. `delay` chooses between the waiting
//! time of the last packet that left and the backlog over the departure rate. `ring` is the number
//! of packets that the device's transmit ring holds ahead of the queue: PIE does not see their
//! delay. Random decisions come from the queue's own stream.
//!
//! # Where it fails
//! Links whose rate changes faster than some updates; few large flows at low rates, where the
//! delay swings around the reference; the waiting time of the last packet says nothing in an
//! outage.
//!
//! # Source
//! RFC 8033. As in Linux and ns-3, the waiting time is taken as zero once the queue is empty, and
//! more than 250 ms of it adds 2 % to each step.

mod control;
pub mod mahimahi;
mod rate;
#[cfg(test)]
mod tests;

use control::Control;
use paceline_cc::params::{Params, above};
use paceline_cc::{Packet, Span, Stream, Time};
use rate::Departures;

use super::periodic::PeriodicUpdates;
use super::ring::Ring;
use super::{DroppedPacket, FULL_PACKET, Fifo, Limit, Queue, QueueEntry, mark_or_drop};

paceline_cc::choices! {
    /// How the queueing delay is measured.
    pub enum Delay {
        /// Sojourn time of the last packet that left.
        Sojourn = "sojourn",
        /// Backlog divided by the measured departure rate.
        Rate = "rate",
    }
}

paceline_cc::params! {
    /// Parameters of PIE, with the RFC's names.
    pub struct PieParams {
        /// Queueing delay to maintain.
        qdelay_ref: Span = Span::from_millis(15), source "RFC 8033 §4.2: QDELAY_REF";
        /// Time between updates of the probability.
        t_update: Span = Span::from_millis(15), in Span::from_micros(100)..,
            source "RFC 8033 §4.2: T_UPDATE";
        /// How long a burst may last before drops begin.
        max_burst: Span = Span::from_millis(150), source "RFC 8033 §4.4: MAX_BURST";
        /// Increase of the probability per update and per second of delay above the reference.
        alpha: f64 = 0.125, in 0.0.., unit "1/s", source "RFC 8033 §4.2";
        /// Increase of the probability per update and per second of delay growth.
        beta: f64 = 1.25, in 0.0.., unit "1/s", source "RFC 8033 §4.2";
        /// How the queueing delay is measured.
        delay: Delay = Delay::Sojourn, source "RFC 8033 §5.2; §4.3: rate";
        /// Bytes per measurement of the departure rate.
        dq_threshold: u32 = 16_384, in above(0), unit "bytes",
            source "RFC 8033 §5.2: DQ_THRESHOLD";
        /// Marks ECN-capable packets CE instead of dropping them.
        ecn: bool = false, source "ours: off in all queues; RFC 8033 §5.1";
        /// Probability from which on ECN-capable packets are dropped too.
        mark_ecnth: f64 = 0.1, in 0.0..=1.0, source "RFC 8033 §5.1: mark_ecnth";
        /// Limits steps to 2 % at probabilities of 10 % and above.
        cap_drop: bool = true, source "RFC 8033 §5.5";
        /// Spreads drops evenly: none until the probabilities since the last drop add up to 0.85,
        /// one for certain from 8.5 on.
        derandomize: bool = false, source "RFC 8033 §5.4: optional";
        /// Size of a full packet: no packet is dropped while at most two of these are queued.
        mtu: u32 = FULL_PACKET, unit "bytes", source "RFC 8033 §4.1";
        /// Packets in the device's transmit ring, where the queue cannot drop or mark them.
        ring: u32 = 0, in 0..=Ring::MOST, unit "packets", source "ours: none; ns-3's devices: 1";
    }
}

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "pie",
    "Drops arrivals at random so that the queueing delay stays near a reference",
    "RFC 8033",
    PieParams::infos,
    |spec, limit, stream| {
        let params: PieParams = spec.params()?;
        let ring = params.ring;
        Ok(Ring::before(Box::new(Pie::new(params, limit, stream)), ring))
    },
);

/// PIE with a FIFO buffer. Fields are named as in RFC 8033.
#[derive(Clone, Debug)]
pub struct Pie {
    params: PieParams,
    fifo: Fifo,
    control: Control,
    departures: Departures,
    updates: PeriodicUpdates,
    stream: Stream,
    burst_allowance: Span,
    /// Sum of probabilities since the last drop, for `derandomize`.
    accu_prob: f64,
    /// Sojourn time of the last packet that left.
    sojourn: Span,
    marks: u64,
}

impl Pie {
    /// Creates an empty queue.
    pub fn new(params: PieParams, limit: Limit, stream: Stream) -> Pie {
        Pie {
            fifo: Fifo::new(limit),
            control: Control::default(),
            departures: Departures::new(params.dq_threshold),
            updates: PeriodicUpdates::new(params.t_update),
            stream,
            burst_allowance: params.max_burst,
            accu_prob: 0.0,
            sojourn: Span::ZERO,
            marks: 0,
            params,
        }
    }

    fn qdelay(&self) -> Span {
        match self.params.delay {
            Delay::Sojourn => self.sojourn,
            Delay::Rate => self.departures.delay(self.fifo.bytes()),
        }
    }

    /// Makes up for the updates since the last call.
    fn catch_up(&mut self, now: Time) {
        while self.updates.due(now).is_some() {
            let qdelay = self.qdelay();
            let burst = self.burst_allowance;
            self.burst_allowance = burst - self.params.t_update;
            let changed = self.control.update(&self.params, qdelay);
            if !changed && burst == self.burst_allowance {
                self.updates.skip(now);
            }
        }
    }

    /// Returns true if the arriving packet is to be dropped or marked.
    fn drop_early(&mut self) -> bool {
        let (p, half) = (self.control.drop_prob, self.params.qdelay_ref / 2);
        if p == 0.0 {
            self.accu_prob = 0.0;
            if self.qdelay() < half && self.control.qdelay_old < half {
                self.burst_allowance = self.params.max_burst;
            }
        }
        let guarded = !self.burst_allowance.is_zero()
            || (self.control.qdelay_old < half && p < 0.2)
            || self.fifo.bytes() <= 2 * u64::from(self.params.mtu);
        if guarded {
            return false;
        }
        if self.params.derandomize {
            self.accu_prob += p;
            if self.accu_prob < 0.85 {
                return false;
            }
        }
        let chosen = self.stream.chance(p) || (self.params.derandomize && self.accu_prob >= 8.5);
        if chosen {
            self.accu_prob = 0.0;
        }
        chosen
    }
}

impl Queue for Pie {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.fifo.set_limit(limit)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.catch_up(now);
        if !self.fifo.fits(packet.size) || !self.drop_early() {
            self.fifo.push(now, packet, drops);
            return;
        }
        let may_mark = self.params.ecn && self.control.drop_prob < self.params.mark_ecnth;
        if let Some(packet) = mark_or_drop(*packet, may_mark, &mut self.marks, drops) {
            self.fifo.push(now, &packet, drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let mut packet = Packet::opaque(0);
        self.pop_into(now, drops, &mut packet).then_some(packet)
    }

    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        self.catch_up(now);
        let popped = self.fifo.pop_into(now, drops, place);
        if popped {
            self.sojourn = now.since(place.queued);
            self.departures.note(now, place.size, self.fifo.bytes());
        }
        if self.fifo.is_empty() {
            self.sojourn = Span::ZERO;
        }
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
        see("drop_prob", self.control.drop_prob);
        see("qdelay_ms", self.qdelay().as_millis_f64());
        see("burst_allowance_ms", self.burst_allowance.as_millis_f64());
    }
}

//! Mahimahi's PIE, for reproducing papers that ran it.
//!
//! # What it does
//! PIE with different units and gains. Delays are whole milliseconds where RFC 8033 has seconds,
//! with the same `alpha` and `beta`; steps are divided by 128 below 1 %, by 32 below 10 %, by 16
//! above; updates come every 30 ms. The gain is 62 times the RFC's for probabilities above 0.1 %,
//! and more below. The departure rate is a whole number of bytes per millisecond. There is no burst
//! allowance until the probability has first been zero with a known rate. Updates that were missed
//! are made up for on the next arrival before it counts, or on the next departure after it.
//!
//! # Signals it needs
//! None; the senders must react to loss. It does not know ECN.
//!
//! # Parameters
//! Those of [`PieMahimahiParams`], cut to whole milliseconds. Mahimahi has no defaults, and the
//! papers do not state theirs, so these are RFC 8033's. Random decisions come from the queue's own
//! stream.
//!
//! # Where it fails
//! As PIE. It also overreacts: the drop probability swings between low and high. Below 8 kbit/s the
//! rate is zero and it never drops.
//!
//! # Source
//! Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, and its
//! program `mm-link`, queue `pie`.

use paceline_cc::params::Params;
use paceline_cc::{Packet, Span, Stream, Time};

use crate::MAHIMAHI_OPPORTUNITY;
use crate::queue::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry};

/// Milliseconds between updates.
const T_UPDATE: u64 = 30;
/// Bytes per measurement of the departure rate.
const DQ_THRESHOLD: u64 = 16_384;
/// Bytes of a full packet.
const PACKET_SIZE: u64 = MAHIMAHI_OPPORTUNITY as u64;
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Maximum number of updates that one call makes up for.
const MOST: u64 = 1 << 16;

paceline_cc::params! {
    /// Parameters of Mahimahi's PIE.
    pub struct PieMahimahiParams {
        /// Queueing delay to maintain.
        qdelay_ref: Span = Span::from_millis(15), in Span::from_millis(1)..,
            source "RFC 8033 §4.2: QDELAY_REF";
        /// How long a burst may last before drops begin.
        max_burst: Span = Span::from_millis(150), in Span::from_millis(1)..,
            source "RFC 8033 §4.4: MAX_BURST";
    }
}

/// The queue's entry in the registry.
pub(in crate::queue) const QUEUE: QueueEntry = QueueEntry::builtin(
    "pie-mahimahi",
    "PIE as Mahimahi has it: delays in milliseconds with gains meant for seconds",
    "Mahimahi (USENIX ATC 2015), mm-link",
    PieMahimahiParams::infos,
    |spec, limit, stream| Ok(Box::new(PieMahimahi::new(spec.params()?, limit, stream))),
);

/// Mahimahi's PIE. Times and spans are in whole milliseconds, rates in bytes per millisecond.
#[derive(Clone, Debug)]
pub struct PieMahimahi {
    qdelay_ref: u64,
    max_burst: u64,
    fifo: Fifo,
    stream: Stream,
    drop_prob: f64,
    burst_allowance: u64,
    qdelay: u64,
    qdelay_old: u64,
    /// Start of the current measurement, and the bytes that have left during it.
    cycle: Option<(u64, u64)>,
    rate: u64,
    last_update: u64,
}

fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// Returns one step of the probability.
fn step(drop_prob: f64, qdelay: u64, qdelay_old: u64, qdelay_ref: u64) -> f64 {
    let above = |other: u64| qdelay as f64 - other as f64;
    let divisor = match drop_prob {
        p if p < 0.01 => 128.0,
        p if p < 0.1 => 32.0,
        _ => 16.0,
    };
    (ALPHA * above(qdelay_ref) + BETA * above(qdelay_old)) / divisor
}

impl PieMahimahi {
    /// Creates an empty queue.
    pub fn new(params: PieMahimahiParams, limit: Limit, stream: Stream) -> PieMahimahi {
        PieMahimahi {
            qdelay_ref: params.qdelay_ref.as_nanos() / 1_000_000,
            max_burst: params.max_burst.as_nanos() / 1_000_000,
            fifo: Fifo::new(limit),
            stream,
            drop_prob: 0.0,
            burst_allowance: 0,
            qdelay: 0,
            qdelay_old: 0,
            cycle: None,
            rate: 0,
            last_update: 0,
        }
    }

    fn catch_up(&mut self, now: u64) {
        let missed = now.saturating_sub(self.last_update) / T_UPDATE;
        self.last_update += T_UPDATE * missed.saturating_sub(MOST);
        while now.saturating_sub(self.last_update) > T_UPDATE {
            self.last_update += T_UPDATE;
            self.update();
        }
    }

    fn update(&mut self) {
        self.qdelay_old = self.qdelay;
        self.qdelay = self.fifo.bytes().checked_div(self.rate).unwrap_or(0);
        let p =
            self.drop_prob + step(self.drop_prob, self.qdelay, self.qdelay_old, self.qdelay_ref);
        self.drop_prob = p.clamp(0.0, 1.0);
        let unknown = self.qdelay == 0 && !self.fifo.is_empty();
        if self.qdelay == 0 && self.qdelay_old == 0 && !unknown && p <= 1.0 {
            self.drop_prob *= 0.98;
        }
        self.burst_allowance = self.burst_allowance.saturating_sub(T_UPDATE);
        let half = self.qdelay_ref / 2;
        if self.drop_prob == 0.0 && self.qdelay < half && self.qdelay_old < half && self.rate > 0 {
            self.cycle = None;
            self.rate = 0;
            self.burst_allowance = self.max_burst;
        }
    }

    /// Notes a packet that has left.
    fn measure(&mut self, now: u64, size: u32) {
        let full = self.fifo.bytes() >= DQ_THRESHOLD;
        if self.cycle.is_none() && full {
            self.cycle = Some((now, 0));
        }
        let Some((start, bytes)) = &mut self.cycle else { return };
        *bytes = bytes.saturating_add(u64::from(size));
        let time = now.saturating_sub(*start);
        if *bytes <= DQ_THRESHOLD || time == 0 {
            return;
        }
        let sample = *bytes / time;
        self.rate = match self.rate {
            0 => sample,
            rate => rate - (rate >> 3) + (sample >> 3),
        };
        self.cycle = full.then_some((now, 0));
        self.burst_allowance = self.burst_allowance.saturating_sub(time);
    }

    fn drop_early(&mut self) -> bool {
        let guarded = self.burst_allowance > 0
            || (self.qdelay_old < self.qdelay_ref / 2 && self.drop_prob < 0.2)
            || self.fifo.bytes() < 2 * PACKET_SIZE;
        !guarded && self.stream.chance(self.drop_prob)
    }
}

impl Queue for PieMahimahi {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.fifo.set_limit(limit)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.catch_up(millis(now));
        if self.fifo.fits(packet.size) && self.drop_early() {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Aqm });
        } else {
            self.fifo.push(now, packet, drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let packet = self.fifo.pop(now, drops)?;
        self.measure(millis(now), packet.size);
        self.catch_up(millis(now));
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("drop_prob", self.drop_prob);
        see("qdelay_ms", self.qdelay as f64);
        see("burst_allowance_ms", self.burst_allowance as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{open_loop, stream};

    #[test]
    fn steps_are_the_fact_sheets() {
        assert_eq!(step(0.05, 30, 30, 15), 0.058_593_75);
        assert_eq!(step(0.0, 30, 30, 15), 1.875 / 128.0);
        assert_eq!(step(0.1, 15, 7, 15), 10.0 / 16.0);
        assert_eq!(step(0.1, 0, 0, 15), -1.875 / 16.0);
    }

    #[test]
    fn under_constant_overload_it_drops_the_excess_in_swings() {
        let mut queue =
            PieMahimahi::new(PieMahimahiParams::default(), Limit::packets(1000), stream());
        let outcome = open_loop(&mut queue, 800, 1000, 60_000, |packet| *packet);
        assert!((outcome.loss() - 0.2).abs() < 0.02, "{outcome:?}");
        assert!(outcome.delay_ms < 60.0, "{outcome:?}");
    }
}

//! A token bucket that drops instead of delaying.
//!
//! # What it does
//! Tokens come at `rate`, at most `burst` of them. A packet takes as many tokens as it has bytes; a packet for
//! which there are not enough is dropped. Packets that pass are not delayed by the policer. They wait only while
//! the link, which is faster, transmits others, and the buffer's limit applies to them.
//!
//! # Signals it needs
//! None; the senders must react to loss.
//!
//! # Parameters
//! The rate that passes in the long run, and the burst that passes at once.
//!
//! # Where it fails
//! With senders that react to delay, which it does not cause, and with those that take rare losses for noise.
//!
//! # Source
//! RFC 2697: the committed information rate and the committed burst size. Flach et al., "An Internet-Wide Analysis
//! of Traffic Policing", SIGCOMM 2016.

use paceline_cc::params::{Params, above};
use paceline_cc::{Packet, Rate, Time};

use super::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry};

paceline_cc::params! {
    /// Parameters of the policer.
    pub struct PolicerParams {
        /// Rate at which tokens come.
        rate: Rate = Rate::from_mbps(10.0), in above(Rate::ZERO), source "ours";
        /// Largest number of tokens: what passes at once after a silence.
        burst: u32 = 125_000, in 1.., unit "bytes", source "ours: 100 ms at the rate";
    }
}

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "policer",
    "A token bucket that drops packets above a rate and delays none",
    "RFC 2697; SIGCOMM 2016",
    PolicerParams::infos,
    |spec, limit, _stream| {
        let PolicerParams { rate, burst } = spec.params()?;
        Ok(Box::new(Policer::new(rate, u64::from(burst), limit)))
    },
);

/// A token bucket that drops instead of delaying.
#[derive(Clone, Debug)]
pub struct Policer {
    rate: Rate,
    burst: u64,
    tokens: u64,
    /// Time up to which tokens were added.
    filled: Time,
    fifo: Fifo,
}

impl Policer {
    /// Creates a full bucket of `burst` bytes that fills at `rate`, with a buffer of this limit for packets that
    /// have passed.
    pub fn new(rate: Rate, burst: u64, limit: Limit) -> Policer {
        Policer { rate, burst, tokens: burst, filled: Time::ZERO, fifo: Fifo::new(limit) }
    }

    /// Adds the tokens that have come until `now`.
    fn fill(&mut self, now: Time) {
        let gained = self.rate.bytes_in(now.since(self.filled));
        if gained > 0 {
            // The time for a fraction of a byte is kept.
            self.filled = (self.filled + self.rate.time_for(gained)).min(now);
            self.tokens = self.tokens.saturating_add(gained).min(self.burst);
        }
    }
}

impl Queue for Policer {
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.fill(now);
        match self.tokens.checked_sub(u64::from(packet.size)) {
            Some(left) if self.fifo.fits(packet.size) => {
                self.tokens = left;
                self.fifo.push(now, packet, drops);
            }
            _ => {
                let packet = Packet { queued: now, ..*packet };
                drops.push(DroppedPacket { packet, reason: DropReason::Full });
            }
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        self.fifo.pop(now, drops)
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn set_limit(&mut self, limit: Limit) -> bool {
        self.fifo.set_limit(limit)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("tokens", self.tokens as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a packet of 1000 bytes every millisecond, 8 Mbit/s, to a policer of 4 Mbit/s with a
    /// burst of 3 packets.
    #[test]
    fn a_burst_passes_then_the_rate() {
        let mut queue = Policer::new(Rate::from_mbps(4.0), 3000, Limit::NONE);
        let mut drops = Vec::new();
        let mut passed = Vec::new();
        for millis in 0..100 {
            let now = Time::from_millis(millis);
            queue.push(now, &Packet::opaque(1000), &mut drops);
            if queue.pop(now, &mut drops).is_some() {
                passed.push(millis);
            }
        }
        // 3000 bytes at the start, and 500 more every millisecond.
        assert_eq!(passed[..6], [0, 1, 2, 3, 4, 6]);
        assert_eq!(passed.len(), 52);
        assert_eq!(drops.len(), 48);
    }

    #[test]
    fn what_the_buffer_drops_takes_no_tokens() {
        let mut queue = Policer::new(Rate::from_mbps(4.0), 3000, Limit::packets(1));
        let mut drops = Vec::new();
        for _ in 0..3 {
            queue.push(Time::ZERO, &Packet::opaque(1000), &mut drops);
        }
        assert_eq!((queue.packets(), drops.len(), queue.tokens), (1, 2, 2000));
    }
}

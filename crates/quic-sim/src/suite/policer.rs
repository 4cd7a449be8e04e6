//! A policer, which operators use to limit a subscriber's rate without a buffer.

use std::collections::VecDeque;

use paceline_sim::cc::{Packet, Rate, Time};
use paceline_sim::path::{DropReason, DroppedPacket, Queue};
use paceline_sim::scenario::CustomQueue;

/// Returns a token bucket of `burst` bytes that fills at `rate` (RFC 2697's committed rate and
/// burst). It drops packets for which there are no tokens, and does not delay the others.
pub fn policer(rate: Rate, burst: u64) -> CustomQueue {
    CustomQueue::new(format!("policer of {} Mbit/s", rate.as_mbps()), move |_, _| {
        Box::new(Policer {
            rate,
            burst,
            tokens: burst,
            filled: Time::ZERO,
            packets: VecDeque::new(),
            bytes: 0,
        })
    })
}

struct Policer {
    rate: Rate,
    burst: u64,
    tokens: u64,
    /// Time up to which tokens were added.
    filled: Time,
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Queue for Policer {
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        let gained = self.rate.bytes_in(now.since(self.filled));
        if gained > 0 {
            // The time for a fraction of a byte is kept.
            self.filled = (self.filled + self.rate.time_for(gained)).min(now);
            self.tokens = self.tokens.saturating_add(gained).min(self.burst);
        }
        let mut packet = *packet;
        packet.queued = now;
        match self.tokens.checked_sub(u64::from(packet.size)) {
            Some(left) => {
                self.tokens = left;
                self.bytes += u64::from(packet.size);
                self.packets.push_back(packet);
            }
            None => drops.push(DroppedPacket { packet, reason: DropReason::Full }),
        }
    }

    fn pop(&mut self, _now: Time, _drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.packets.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use paceline_sim::cc::Stream;
    use paceline_sim::path::Limit;

    use super::*;

    /// Sends a packet of 1000 bytes every millisecond, 8 Mbit/s, to a policer of 4 Mbit/s with a
    /// burst of 3 packets.
    #[test]
    fn a_burst_passes_then_the_rate() {
        let made = policer(Rate::from_mbps(4.0), 3000);
        let mut queue = made.make(Limit::NONE, Stream::new(1, "policer"));
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
}

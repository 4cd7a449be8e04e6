//! Counts the bytes that have been received or are lost (thesis §2.2.4).

use std::collections::VecDeque;

use paceline_cc::SproutHeader;

/// Largest number of packets remembered; a sender that keeps to its 10 ms has fewer in flight.
const REMEMBERED: usize = 2048;

/// Counts received and lost bytes from offsets and throwaway numbers: bytes sent more than 10 ms
/// before a packet that has arrived have arrived or are lost.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedTotal {
    /// All bytes below have arrived or are lost.
    base: u64,
    /// Packets that have arrived above `base`: offsets and payloads.
    held: VecDeque<(u64, u32)>,
    sum: u64,
}

impl ReceivedTotal {
    /// Takes in a packet with this payload. A duplicate does not count (the authors count it until
    /// its 10 ms are over).
    pub(super) fn on_arrival(&mut self, header: &SproutHeader, payload: u32) {
        let throwaway = header.throwaway.min(u16::MAX as u32);
        let base = header.offset.saturating_sub(throwaway as u64);
        if base > self.base {
            self.base = base;
            self.held.retain(|&(offset, _)| offset >= base);
            self.sum = self.held.iter().map(|&(_, payload)| payload as u64).sum();
        }
        let news = header.offset >= self.base && self.held.len() < REMEMBERED;
        if news && self.held.iter().all(|&(offset, _)| offset != header.offset) {
            self.held.push_back((header.offset, payload));
            self.sum += payload as u64;
        }
    }

    /// Returns the bytes received or lost, in the sender's count of bytes sent, but without the
    /// headers of the packets of the last 10 ms.
    pub(super) fn bytes(&self) -> u64 {
        self.base.saturating_add(self.sum)
    }
}

//! How many bytes have been received or are lost (thesis §2.2.4).

use std::collections::VecDeque;

use paceline_cc::SproutHeader;

/// Packets remembered at most; a sender that keeps to its 10 ms has fewer in flight at once.
const REMEMBERED: usize = 2048;

/// Counts received and lost bytes from offsets and throwaway numbers: whatever was sent more than
/// 10 ms before a packet that has arrived has arrived or will never.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedTotal {
    /// Everything below has arrived or is lost.
    base: u64,
    /// What has arrived from there on: offsets and payloads.
    held: VecDeque<(u64, u32)>,
    sum: u64,
}

impl ReceivedTotal {
    /// A packet with so much payload arrives. One that comes twice counts once (the authors count
    /// it twice until its 10 ms are over).
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

    /// Bytes received or lost, as the sender counts what it sends, but for the headers of the
    /// packets of the last 10 ms.
    pub(super) fn bytes(&self) -> u64 {
        self.base.saturating_add(self.sum)
    }
}

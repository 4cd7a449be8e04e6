//! The packets sent in the last 10 ms, for the throwaway number (thesis §2.2.4).

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

/// Largest time between two packets that networks may reorder.
const APART: Span = Span::from_millis(10);

/// The packets of the last 10 ms.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentlySent {
    /// When they were sent, and their offsets.
    sent: VecDeque<(Time, u64)>,
}

impl RecentlySent {
    /// Notes a packet sent; returns how many of the bytes before it may still arrive after it. The
    /// field has 16 bits on the wire.
    pub(super) fn on_send(&mut self, now: Time, offset: u64) -> u32 {
        let most = u16::MAX as u64;
        let old = |&(sent, first): &(Time, u64)| {
            now.since(sent) > APART || offset.saturating_sub(first) > most
        };
        let mut saturated = false;
        while self.sent.front().is_some_and(old) {
            saturated = self.sent.pop_front().is_some_and(|(sent, _)| now.since(sent) <= APART);
        }
        self.sent.push_back((now, offset));
        let oldest = self.sent.front().map_or(offset, |&(_, first)| first);
        if saturated { most as u32 } else { offset.saturating_sub(oldest) as u32 }
    }
}

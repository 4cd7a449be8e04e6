//! Packets that are missing: for how long, and under which window they were sent.

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

#[derive(Copy, Clone, Debug)]
struct Hole {
    number: u64,
    window: u32,
    /// When a later packet's acknowledgement showed it; [`Time::NEVER`] until then.
    noticed: Time,
}

/// The missing packets, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    holes: VecDeque<Hole>,
    /// The first number after those that were forgotten.
    expired: u64,
}

impl Holes {
    /// A packet is missing, as an acknowledgement of a later one shows if `noticed`.
    pub(super) fn open(&mut self, number: u64, window: u32, noticed: Time) {
        self.holes.push_back(Hole { number, window, noticed });
    }

    /// A packet was acknowledged: those that were missing already are noticed now.
    pub(super) fn notice(&mut self, now: Time) {
        // The latest are noticed last.
        for hole in self.holes.iter_mut().rev().take_while(|hole| hole.noticed == Time::NEVER) {
            hole.noticed = now;
        }
    }

    /// The packet arrived. True if it was missing for so long that it has been forgotten.
    pub(super) fn close(&mut self, number: u64) -> bool {
        if let Ok(at) = self.holes.binary_search_by_key(&number, |hole| hole.number) {
            self.holes.remove(at);
            return false;
        }
        number < self.expired
    }

    /// Forgets those missing for `patience`; the window of the first of them.
    pub(super) fn expire(&mut self, now: Time, patience: Span) -> Option<u32> {
        let expired = |hole: &Hole| hole.noticed != Time::NEVER && hole.noticed + patience <= now;
        let first = self.holes.front().copied().filter(expired)?;
        while let Some(hole) = self.holes.pop_front_if(|hole| expired(hole)) {
            self.expired = hole.number + 1;
        }
        Some(first.window)
    }

    /// Packets missing.
    pub(super) fn len(&self) -> u64 {
        self.holes.len() as u64
    }

    pub(super) fn clear(&mut self) {
        self.holes.clear();
    }
}

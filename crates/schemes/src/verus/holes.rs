//! Missing packets: since when, and the window with which they were sent.

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

#[derive(Copy, Clone, Debug)]
struct Hole {
    number: u64,
    window: u32,
    /// When the acknowledgement of a later packet revealed it; [`Time::NEVER`] before.
    noticed: Time,
}

/// The missing packets, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    holes: VecDeque<Hole>,
    /// The first number after the forgotten packets.
    expired: u64,
}

impl Holes {
    /// Adds a missing packet. `noticed` is when the acknowledgement of a later packet revealed it.
    pub(super) fn open(&mut self, number: u64, window: u32, noticed: Time) {
        self.holes.push_back(Hole { number, window, noticed });
    }

    /// Notes an acknowledgement, which reveals the packets that were missing before.
    pub(super) fn notice(&mut self, now: Time) {
        // Packets not noticed yet are the latest ones.
        for hole in self.holes.iter_mut().rev().take_while(|hole| hole.noticed == Time::NEVER) {
            hole.noticed = now;
        }
    }

    /// Removes a packet that has arrived. Returns true if it was forgotten, since it was missing
    /// too long.
    pub(super) fn close(&mut self, number: u64) -> bool {
        if let Ok(at) = self.holes.binary_search_by_key(&number, |hole| hole.number) {
            self.holes.remove(at);
            return false;
        }
        number < self.expired
    }

    /// Forgets packets missing for `patience`; returns the window of the first of them.
    pub(super) fn expire(&mut self, now: Time, patience: Span) -> Option<u32> {
        let expired = |hole: &Hole| hole.noticed != Time::NEVER && hole.noticed + patience <= now;
        let first = self.holes.front().copied().filter(expired)?;
        while let Some(hole) = self.holes.pop_front_if(|hole| expired(hole)) {
            self.expired = hole.number + 1;
        }
        Some(first.window)
    }

    /// Returns the number of missing packets.
    pub(super) fn len(&self) -> u64 {
        self.holes.len() as u64
    }

    pub(super) fn clear(&mut self) {
        self.holes.clear();
    }
}

//! What becomes of lost packets when the reaction to their losses was a mistake, and which of them RACK watches afterwards.

use super::{Ledger, State};

impl Ledger {
    /// Takes all losses still remembered back: the packets are in flight after all. Returns how many.
    ///
    /// In Linux what RACK had declared lost stays off its list, and so does what is on its way a second time: `again` is
    /// called with the segments of the latter. `probe` is the number of the last probe, whose copy does not count.
    pub(crate) fn find_all(&mut self, linux: bool, probe: u64, mut again: impl FnMut(u64)) -> u64 {
        let found = self.remembered;
        let mut at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            at = number + 1;
            let entry = *self.entry(number);
            if entry.is_in_flight() && entry.repeats() && number != probe {
                again(entry.segment);
                self.unwatch_older(entry.segment, number);
            }
        }
        at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            at = number + 1;
            let entry = &mut self.ring[(number & self.mask) as usize];
            if entry.state() == State::Lost {
                entry.find();
                if !linux {
                    entry.watch();
                }
                self.in_flight += u64::from(entry.size);
            }
        }
        self.remembered = 0;
        self.undecided = self.front;
        self.found_end = self.next;
        found
    }

    /// True if packets may be off RACK's list.
    #[inline]
    pub(crate) fn has_unwatched(&self) -> bool {
        self.front < self.found_end
    }

    /// Forgets packets in flight off RACK's list whose segments lie below `end`: these have arrived.
    pub(crate) fn forget_unwatched(&mut self, end: u64) {
        let mut at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.found_end) {
            at = number + 1;
            let entry = &mut self.ring[(number & self.mask) as usize];
            if entry.is_in_flight() && !entry.is_watched() && entry.segment < end {
                self.in_flight -= u64::from(entry.size);
                entry.forget();
                self.note_resolved(number);
            }
        }
        self.advance();
    }

    /// Takes the copies of a segment that were sent before `number` and declared lost off RACK's list.
    fn unwatch_older(&mut self, segment: u64, number: u64) {
        let mut at = self.front;
        while let Some(older) = self.resolved.next_clear(at, number) {
            at = older + 1;
            let entry = &mut self.ring[(older & self.mask) as usize];
            if entry.segment == segment && entry.state() == State::Lost {
                entry.unwatch();
            }
        }
    }
}

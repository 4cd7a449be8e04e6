//! Undoing losses after the reaction to them was a mistake, and taking packets off RACK's list.

use super::{Ledger, State};

impl Ledger {
    /// Undoes all losses still remembered: the packets are in flight again. Returns their number.
    ///
    /// In Linux the packets that RACK had declared lost stay off its list, and so do packets whose
    /// data was retransmitted: `again` is called with the segments of the retransmissions in
    /// flight. `probe` is the number of the last probe, which does not count as a retransmission.
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

    /// Returns true if packets may be off RACK's list.
    #[inline]
    pub(crate) fn has_unwatched(&self) -> bool {
        self.front < self.found_end
    }

    /// Forgets packets in flight that are off RACK's list and whose segments, all below `end`, have
    /// arrived.
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

    /// Takes the lost transmissions of `segment` that were sent before `number` off RACK's list.
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

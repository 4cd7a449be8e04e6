//! Undoing losses after the reaction to them was a mistake, and taking packets off RACK's list.

use super::{Ledger, State};

/// The packets off RACK's list.
#[derive(Debug, Default)]
pub(super) struct Unwatched {
    /// Their numbers all lie below: the value of `next` when losses were last undone.
    end: u64,
    /// Segments and numbers of those that were in flight then, the smallest segment last.
    /// Acknowledgements of their numbers do not remove them.
    packets: Vec<(u64, u64)>,
}

impl Ledger {
    /// Undoes all losses still remembered: the packets are in flight again. Returns their number.
    ///
    /// In Linux the packets that RACK had declared lost stay off its list, and so do packets whose
    /// data was retransmitted: `again` is called with the segments of the retransmissions in
    /// flight. `probe` is the number of the last probe, which does not count as a retransmission.
    pub(crate) fn find_all(&mut self, linux: bool, probe: u64, mut again: impl FnMut(u64)) -> u64 {
        let found = self.remembered;
        let mut unwatched = self.unwatched.take().unwrap_or_default();
        // First the retransmissions in flight, then the packets off the list.
        let Unwatched { end, packets } = &mut *unwatched;
        packets.clear();
        let mut at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            at = number + 1;
            let entry = self.entry(number);
            if entry.is_in_flight() && entry.repeats() && number != probe {
                again(entry.segment);
                packets.push((entry.segment, number));
            }
        }
        packets.sort_unstable();
        let retransmissions = packets.len();
        at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            at = number + 1;
            let entry = &mut self.ring[(number & self.mask) as usize];
            if entry.state() == State::Lost {
                entry.find();
                let copies = &packets[..retransmissions];
                let later = copies.partition_point(|copy| *copy <= (entry.segment, number));
                if copies.get(later).is_some_and(|(segment, _)| *segment == entry.segment) {
                    entry.unwatch();
                }
                if !linux {
                    entry.watch();
                }
                self.in_flight += u64::from(entry.size);
            }
            if entry.is_in_flight() && !entry.is_watched() {
                packets.push((entry.segment, number));
            }
        }
        packets.drain(..retransmissions);
        packets.sort_unstable_by(|a, b| b.cmp(a));
        *end = self.next;
        self.unwatched = Some(unwatched);
        self.remembered = 0;
        self.undecided = self.front;
        found
    }

    /// Returns true if packets may be off RACK's list.
    #[inline]
    pub(crate) fn has_unwatched(&self) -> bool {
        self.unwatched.as_ref().is_some_and(|unwatched| self.front < unwatched.end)
    }

    /// Forgets packets in flight that are off RACK's list and whose segments, all below `end`, have
    /// arrived. Returns the number of packets that it looked at: in total, each packet once per undo.
    pub(crate) fn forget_unwatched(&mut self, end: u64) -> usize {
        let Some(mut unwatched) = self.unwatched.take() else { return 0 };
        let before = unwatched.packets.len();
        while let Some((_, number)) = unwatched.packets.pop_if(|(segment, _)| *segment < end) {
            if !self.is_open(number) {
                continue;
            }
            let entry = &mut self.ring[(number & self.mask) as usize];
            if entry.is_in_flight() && !entry.is_watched() {
                self.in_flight -= u64::from(entry.size);
                entry.forget();
                self.note_resolved(number);
            }
        }
        let seen = before - unwatched.packets.len();
        self.unwatched = Some(unwatched);
        self.advance();
        seen
    }
}

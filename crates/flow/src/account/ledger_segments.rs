//! Acknowledges and loses segments in place of numbers, for accounts without selective
//! acknowledgements.

use std::collections::VecDeque;

use paceline_cc::NO_SEGMENT;

use super::{Detail, Entry, Ledger};

/// The numbers of retransmissions that were sent after later data, in the order of sending. Between two of
/// them, packets are in the order of their data.
#[derive(Debug, Default)]
pub(crate) struct Returns(VecDeque<u64>);

impl Returns {
    /// Notes that packet `number` carries earlier data than the one before.
    pub(crate) fn note(&mut self, number: u64) {
        self.0.push_back(number);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets those up to `front`.
    fn forget_to(&mut self, front: u64) {
        while self.0.front().is_some_and(|number| *number <= front) {
            self.0.pop_front();
        }
    }
}

impl Ledger {
    /// Returns whether the last packet does not carry later data than the one before.
    pub(crate) fn returns(&self) -> bool {
        let last_two = self.next.checked_sub(2).map(|number| [number, number + 1]);
        last_two.is_none_or(|numbers| {
            let [before, last] = numbers.map(|number| self.entry(number).segment);
            last <= before
        })
    }

    /// Acknowledges all segments below `end`, without selective acknowledgements. Calls `each` for each of their
    /// transmissions that had no final fate, in the order of numbers, except those that `keeps` leaves in flight.
    ///
    /// It looks at each run of packets in the order of their data up to the first later segment: after a timeout,
    /// thousands of packets may be in flight a second time.
    pub(crate) fn on_segments_below(
        &mut self,
        end: u64,
        returns: &mut Returns,
        keeps: impl Fn(u64, &Entry) -> bool,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        returns.forget_to(self.front);
        // A lost packet may have been sent again, with a later number.
        let repeats = self.remembered > 0;
        let mut starts = returns.0.iter().copied().filter(|_| repeats);
        let mut run = Some(self.front);
        while let Some(mut at) = run {
            run = starts.next();
            while let Some(number) = self.resolved.next_clear(at, run.unwrap_or(self.next)) {
                at = number + 1;
                let entry = self.entry(number);
                if entry.segment < end && !keeps(number, entry) {
                    self.resolve(number, &mut each);
                    self.note_resolved(number);
                } else if entry.segment >= end && !(repeats && entry.segment == NO_SEGMENT) {
                    break;
                }
            }
        }
        self.advance();
    }

    /// Declares the transmission of `segment` in flight lost, if there is one; calls `each` for it.
    pub(crate) fn lose_segment(
        &mut self,
        segment: u64,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        let mut at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            let entry = self.entry(number);
            if entry.segment == segment && entry.is_in_flight() {
                return self.lose(number, &mut each);
            }
            at = number + 1;
        }
    }
}

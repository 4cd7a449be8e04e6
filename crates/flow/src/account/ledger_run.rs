//! Acknowledges runs of numbers in order.

use paceline_cc::Ack;

use super::{Detail, Entry, Ledger};

/// Totals of consecutive packet numbers, each newly acknowledged and sent once.
pub(crate) struct PlainRun<'a> {
    pub(crate) bytes: u64,
    pub(crate) packets: u32,
    /// The entry of the largest number, and its detail if details are kept.
    pub(crate) newest: &'a Entry,
    pub(crate) detail: Option<&'a Detail>,
}

impl Ledger {
    /// Returns one more than the largest number of `ack`, if a few comparisons show that it
    /// acknowledges all numbers from the oldest one up to that number, and no later one has been
    /// acknowledged. A receiver that delays acknowledgements sends such ones while nothing is missing.
    #[inline]
    pub(crate) fn run_end(&self, ack: &Ack) -> Option<u64> {
        let (end, length) = (ack.largest.checked_add(1)?, u64::from(ack.lengths[0]));
        let is_run = self.resolved_early == 0
            && (self.front..self.next).contains(&ack.largest)
            && end - self.front <= length
            // It begins at number 0 or later.
            && length <= end;
        is_run.then_some(end)
    }

    /// Acknowledges all numbers below the `end` that [`Ledger::run_end`] returned. Calls `each` as
    /// [`Ledger::on_single`] does.
    #[inline(always)]
    pub(crate) fn on_run(&mut self, end: u64, mut each: impl FnMut(u64, &Entry, Option<&Detail>)) {
        while self.front < end {
            self.resolve(self.front, &mut each);
            self.front += 1;
        }
        self.undecided = self.undecided.max(self.front);
    }

    /// Acknowledges the numbers below the `end` that [`Ledger::run_end`] returned, if all are in
    /// flight and were sent once, with data below segment `cumulative`. Else returns `None` and
    /// changes nothing.
    #[inline(always)]
    pub(crate) fn on_plain_run(&mut self, end: u64, cumulative: u64) -> Option<PlainRun<'_>> {
        let mut bytes = 0;
        for number in self.front..end {
            let entry = self.entry(number);
            if !entry.is_plain() {
                return None;
            }
            bytes += u64::from(entry.size);
        }
        let newest = ((end - 1) & self.mask) as usize;
        if self.ring[newest].segment >= cumulative || self.acked_end > self.front {
            return None;
        }
        let packets = (end - self.front) as u32;
        self.in_flight -= bytes;
        self.acked_end = end;
        self.front = end;
        self.undecided = self.undecided.max(end);
        Some(PlainRun {
            bytes,
            packets,
            newest: &self.ring[newest],
            detail: self.details.get(newest),
        })
    }
}

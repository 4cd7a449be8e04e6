//! The packets in flight: one entry for each transmission, in the order of sending.
//!
//! Every transmission has its own number, so an acknowledgement is never ambiguous and entries are
//! lost in the order of their numbers, by the rule that the account gives ([`LossRule`]). Entries
//! declared lost are remembered for about one round trip: if their acknowledgement comes after all,
//! the loss was spurious.

use paceline_cc::{ACK_BLOCKS, Ack, Time};

use super::entry::{Detail, Entry, State};
use super::loss_rule::LossRule;
use crate::bits::BitRing;

/// Packets of reordering tolerated before any reordering has been seen (RFC 9002 §6.1.1).
const INITIAL_PACKET_THRESHOLD: u64 = 3;
/// Largest value of the packet threshold, in packets (Linux: `tcp_max_reordering`).
const MAX_PACKET_THRESHOLD: u64 = 300;
/// Number of entries that a ledger has room for from its first transmission on; the ring doubles
/// when the window outgrows it. Before the first transmission it has room for none, since flows may
/// wait for long.
const INITIAL_CAPACITY: usize = 16;

/// The transmissions that have no final fate yet.
#[derive(Debug)]
pub(crate) struct Ledger {
    ring: Vec<Entry>,
    /// Further data of each transmission, at the same index as in `ring`; empty unless `detailed`.
    details: Vec<Detail>,
    /// True if details are kept.
    detailed: bool,
    mask: u64,
    /// A bit for each number from `front` on: set if the number has its final fate although an
    /// older one has not. Without loss and reordering no bit is ever set.
    resolved: BitRing,
    /// Number of bits set in `resolved`.
    resolved_early: u64,
    /// All numbers below have their final fate.
    front: u64,
    /// All numbers below are acknowledged, lost, or off RACK's list: see [`Entry::unwatch`].
    undecided: u64,
    /// The packets off RACK's list; `None` until losses are undone.
    unwatched: Option<Box<Unwatched>>,
    /// The number of the next transmission.
    next: u64,
    /// One more than the largest number acknowledged; zero before the first.
    acked_end: u64,
    in_flight: u64,
    /// The numbers listed by the last acknowledgement that did not only acknowledge the oldest
    /// number.
    last: Shape,
    /// Number of entries declared lost and not yet forgotten.
    remembered: u64,
    packet_threshold: u64,
}

/// The numbers that an acknowledgement lists as received.
#[derive(Copy, Clone, Debug, Default)]
struct Shape {
    largest: u64,
    lengths: [u32; ACK_BLOCKS],
    gaps: [u32; ACK_BLOCKS - 1],
}

impl Shape {
    /// Returns true if `ack` lists these numbers and the one after the largest, and no others.
    fn is_continued_by(&self, ack: &Ack) -> bool {
        let length = ack.lengths[0];
        ack.largest.checked_sub(1) == Some(self.largest)
            && length.checked_sub(1) == Some(self.lengths[0])
            // It begins at number 0 or later.
            && u64::from(length) <= ack.largest
            && ack.lengths[1..] == self.lengths[1..]
            && ack.gaps == self.gaps
    }
}

impl Ledger {
    /// Returns an empty ledger. With `detailed` it keeps a [`Detail`] for each transmission.
    pub(crate) fn new(detailed: bool) -> Ledger {
        Ledger {
            ring: Vec::new(),
            details: Vec::new(),
            detailed,
            mask: 0,
            resolved: BitRing::new(INITIAL_CAPACITY as u64),
            resolved_early: 0,
            front: 0,
            undecided: 0,
            unwatched: None,
            next: 0,
            acked_end: 0,
            in_flight: 0,
            last: Shape::default(),
            remembered: 0,
            packet_threshold: INITIAL_PACKET_THRESHOLD,
        }
    }

    /// Bytes in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }
    /// Returns the oldest number that has no final fate yet.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<u64> {
        (self.front < self.next).then_some(self.front)
    }
    /// Returns one more than the largest number acknowledged; zero before the first.
    #[inline]
    pub(crate) fn acked_end(&self) -> u64 {
        self.acked_end
    }
    /// Returns the number that the next transmission gets.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
    /// Returns the entry of a number that has no final fate yet.
    #[inline]
    pub(crate) fn entry(&self, number: u64) -> &Entry {
        &self.ring[(number & self.mask) as usize]
    }

    /// Returns the entry of a number that was sent, if it is in flight, or acknowledged while an
    /// older one is not.
    pub(crate) fn unlost(&self, number: u64) -> Option<&Entry> {
        let is_known = (self.front..self.next).contains(&number);
        let entry = is_known.then(|| self.entry(number))?;
        (entry.state() != State::Lost).then_some(entry)
    }

    /// Notes a transmission, with its `detail` if details are kept, and returns its number.
    #[inline]
    pub(crate) fn on_send(&mut self, entry: Entry, detail: impl FnOnce() -> Detail) -> u64 {
        let number = self.next;
        if number - self.front >= self.ring.len() as u64 {
            self.grow();
        }
        self.in_flight += u64::from(entry.size);
        let place = (number & self.mask) as usize;
        self.ring[place] = entry;
        if let Some(place) = self.details.get_mut(place) {
            *place = detail();
        }
        self.next += 1;
        number
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.ring.len() * 2).max(INITIAL_CAPACITY);
        let mut ring = vec![Entry::default(); capacity];
        let mut details = vec![Detail::default(); if self.detailed { capacity } else { 0 }];
        for number in self.front..self.next {
            let (from, to) = ((number & self.mask) as usize, number as usize & (capacity - 1));
            ring[to] = self.ring[from];
            if let (Some(detail), Some(to)) = (self.details.get(from), details.get_mut(to)) {
                *to = *detail;
            }
        }
        self.ring = ring;
        self.details = details;
        self.mask = capacity as u64 - 1;
        self.resolved.reserve(self.front, self.next, self.front + capacity as u64);
    }

    /// Returns the number that `ack` newly acknowledges, if a few comparisons show that it is only
    /// one; else [`Ledger::on_blocks`] finds the numbers. It covers the two common cases: nothing
    /// is missing and each packet is acknowledged; or gaps are open, and one more packet has
    /// arrived above them.
    #[inline]
    pub(crate) fn single(&mut self, ack: &Ack) -> Option<u64> {
        let number = ack.largest;
        let is_oldest = number == self.front && number < self.next && ack.lengths[0] > 0;
        (is_oldest || self.is_known_but_for_largest(ack)).then_some(number)
    }

    /// Acknowledges the number that [`Ledger::single`] returned. Calls `each` with the number, its
    /// entry in the state before the acknowledgement, and its detail if details are kept.
    #[inline(always)]
    pub(crate) fn on_single(
        &mut self,
        number: u64,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        self.resolve(number, &mut each);
        let is_oldest = number == self.front;
        self.note_resolved(number);
        if is_oldest {
            self.advance();
        } else {
            self.undecided += u64::from(self.undecided == number);
        }
    }

    /// Acknowledges blocks of numbers. Calls `each` for each newly acknowledged number.
    pub(crate) fn on_blocks(
        &mut self,
        blocks: impl Iterator<Item = (u64, u64)>,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        for (first, last) in blocks {
            // Acknowledgements of numbers never sent are ignored.
            let end = last.saturating_add(1).min(self.next);
            let mut at = first.max(self.front);
            while let Some(number) = self.resolved.next_clear(at, end) {
                at = number + 1;
                self.resolve(number, &mut each);
                self.note_resolved(number);
            }
        }
        self.advance();
    }

    /// Acknowledges, after all segments below `end` have arrived, packets whose numbers the
    /// acknowledgement does not list: those in flight below both `untold` and the largest number
    /// acknowledged, with a segment below `end`. Calls `each` for each of them.
    pub(crate) fn on_untold(
        &mut self,
        end: u64,
        untold: u64,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        let mut at = self.first_unresolved();
        while let Some(number) = self.resolved.next_clear(at, untold.min(self.acked_end)) {
            at = number + 1;
            let entry = self.entry(number);
            if entry.is_in_flight() && entry.segment < end {
                self.resolve(number, &mut each);
                self.note_resolved(number);
            }
        }
        self.advance();
    }

    /// Acknowledges a number that was declared lost and not forgotten. Calls `each` with it.
    pub(crate) fn on_arrived(
        &mut self,
        number: u64,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        self.resolve(number, &mut each);
        self.note_resolved(number);
        self.advance();
    }

    /// Forgets the packet in flight that repeats `segment`, which has arrived, if there is one.
    /// Searches from number `from` on first. Returns where the next search is to begin.
    pub(crate) fn forget_copy(&mut self, segment: u64, from: u64) -> u64 {
        let from = from.max(self.undecided);
        let found = self.copy_in(segment, from, self.next);
        let Some(number) = found.or_else(|| self.copy_in(segment, self.undecided, from)) else {
            return from;
        };
        let entry = &mut self.ring[(number & self.mask) as usize];
        self.in_flight -= u64::from(entry.size);
        entry.forget();
        self.note_resolved(number);
        self.advance();
        number + 1
    }

    /// Returns the number in from..to that is in flight and repeats `segment`.
    fn copy_in(&self, segment: u64, from: u64, to: u64) -> Option<u64> {
        let mut at = from;
        while let Some(number) = self.resolved.next_clear(at, to) {
            let entry = self.entry(number);
            if entry.is_in_flight() && entry.repeats() && entry.segment == segment {
                return Some(number);
            }
            at = number + 1;
        }
        None
    }

    /// Returns true if `ack` lists the numbers of the acknowledgement before and one more, the
    /// largest, which is in flight or lost. It compares with the last acknowledgement for which it
    /// was called.
    fn is_known_but_for_largest(&mut self, ack: &Ack) -> bool {
        let Ack { largest, lengths, gaps, .. } = *ack;
        if !self.last.is_continued_by(ack) {
            self.last = Shape { largest, lengths, gaps };
            return false;
        }
        self.last.largest = largest;
        self.last.lengths[0] = lengths[0];
        // A forgotten copy is resolved although no acknowledgement has named its number.
        largest >= self.front.max(self.acked_end)
            && largest < self.next
            && !self.resolved.get(largest)
    }

    /// Acknowledges a number that has no final fate yet.
    #[inline(always)]
    fn resolve(&mut self, number: u64, each: &mut impl FnMut(u64, &Entry, Option<&Detail>)) {
        let place = (number & self.mask) as usize;
        let entry = &mut self.ring[place];
        each(number, entry, self.details.get(place));
        if entry.is_in_flight() {
            self.in_flight -= u64::from(entry.size);
            entry.acknowledge();
        } else {
            let lost = entry.state() == State::Lost;
            entry.acknowledge();
            if lost {
                self.found_late(number);
            }
        }
        if number >= self.acked_end {
            self.acked_end = number + 1;
        }
    }

    /// Notes that a packet declared lost was only late: as much reordering is tolerated from then.
    #[cold]
    fn found_late(&mut self, number: u64) {
        self.remembered -= 1;
        self.tolerate_reordering(self.acked_end.saturating_sub(number));
    }

    /// Notes that a number has its final fate.
    #[inline]
    fn note_resolved(&mut self, number: u64) {
        if number == self.front {
            self.front += 1;
        } else {
            self.resolved.set(number);
            self.resolved_early += 1;
        }
    }

    /// Moves `front` past all resolved numbers.
    #[inline]
    fn advance(&mut self) {
        if self.resolved_early > 0 {
            let end = self.resolved.clear_run(self.front, self.next);
            self.resolved_early -= end - self.front;
            self.front = end;
        }
        self.undecided = self.undecided.max(self.front);
    }

    /// Returns the lowest number in flight that RACK may declare lost.
    #[inline]
    fn oldest_watched(&mut self) -> Option<u64> {
        while let Some(number) = self.resolved.next_clear(self.undecided, self.next) {
            self.undecided = number;
            if self.entry(number).is_watched() {
                return Some(number);
            }
            self.undecided += 1;
        }
        self.undecided = self.next;
        None
    }

    /// Returns true if no packet can be lost, since all numbers below the largest acknowledged one
    /// are resolved.
    #[inline]
    pub(crate) fn is_in_order(&self) -> bool {
        self.front >= self.acked_end
    }

    /// Returns true if nothing is in flight below the largest number acknowledged and no lost
    /// packet is to be forgotten. Then [`Ledger::detect_losses`] changes nothing and returns
    /// [`Time::NEVER`].
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.undecided + 1 >= self.acked_end && !self.forgets()
    }

    /// Declares packets lost by `rule` and calls `each` for each of them. Returns when the rule
    /// will next declare a loss if nothing is acknowledged meanwhile.
    pub(crate) fn detect_losses(
        &mut self,
        now: Time,
        rule: LossRule,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) -> Time {
        let Some(largest) = self.acked_end.checked_sub(1) else { return Time::NEVER };
        while let Some(number) = self.oldest_watched() {
            if number >= largest {
                break;
            }
            let lost_at = self.entry(number).sent + rule.age;
            if largest - number < rule.distance && now < lost_at {
                return self.loss_timer(number, rule);
            }
            self.lose(number, &mut each);
            self.ring[(number & self.mask) as usize].unwatch();
        }
        Time::NEVER
    }

    /// Returns true if packets declared lost were only late, so that more reordering is tolerated
    /// since.
    #[inline]
    pub(crate) fn has_seen_reordering(&self) -> bool {
        self.packet_threshold > INITIAL_PACKET_THRESHOLD
    }

    /// Returns the packet threshold: a packet is lost if one sent this many numbers later is
    /// acknowledged (RFC 9002 §6.1.1).
    pub(crate) fn packet_threshold(&self) -> u64 {
        self.packet_threshold
    }

    /// Tolerates reordering by `distance` from now on: an original packet arrived that many numbers
    /// after the largest acknowledged one. At most 300 packets.
    pub(crate) fn tolerate_reordering(&mut self, distance: u64) {
        self.packet_threshold = self.packet_threshold.max(distance.clamp(1, MAX_PACKET_THRESHOLD));
    }

    /// Returns when the next packet is lost by its age. The time may lie in the past.
    pub(crate) fn next_loss(&self, rule: LossRule) -> Time {
        let mut at = self.undecided.max(self.front);
        while let Some(number) = self.resolved.next_clear(at, self.acked_end.saturating_sub(1)) {
            if self.entry(number).is_watched() {
                return self.loss_timer(number, rule);
            }
            at = number + 1;
        }
        Time::NEVER
    }

    /// Returns when the loss timer expires. `oldest` is the oldest packet in flight; a later packet
    /// has been acknowledged.
    fn loss_timer(&self, oldest: u64, rule: LossRule) -> Time {
        match rule.together {
            None => self.entry(oldest).sent + rule.age,
            Some(margin) => {
                let newest = self.newest_in_flight_below_acked(oldest);
                self.entry(newest).sent + rule.age + margin
            }
        }
    }

    /// Returns the newest number in flight below the largest acknowledged number; `oldest` is the
    /// oldest in flight.
    fn newest_in_flight_below_acked(&self, oldest: u64) -> u64 {
        let mut end = self.acked_end;
        while let Some(number) = self.resolved.last_clear(oldest, end) {
            if self.entry(number).is_watched() {
                return number;
            }
            end = number;
        }
        oldest
    }

    /// Returns true if at least `packets` packets sent after the oldest one in flight are
    /// acknowledged (Linux `sacked_out`).
    pub(crate) fn has_acked_beyond_gap(&self, packets: u32) -> bool {
        let Some(mut at) = self.first_in_flight() else { return packets == 0 };
        let mut missing = packets;
        while missing > 0 {
            let Some(number) = self.resolved.next_set(at, self.acked_end) else { return false };
            missing -= u32::from(!self.entry(number).is_forgotten());
            at = number + 1;
        }
        true
    }

    /// Returns a number below which no packet is in flight.
    #[inline]
    fn first_unresolved(&self) -> u64 {
        if self.has_unwatched() { self.front } else { self.undecided.max(self.front) }
    }

    /// Returns the oldest number in flight.
    #[inline]
    pub(crate) fn first_in_flight(&self) -> Option<u64> {
        let mut at = self.first_unresolved();
        // Mostly it is the first one that is looked at.
        if self.resolved_early == 0 && at < self.next && self.entry(at).is_in_flight() {
            return Some(at);
        }
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            if self.entry(number).is_in_flight() {
                return Some(number);
            }
            at = number + 1;
        }
        None
    }

    /// Declares everything in flight lost (the retransmission timer expired).
    pub(crate) fn lose_all(&mut self, mut each: impl FnMut(u64, &Entry, Option<&Detail>)) {
        let mut at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            at = number + 1;
            if self.entry(number).is_in_flight() {
                self.lose(number, &mut each);
            }
        }
        self.undecided = self.next;
    }

    /// Returns true if the number was sent and has no final fate yet.
    pub(crate) fn is_open(&self, number: u64) -> bool {
        (self.front..self.next).contains(&number) && !self.resolved.get(number)
    }

    fn lose(&mut self, number: u64, each: &mut impl FnMut(u64, &Entry, Option<&Detail>)) {
        let place = (number & self.mask) as usize;
        let entry = &mut self.ring[place];
        self.in_flight -= u64::from(entry.size);
        self.remembered += 1;
        each(number, entry, self.details.get(place));
        entry.lose(number, self.next);
    }

    /// Returns true if the oldest entry was declared lost and a packet sent after that declaration
    /// is acknowledged: on a path that keeps the order, the lost packet will not arrive any more.
    #[inline]
    fn forgets(&self) -> bool {
        let lost_before = || self.entry(self.front).lost_before(self.front);
        self.remembered > 0
            && self.front < self.next
            && lost_before().is_some_and(|next| next < self.acked_end)
    }

    /// Forgets lost packets that will not arrive any more, up to the first whose segment still
    /// `waits` to be retransmitted.
    pub(crate) fn forget(&mut self, waits: impl Fn(u64) -> bool) {
        while self.forgets() && !waits(self.entry(self.front).segment) {
            self.remembered -= 1;
            self.front += 1;
            self.advance();
        }
    }

    /// Forgets all packets. Acknowledgements of their numbers will be ignored.
    pub(crate) fn abandon(&mut self) {
        while self.resolved_early > 0 {
            if self.resolved.get(self.front) {
                self.resolved.clear(self.front);
                self.resolved_early -= 1;
            }
            self.front += 1;
        }
        self.front = self.next;
        self.undecided = self.next;
        self.in_flight = 0;
        self.remembered = 0;
        self.acked_end = 0;
        self.packet_threshold = INITIAL_PACKET_THRESHOLD;
    }
}

#[path = "ledger_run.rs"]
mod run;
#[path = "ledger_segments.rs"]
mod segments;
#[path = "ledger_undo.rs"]
mod undo;
pub(super) use self::run::PlainRun;
pub(super) use self::segments::Returns;
use self::undo::Unwatched;

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;

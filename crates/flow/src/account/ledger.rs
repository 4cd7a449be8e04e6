//! What is in flight: one entry for each transmission, in the order of sending.
//!
//! Every transmission has its own number, so an acknowledgement is never ambiguous and entries
//! are lost in the order of their numbers, by the rule that the account gives ([`LossRule`]). Entries
//! declared lost are remembered for about one round trip: if their acknowledgement comes after all,
//! the loss was spurious.

use paceline_cc::{ACK_BLOCKS, Ack, Time};

use super::entry::{Detail, Entry, State};
use super::rack::LossRule;
use crate::bits::BitRing;

/// The reordering tolerated before any has been seen, in packets (RFC 9002 §6.1.1).
const INITIAL_PACKET_THRESHOLD: u64 = 3;
/// The most reordering that the packet threshold adapts to (Linux: `tcp_max_reordering`).
const MAX_PACKET_THRESHOLD: u64 = 300;
/// Entries that a ledger has room for from its first transmission on; the ring doubles when the
/// window outgrows it. A ledger that has sent nothing has none: flows may wait for long.
const INITIAL_CAPACITY: usize = 16;

/// The transmissions that have no final fate yet.
#[derive(Debug)]
pub(crate) struct Ledger {
    ring: Vec<Entry>,
    /// The same places for what only some controllers ask for; else empty.
    details: Vec<Detail>,
    /// True if details are kept.
    detailed: bool,
    mask: u64,
    /// A bit for each number from `front` on: set if it has its final fate although an older one
    /// has not. In order, none is ever set.
    resolved: BitRing,
    /// How many bits are set.
    resolved_early: u64,
    /// All numbers below have their final fate.
    front: u64,
    /// All numbers below are acknowledged, lost, or off RACK's list: see [`Entry::unwatch`].
    undecided: u64,
    /// Numbers off that list lie below: the next one when losses were last taken back.
    found_end: u64,
    /// The number of the next transmission.
    next: u64,
    /// One more than the largest number acknowledged; zero before the first.
    acked_end: u64,
    in_flight: u64,
    /// What the last acknowledgement listed that was not simply of the oldest number.
    last: Shape,
    /// Entries declared lost that are not forgotten yet.
    remembered: u64,
    packet_threshold: u64,
}

/// The numbers that an acknowledgement lists.
#[derive(Copy, Clone, Debug, Default)]
struct Shape {
    largest: u64,
    lengths: [u32; ACK_BLOCKS],
    gaps: [u32; ACK_BLOCKS - 1],
}

impl Shape {
    /// True if `ack` lists the same numbers and the one after the largest.
    fn is_continued_by(&self, ack: &Ack) -> bool {
        let length = ack.lengths[0];
        ack.largest.checked_sub(1) == Some(self.largest)
            && length.checked_sub(1) == Some(self.lengths[0])
            // It begins at a number.
            && u64::from(length) <= ack.largest
            && ack.lengths[1..] == self.lengths[1..]
            && ack.gaps == self.gaps
    }
}

impl Ledger {
    /// A ledger of nothing; `detailed` if it keeps details of each transmission.
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
            found_end: 0,
            next: 0,
            acked_end: 0,
            in_flight: 0,
            last: Shape::default(),
            remembered: 0,
            packet_threshold: INITIAL_PACKET_THRESHOLD,
        }
    }

    /// Takes the memory of a ledger that is not needed any more; this one must have sent nothing.
    pub(crate) fn take_memory(&mut self, other: &mut Ledger) {
        // What stands in the ring is overwritten before it is read.
        std::mem::swap(&mut self.ring, &mut other.ring);
        std::mem::swap(&mut self.details, &mut other.details);
        std::mem::swap(&mut self.mask, &mut other.mask);
        let details = if self.detailed { self.ring.len() } else { 0 };
        self.details.resize(details, Detail::default());
        self.resolved.take_memory(&mut other.resolved);
    }

    /// Bytes in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }
    /// The oldest number without its final fate.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<u64> {
        (self.front < self.next).then_some(self.front)
    }
    /// One more than the largest number acknowledged; zero before the first.
    #[inline]
    pub(crate) fn acked_end(&self) -> u64 {
        self.acked_end
    }
    /// The number that the next transmission gets.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
    /// The entry of a number that has no final fate yet.
    #[inline]
    pub(crate) fn entry(&self, number: u64) -> &Entry {
        &self.ring[(number & self.mask) as usize]
    }

    /// Returns the entry of a number that was sent, if it is in flight, or acknowledged before an older one.
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

    /// The number that an acknowledgement newly acknowledges, if it can be told at a glance that it
    /// is one only; else [`Ledger::on_blocks`] finds out. The common cases: nothing is lost and each
    /// packet is acknowledged; or gaps are open, and one more packet has arrived above them.
    #[inline]
    pub(crate) fn single(&mut self, ack: &Ack) -> Option<u64> {
        let number = ack.largest;
        let is_oldest = number == self.front && number < self.next && ack.lengths[0] > 0;
        (is_oldest || self.is_known_but_for_largest(ack)).then_some(number)
    }

    /// The number that [`Ledger::single`] gave is acknowledged: calls `each` with it and its entry,
    /// whose state is still what it was before, and its detail if details are kept.
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

    /// Takes blocks of acknowledged numbers in: calls `each` for every newly acknowledged one.
    pub(crate) fn on_blocks(
        &mut self,
        blocks: impl Iterator<Item = (u64, u64)>,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        for (first, last) in blocks {
            // A block that nobody can have sent ends at what was sent.
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

    /// All segments below `end` have arrived, and nothing is known of numbers below `untold`: calls
    /// `each` for those of them that were in flight with such a segment, and below the largest number
    /// acknowledged.
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

    /// A number that is open, and declared lost, has arrived: calls `each` with it.
    pub(crate) fn on_arrived(
        &mut self,
        number: u64,
        mut each: impl FnMut(u64, &Entry, Option<&Detail>),
    ) {
        self.resolve(number, &mut each);
        self.note_resolved(number);
        self.advance();
    }

    /// Without selective acknowledgements: all segments below `end` have arrived. Calls `each` for
    /// every transmission of them that had no final fate, in the order of their numbers.
    pub(crate) fn on_segments_below(
        &mut self,
        end: u64,
        mut each: impl FnMut(&Entry, Option<&Detail>),
    ) {
        let mut at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            at = number + 1;
            if self.entry(number).segment < end {
                self.resolve(number, &mut |_, entry: &Entry, detail| each(entry, detail));
                self.note_resolved(number);
            } else if self.remembered == 0 {
                // Nothing was sent again: later numbers carry later segments.
                break;
            }
        }
        self.advance();
    }

    /// Declares the transmission of this segment that is in flight lost, if there is one.
    pub(crate) fn lose_segment(&mut self, segment: u64, mut each: impl FnMut(u64, &Entry)) {
        let mut at = self.front;
        while let Some(number) = self.resolved.next_clear(at, self.next) {
            let entry = self.entry(number);
            if entry.segment == segment && entry.is_in_flight() {
                return self.lose(number, &mut |number, entry: &Entry, _| each(number, entry));
            }
            at = number + 1;
        }
    }

    /// A segment has arrived: the packet in flight that repeats it, if there is one, is forgotten.
    /// Looks at numbers from `from` on first, and returns where the next search is to begin.
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

    /// The number in from..to that is in flight and repeats a segment.
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

    /// True if the last acknowledgement for which this was asked listed the same numbers but for the
    /// largest, and that one is in flight or lost.
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

    /// An unresolved number is acknowledged.
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

    /// A packet declared lost was only late: as much reordering is tolerated from now on.
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

    /// Moves `front` past everything resolved.
    #[inline]
    fn advance(&mut self) {
        if self.resolved_early > 0 {
            let end = self.resolved.clear_run(self.front, self.next);
            self.resolved_early -= end - self.front;
            self.front = end;
        }
        self.undecided = self.undecided.max(self.front);
    }

    /// The lowest number in flight that RACK may declare lost.
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

    /// True if no packet can be lost: none is unresolved below the largest acknowledged one.
    #[inline]
    pub(crate) fn is_in_order(&self) -> bool {
        self.front >= self.acked_end
    }

    /// True if nothing is in flight below the largest number acknowledged and nothing is to be
    /// forgotten: then [`Ledger::detect_losses`] changes nothing and names no time.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.undecided + 1 >= self.acked_end && !self.forgets()
    }

    /// Declares packets lost by `rule`; calls `each` for every one. Returns when the rule will next
    /// declare one, if nothing else happens.
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

    /// True if packets declared lost were only late, and more reordering is tolerated since.
    #[inline]
    pub(crate) fn has_seen_reordering(&self) -> bool {
        self.packet_threshold > INITIAL_PACKET_THRESHOLD
    }

    /// A packet is lost that is so many numbers older than one acknowledged (RFC 9002 §6.1.1).
    pub(crate) fn packet_threshold(&self) -> u64 {
        self.packet_threshold
    }

    /// An original packet came `distance` numbers after the largest acknowledged one: as much reordering is
    /// tolerated from now on.
    pub(crate) fn tolerate_reordering(&mut self, distance: u64) {
        self.packet_threshold = self.packet_threshold.max(distance.clamp(1, MAX_PACKET_THRESHOLD));
    }

    /// When the next packet is lost by its age; it may have passed.
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

    /// When the timer of losses expires if `oldest` is the oldest packet in flight, which is older than one
    /// acknowledged.
    fn loss_timer(&self, oldest: u64, rule: LossRule) -> Time {
        match rule.together {
            None => self.entry(oldest).sent + rule.age,
            Some(margin) => {
                let newest = self.newest_in_flight_below_acked(oldest);
                self.entry(newest).sent + rule.age + margin
            }
        }
    }

    /// The newest number in flight that is older than one acknowledged; `oldest` is the oldest.
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

    /// True if at least `packets` packets are acknowledged that are younger than the oldest one in flight (Linux
    /// `sacked_out`).
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

    /// No number below is in flight.
    #[inline]
    fn first_unresolved(&self) -> u64 {
        if self.front < self.found_end { self.front } else { self.undecided.max(self.front) }
    }

    /// The oldest number in flight.
    pub(crate) fn first_in_flight(&self) -> Option<u64> {
        let mut at = self.first_unresolved();
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

    /// True if a number has no final fate yet.
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

    /// True if the oldest entry was declared lost, and a packet is acknowledged that was sent after
    /// that: on a path that keeps the order, the lost one will not come any more.
    #[inline]
    fn forgets(&self) -> bool {
        let lost_before = || self.entry(self.front).lost_before(self.front);
        self.remembered > 0
            && self.front < self.next
            && lost_before().is_some_and(|next| next < self.acked_end)
    }

    /// Forgets lost packets that will not come any more, up to the first whose segment `waits` to be sent again.
    pub(crate) fn forget(&mut self, waits: impl Fn(u64) -> bool) {
        while self.forgets() && !waits(self.entry(self.front).segment) {
            self.remembered -= 1;
            self.front += 1;
            self.advance();
        }
    }

    /// Forgets everything; acknowledgements of earlier numbers will be ignored.
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

#[path = "ledger_undo.rs"]
mod undo;

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;

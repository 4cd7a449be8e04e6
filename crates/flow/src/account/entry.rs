//! What the ledger stores about one transmission.

use paceline_cc::Time;

use super::Repair;

/// State of a transmission.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// In flight, as far as the sender knows.
    InFlight,
    /// Declared lost.
    Lost,
    /// Acknowledged, or forgotten because another copy of its data was acknowledged.
    Acked,
}

/// The part of an entry that every transmission needs: 32 bytes, so that two fit into a cache line.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) sent: Time,
    pub(crate) segment: u64,
    /// Total bytes delivered when the packet was sent.
    pub(crate) delivered: u64,
    pub(crate) size: u32,
    /// State: [`IN_FLIGHT`], [`ACKED`] or [`FORGOTTEN`]. For a lost packet: the number that was
    /// next when it was declared lost, minus its own number. Combined with the flags [`AGAIN`],
    /// [`UNWATCHED`] and [`PUSH`].
    state: u32,
}

const IN_FLIGHT: u32 = 0;
const ACKED: u32 = PUSH - 1;
const FORGOTTEN: u32 = ACKED - 1;
/// Flag: the packet is a retransmission.
const AGAIN: u32 = 1 << 31;
/// Flag: only the retransmission timer may declare the packet lost. See [`Entry::unwatch`].
const UNWATCHED: u32 = 1 << 30;
/// Flag: the packet has TCP's PSH flag.
const PUSH: u32 = 1 << 29;
const FLAGS: u32 = AGAIN | UNWATCHED | PUSH;

/// The further part of an entry, stored only for controllers that need rate samples or fates.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Detail {
    /// The rate sampler's state when the packet was sent: see [`super::rate`].
    pub(crate) first_sent: Time,
    pub(crate) delivered_at: Time,
    pub(crate) app_limited: bool,
    /// The controller's tag.
    pub(crate) tag: u64,
}

impl Entry {
    /// Returns the entry of a packet of `size` bytes sent at `now`, when `delivered` bytes had been
    /// delivered in total.
    #[inline]
    pub(crate) fn new(now: Time, segment: u64, size: u32, delivered: u64) -> Entry {
        Entry { sent: now, segment, delivered, size, state: IN_FLIGHT }
    }

    /// Returns this entry, marked as a retransmission if `repeats` is true.
    #[inline]
    pub(crate) fn repeating(self, repeats: bool) -> Entry {
        Entry { state: self.state | (u32::from(repeats) << 31), ..self }
    }

    /// Returns this entry, marked as one with PSH if `push` is true.
    #[inline]
    pub(crate) fn pushing(self, push: bool) -> Entry {
        Entry { state: self.state | (u32::from(push) << 29), ..self }
    }

    /// Returns what retransmits this packet, which has `number`.
    pub(crate) fn repair(&self, number: u64) -> Repair {
        let Entry { segment, size, state, .. } = *self;
        Repair { number, segment, size, push: state & PUSH != 0 }
    }

    /// Returns true if the packet is a retransmission.
    #[inline]
    pub(crate) fn repeats(&self) -> bool {
        self.state & AGAIN != 0
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        match self.state & !FLAGS {
            IN_FLIGHT => State::InFlight,
            FORGOTTEN | ACKED => State::Acked,
            _ => State::Lost,
        }
    }

    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.state & !FLAGS == IN_FLIGHT
    }

    /// Returns true if the packet is in flight, is no retransmission, and may be declared lost by
    /// RACK.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.state & !PUSH == IN_FLIGHT
    }

    /// Takes the packet off the list on which RACK looks for losses (Linux `tsorted_sent_queue`).
    pub(super) fn unwatch(&mut self) {
        self.state |= UNWATCHED;
    }

    /// Puts the packet back on that list.
    pub(super) fn watch(&mut self) {
        self.state &= !UNWATCHED;
    }

    /// Returns true if the packet is in flight and RACK may declare it lost.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.state & !(AGAIN | PUSH) == IN_FLIGHT
    }

    /// Returns the number that was next when this packet, which has `number`, was declared lost;
    /// `None` if it is not lost.
    #[inline]
    pub(crate) fn lost_before(&self, number: u64) -> Option<u64> {
        (self.state() == State::Lost).then(|| number + u64::from(self.state & !FLAGS))
    }

    #[inline]
    pub(super) fn acknowledge(&mut self) {
        self.state |= ACKED;
    }

    /// Forgets the packet because another copy of its data has arrived.
    pub(super) fn forget(&mut self) {
        self.state = self.state & FLAGS | FORGOTTEN;
    }

    /// Returns true if [`forget`](Self::forget) was called.
    pub(super) fn is_forgotten(&self) -> bool {
        self.state & !FLAGS == FORGOTTEN
    }

    /// Declares the packet, which has `number`, lost; `next` is the number of the next
    /// transmission.
    pub(super) fn lose(&mut self, number: u64, next: u64) {
        // 2²⁹ packets are never in flight: their entries would take 16 GB.
        let between = u32::try_from(next - number).unwrap_or(u32::MAX);
        self.state = self.state & FLAGS | between.clamp(1, FORGOTTEN - 1);
    }

    /// Puts the packet in flight again: the loss was a mistake.
    pub(super) fn find(&mut self) {
        self.state &= FLAGS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_small() {
        assert_eq!((size_of::<Entry>(), size_of::<Detail>()), (32, 32));
    }

    #[test]
    fn an_entry_stores_when_it_was_declared_lost() {
        let mut entry = Entry::new(Time::ZERO, 0, 1500, 0);
        assert_eq!((entry.state(), entry.lost_before(7)), (State::InFlight, None));
        entry.lose(7, 12);
        assert_eq!((entry.state(), entry.lost_before(7)), (State::Lost, Some(12)));
        entry.find();
        assert!(entry.is_in_flight());
        entry.acknowledge();
        assert_eq!((entry.state(), entry.lost_before(7)), (State::Acked, None));
        assert!(!entry.is_forgotten());
        let mut copy = Entry::new(Time::ZERO, 0, 1500, 0).repeating(true);
        copy.forget();
        assert_eq!((copy.state(), copy.is_forgotten(), copy.repeats()), (State::Acked, true, true));
        assert!(!entry.repeats());
        let mut again = Entry::new(Time::ZERO, 0, 1500, 0).repeating(true).pushing(true);
        assert!(again.is_in_flight() && again.is_watched() && !again.is_plain());
        assert!(again.repair(7).push && !entry.repair(7).push);
        assert!(Entry::new(Time::ZERO, 0, 1500, 0).pushing(true).is_plain());
        again.lose(7, 12);
        assert_eq!((again.lost_before(7), again.repeats()), (Some(12), true));
        again.find();
        assert_eq!((again.state(), again.repeats()), (State::InFlight, true));
        assert!(again.repair(7).push);
    }
}

//! What an acknowledgement newly acknowledges.

use std::collections::VecDeque;

use paceline_cc::{Ack, Fate, Signals, Time};

use super::entry::{Detail, Entry};
use super::gaps::drop_repair;
use super::ledger::Ledger;
use super::rate::RateSampler;
use super::{Account, Repair};

/// What an acknowledgement newly acknowledges.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Acked {
    pub(super) bytes: u64,
    pub(super) packets: u32,
    /// Packets of these that were declared lost, and came after all.
    pub(super) late: u32,
    /// Those of them that were declared lost in the present episode of recovery.
    pub(super) late_in_episode: u32,
    /// The largest number, and when it was sent.
    pub(super) newest: Option<(u64, Time)>,
    /// The packet with the largest number repeats data.
    pub(super) newest_repeats: bool,
    /// One more than the largest number that earlier acknowledgements acknowledged.
    prior_end: u64,
    /// Packets that had been sent once, and came after others that were sent later: by how many numbers at
    /// most.
    pub(super) overtaken: u64,
    /// Packets of `late` whose data had been sent again by then.
    pub(super) repaired_in_vain: u32,
}

/// Of several packets the one that Linux looks at last, whose RTT is RACK's: among those below the cumulative
/// point, or else all, the last in the order of data.
#[derive(Copy, Clone, Debug)]
pub(super) struct Last {
    /// Whether it lies below the cumulative point, its segment, and its number.
    place: (bool, u64, u64),
    pub(super) sent: Time,
}

impl Last {
    /// The packet that is looked at later: this one, or another one that was `sent` then.
    fn later(last: Option<Last>, place: (bool, u64, u64), sent: Time) -> Option<Last> {
        match last {
            Some(last) if last.place > place => Some(last),
            _ => Some(Last { place, sent }),
        }
    }
}

/// Sums up what is newly acknowledged, for the rate sampler and the controller.
struct Notes<'a> {
    now: Time,
    /// The number at which the present episode of recovery began.
    episode: u64,
    /// The number of the last probe.
    probe: u64,
    rates: &'a mut RateSampler,
    repairs: &'a mut VecDeque<Repair>,
    /// Where the segments go of which copies may be in flight.
    copied: &'a mut Vec<u64>,
    /// Where fates go, if the controller needs them.
    fates: Option<&'a mut Vec<Fate>>,
    acked: Acked,
}

impl Notes<'_> {
    /// Returns whether the data of packet `number` was sent once only. What was sent before a probe may
    /// have been repeated by it.
    fn was_sent_once(&self, number: u64, entry: &Entry) -> bool {
        !entry.repeats() && number + 1 != self.probe
    }

    #[cold]
    fn note_overtaken(&mut self, number: u64) {
        self.acked.overtaken =
            self.acked.overtaken.max(self.acked.prior_end.saturating_sub(number));
    }

    #[inline(always)]
    fn note(&mut self, number: u64, entry: &Entry, detail: Option<&Detail>) {
        self.acked.bytes += u64::from(entry.size);
        self.acked.packets += 1;
        if let Some(lost_before) = entry.lost_before(number) {
            self.acked.late += 1;
            self.acked.late_in_episode += u32::from(lost_before >= self.episode);
            self.rates.on_late(entry.size);
            match drop_repair(self.repairs, entry.segment) {
                true => self.note_overtaken(number),
                false => {
                    self.acked.repaired_in_vain += 1;
                    self.copied.push(entry.segment);
                }
            }
        } else {
            if number < self.acked.prior_end && self.was_sent_once(number, entry) {
                self.note_overtaken(number);
            }
            if number + 1 == self.probe {
                self.copied.push(entry.segment);
            }
            self.rates.on_acked(self.now, entry, detail);
        }
        if self.acked.newest.is_none_or(|(largest, _)| number > largest) {
            self.acked.newest = Some((number, entry.sent));
            self.acked.newest_repeats = entry.repeats();
        }
        if let Some(fates) = &mut self.fates {
            let mut fate = fate(number, entry, detail, false);
            fate.late = !entry.is_in_flight();
            fates.push(fate);
        }
    }
}

impl Account {
    /// The ledger, and what sums up what it newly acknowledges; `acked` was summed up already.
    #[inline(always)]
    fn notes(&mut self, now: Time, acked: Acked) -> (&mut Ledger, Notes<'_>) {
        let Account { ledger, rates, fates, config, recovery, repairs, copied, timers, .. } = self;
        let fates = config.signals.contains(Signals::FATES).then_some(fates);
        let episode = recovery.episode();
        let probe = timers.probe;
        let notes = Notes { now, episode, probe, rates, repairs, copied, fates, acked };
        (ledger, notes)
    }

    /// Notes that an acknowledgement newly acknowledges one number, which [`Ledger::single`] gave.
    #[inline(always)]
    pub(super) fn take_single(&mut self, now: Time, number: u64) -> Acked {
        let acked = Acked { prior_end: self.ledger.acked_end(), ..Acked::default() };
        let (ledger, mut notes) = self.notes(now, acked);
        ledger.on_single(number, |number, entry, detail| notes.note(number, entry, detail));
        notes.acked
    }

    /// The same for an acknowledgement whose blocks have to be looked at, and `older` ones beside it.
    #[inline(never)]
    pub(super) fn take_blocks(
        &mut self,
        now: Time,
        ack: &Ack,
        older: impl Iterator<Item = (u64, u64)>,
    ) -> (Acked, Option<Last>) {
        let acked = Acked { prior_end: self.ledger.acked_end(), ..Acked::default() };
        let (ledger, mut notes) = self.notes(now, acked);
        let blocks = ack.blocks().chain(older);
        let mut last = None;
        ledger.on_blocks(blocks, |number, entry, detail| {
            let place = (entry.segment < ack.cumulative, entry.segment, number);
            last = Last::later(last, place, entry.sent);
            notes.note(number, entry, detail);
        });
        (notes.acked, last)
    }

    /// Acknowledges what the cumulative point covers, after it has advanced past missing packets:
    /// packets in flight whose data lies below the point and whose number lies below all blocks of the
    /// acknowledgement (the receiver may have forgotten their range). Queued repairs below the point
    /// count as late arrivals of packets that were declared lost.
    #[cold]
    pub(super) fn take_cumulative(
        &mut self,
        now: Time,
        ack: &Ack,
        acked: &mut Acked,
        mut last: Option<Last>,
    ) -> Option<Last> {
        let cumulative = self.cumulative;
        if let (None, Some((number, sent))) = (last, acked.newest) {
            let segment = self.ledger.entry(number).segment;
            last = Last::later(None, (segment < cumulative, segment, number), sent);
        }
        let (ledger, mut notes) = self.notes(now, *acked);
        let untold = ack.blocks().last().map_or(0, |(first, _)| first);
        let mut take =
            |number: u64, entry: &Entry, detail: Option<&Detail>, notes: &mut Notes<'_>| {
                let place = (entry.segment < cumulative, entry.segment, number);
                last = Last::later(last, place, entry.sent);
                notes.note(number, entry, detail);
            };
        ledger.on_untold(cumulative, untold, |number, entry, detail| {
            take(number, entry, detail, &mut notes);
        });
        while let Some(repair) = notes.repairs.front().copied()
            && repair.segment < cumulative
        {
            if ledger.is_open(repair.number) {
                ledger.on_arrived(repair.number, |number, entry, detail| {
                    take(number, entry, detail, &mut notes);
                });
            }
            // Its arrival has taken it away, unless the ledger had forgotten it.
            notes.repairs.pop_front_if(|first| first.segment == repair.segment);
        }
        *acked = notes.acked;
        last
    }
}

#[inline]
pub(super) fn fate(number: u64, entry: &Entry, detail: Option<&Detail>, lost: bool) -> Fate {
    Fate::new(number, entry.size, entry.sent, detail.map_or(0, |detail| detail.tag), lost)
}

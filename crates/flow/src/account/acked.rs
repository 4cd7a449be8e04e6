//! Sums up the packets that an acknowledgement newly acknowledges.

use std::collections::VecDeque;

use paceline_cc::{Ack, Fate, Signals, Time};

use super::entry::{Detail, Entry};
use super::ledger::{Ledger, PlainRun};
use super::rate::RateSampler;
use super::requests::{Requests, drop_repair};
use super::{Account, Repair};

/// The packets that an acknowledgement newly acknowledges.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Acked {
    pub(super) bytes: u64,
    pub(super) packets: u32,
    /// Packets among them that had been declared lost: the loss was spurious.
    pub(super) late: u32,
    /// Packets among `late` that were declared lost in the present episode of recovery.
    pub(super) late_in_episode: u32,
    /// The largest number among them, and when that packet was sent.
    pub(super) newest: Option<(u64, Time)>,
    /// True if the packet with the largest number is a retransmission.
    pub(super) newest_repeats: bool,
    /// One more than the largest number that earlier acknowledgements acknowledged.
    prior_end: u64,
    /// The largest reordering among them: by how many numbers a packet that was sent only once came
    /// behind the largest number acknowledged before. Zero if all came in order.
    pub(super) overtaken: u64,
    /// Packets among `late` whose data had been retransmitted by then: the retransmission was
    /// needless.
    pub(super) repaired_in_vain: u32,
}

/// The packet of an acknowledgement that Linux looks at last, whose RTT RACK uses: among the
/// packets below the cumulative point, or else among all of them, the last in the order of data.
#[derive(Copy, Clone, Debug)]
pub(super) struct Last {
    /// True if it lies below the cumulative point; its segment; its number.
    place: (bool, u64, u64),
    pub(super) sent: Time,
}

impl Last {
    /// Returns which packet Linux looks at later: `last`, or the packet at `place`, which was sent
    /// at `sent`.
    #[inline]
    fn later(last: Option<Last>, place: (bool, u64, u64), sent: Time) -> Option<Last> {
        match last {
            Some(last) if last.place > place => Some(last),
            _ => Some(Last { place, sent }),
        }
    }
}

/// Sums up newly acknowledged packets, for the rate sampler and the controller.
struct Notes<'a> {
    now: Time,
    /// Number of the packet with which the present episode of recovery began.
    episode: u64,
    /// Number of the last probe; zero before the first.
    probe: u64,
    rates: &'a mut RateSampler,
    repairs: &'a mut VecDeque<Repair>,
    requests: Option<&'a mut Requests>,
    /// Collects the segments of which another copy may still be in flight.
    copied: &'a mut Vec<u64>,
    /// Collects the packets' fates, if the controller needs them.
    fates: Option<&'a mut Vec<Fate>>,
    acked: Acked,
}

impl Notes<'_> {
    /// Returns whether the data of packet `number` was certainly sent only once. The packet sent
    /// just before a probe may have been repeated by the probe.
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
        if let Some(requests) = &mut self.requests {
            requests.on_arrival(entry.segment, self.repairs);
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
    /// Returns the ledger, and the notes that sum up what it newly acknowledges. `acked` holds the
    /// packets summed up before.
    #[inline(always)]
    fn notes(&mut self, now: Time, acked: Acked) -> (&mut Ledger, Notes<'_>) {
        let Account { ledger, rates, fates, config, recovery, .. } = self;
        let Account { repairs, requests, copied, timers, .. } = self;
        let fates = config.signals.contains(Signals::FATES).then_some(fates);
        let episode = recovery.episode();
        let probe = timers.probe;
        let requests = requests.as_deref_mut();
        let notes = Notes { now, episode, probe, rates, repairs, requests, copied, fates, acked };
        (ledger, notes)
    }

    /// Acknowledges the one number that [`Ledger::single`] returned, and sums it up.
    #[inline(always)]
    pub(super) fn take_single(&mut self, now: Time, number: u64) -> Acked {
        let acked = Acked { prior_end: self.ledger.acked_end(), ..Acked::default() };
        let (ledger, mut notes) = self.notes(now, acked);
        ledger.on_single(number, |number, entry, detail| notes.note(number, entry, detail));
        notes.acked
    }

    /// Acknowledges the numbers below the `end` that [`Ledger::run_end`] returned, and sums them up.
    /// Returns with them the packet that Linux looks at last.
    #[inline(always)]
    pub(super) fn take_run(&mut self, now: Time, ack: &Ack, end: u64) -> (Acked, Option<Last>) {
        let prior_end = self.ledger.acked_end();
        // A probe among them needs a closer look, and so do fates.
        let has_probe = self.timers.probe > prior_end && self.timers.probe <= end;
        if !has_probe
            && !self.config.signals.contains(Signals::FATES)
            && let Some(run) = self.ledger.on_plain_run(end, ack.cumulative)
        {
            let PlainRun { bytes, packets, newest, detail } = run;
            self.rates.on_acked_run(now, bytes, newest, detail);
            let sent = newest.sent;
            let last = Some(Last { place: (true, newest.segment, end - 1), sent });
            let newest = Some((end - 1, sent));
            return (Acked { bytes, packets, newest, prior_end, ..Acked::default() }, last);
        }
        self.take_mixed_run(now, ack, end)
    }

    /// Does [`Account::take_run`] for numbers of any kind.
    #[cold]
    #[inline(never)]
    fn take_mixed_run(&mut self, now: Time, ack: &Ack, end: u64) -> (Acked, Option<Last>) {
        let acked = Acked { prior_end: self.ledger.acked_end(), ..Acked::default() };
        let (ledger, mut notes) = self.notes(now, acked);
        let mut last = None;
        ledger.on_run(end, |number, entry, detail| {
            let place = (entry.segment < ack.cumulative, entry.segment, number);
            last = Last::later(last, place, entry.sent);
            notes.note(number, entry, detail);
        });
        (notes.acked, last)
    }

    /// Acknowledges the blocks of `ack` and the `older` ranges beside them, and sums up the newly
    /// acknowledged packets. Returns with them the packet that Linux looks at last.
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
    /// packets in flight whose data lies below the point and whose number lies below all blocks of
    /// the acknowledgement (the receiver may have forgotten the range that they belong to). Packets
    /// declared lost whose queued repair lies below the point count as late.
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
            // `note` has removed the repair, unless the ledger had forgotten the packet.
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

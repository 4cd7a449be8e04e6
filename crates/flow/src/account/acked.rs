//! What an acknowledgement newly acknowledges.

use std::collections::VecDeque;

use paceline_cc::{Ack, Fate, Signals, Time};

use super::entry::{Detail, Entry};
use super::gaps::drop_repair;
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
}

/// Sums up what is newly acknowledged, for the rate sampler and the controller.
struct Notes<'a> {
    now: Time,
    /// The number at which the present episode of recovery began.
    episode: u64,
    rates: &'a mut RateSampler,
    repairs: &'a mut VecDeque<Repair>,
    /// Where fates go, if the controller needs them.
    fates: Option<&'a mut Vec<Fate>>,
    acked: Acked,
}

impl Notes<'_> {
    #[inline(always)]
    fn note(&mut self, number: u64, entry: &Entry, detail: Option<&Detail>) {
        let acked = &mut self.acked;
        acked.bytes += u64::from(entry.size);
        acked.packets += 1;
        if let Some(lost_before) = entry.lost_before(number) {
            acked.late += 1;
            acked.late_in_episode += u32::from(lost_before >= self.episode);
            self.rates.on_late(entry.size);
            drop_repair(self.repairs, entry.segment);
        } else {
            self.rates.on_acked(self.now, entry, detail);
        }
        if acked.newest.is_none_or(|(largest, _)| number > largest) {
            acked.newest = Some((number, entry.sent));
        }
        if let Some(fates) = &mut self.fates {
            let mut fate = fate(number, entry, detail, false);
            fate.late = !entry.is_in_flight();
            fates.push(fate);
        }
    }
}

impl Account {
    /// Notes that an acknowledgement newly acknowledges one number, which [`Ledger::single`] gave.
    ///
    /// [`Ledger::single`]: super::ledger::Ledger::single
    #[inline(always)]
    pub(super) fn take_single(&mut self, now: Time, number: u64) -> Acked {
        let Account { ledger, rates, fates, config, recovery, repairs, .. } = self;
        let fates = config.signals.contains(Signals::FATES).then_some(fates);
        let episode = recovery.episode();
        let mut notes = Notes { now, episode, rates, repairs, fates, acked: Acked::default() };
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
    ) -> Acked {
        let Account { ledger, rates, fates, config, recovery, repairs, .. } = self;
        let fates = config.signals.contains(Signals::FATES).then_some(fates);
        let episode = recovery.episode();
        let mut notes = Notes { now, episode, rates, repairs, fates, acked: Acked::default() };
        let blocks = ack.blocks().chain(older);
        ledger.on_blocks(blocks, |number, entry, detail| notes.note(number, entry, detail));
        notes.acked
    }

    /// Acknowledges what the cumulative point covers, after it has advanced past missing packets:
    /// packets in flight whose data lies below the point and whose number lies below all blocks of the
    /// acknowledgement (the receiver may have forgotten their range). Queued repairs below the point
    /// count as late arrivals of packets that were declared lost.
    #[cold]
    pub(super) fn take_cumulative(&mut self, now: Time, ack: &Ack, acked: &mut Acked) {
        let Account { ledger, rates, fates, config, recovery, repairs, cumulative, .. } = self;
        let fates = config.signals.contains(Signals::FATES).then_some(fates);
        let episode = recovery.episode();
        let mut notes = Notes { now, episode, rates, repairs, fates, acked: *acked };
        let untold = ack.blocks().last().map_or(0, |(first, _)| first);
        ledger.on_untold(*cumulative, untold, |number, entry, detail| {
            notes.note(number, entry, detail);
        });
        while let Some(repair) = notes.repairs.front().copied()
            && repair.segment < *cumulative
        {
            notes.repairs.pop_front();
            if ledger.is_open(repair.number) {
                ledger.on_arrived(repair.number, |number, entry, detail| {
                    notes.note(number, entry, detail);
                });
            }
        }
        *acked = notes.acked;
    }
}

#[inline]
pub(super) fn fate(number: u64, entry: &Entry, detail: Option<&Detail>, lost: bool) -> Fate {
    Fate::new(number, entry.size, entry.sent, detail.map_or(0, |detail| detail.tag), lost)
}

//! Handles acknowledgements while packets are missing: losses by packet and time thresholds, the
//! reaction to them, and the repairs.

use std::collections::VecDeque;

use paceline_cc::{Ack, Congestion, Feedback, NO_SEGMENT, Signals, Time};

use super::acked::{Acked, Last, fate};
use super::config::Constants;
use super::entry::Entry;
use super::recovery::Event;
use super::{Account, LossTrigger, Losses, Progress, Repair};

impl Account {
    /// Does the rest of [`Account::on_ack`] while packets are missing.
    #[inline(never)]
    pub(super) fn on_gaps(
        &mut self,
        now: Time,
        ack: &Ack,
        prior: u64,
        mut acked: Acked,
        mut last: Option<Last>,
    ) -> Feedback<'_> {
        let advanced = self.advance(ack);
        if advanced && (!self.ledger.is_in_order() || !self.repairs.is_empty()) {
            last = self.take_cumulative(now, ack, &mut acked, last);
        }
        let rtt = self.sample_rtt(now, ack, &acked, advanced);
        self.tell_rack(now, &acked, last);
        if self.recovery.is_after_timeout() && self.config.linux {
            let (cumulative, next) = (self.cumulative, self.next_segment);
            self.recovery.note_progress(advanced, acked.late > 0, cumulative, next);
        }
        let losses = if self.ledger.is_in_order() || self.ledger.is_settled() {
            self.timers.loss = Time::NEVER;
            Losses::NONE
        } else {
            self.detect_losses(now)
        };
        self.finish(now, ack, Progress { prior, acked, advanced, rtt }, &losses)
    }

    /// Passes an acknowledgement to loss recovery. Returns the congestion signal for the
    /// controller.
    #[cold]
    pub(super) fn recover(
        &mut self,
        ack: &Ack,
        prior_in_flight: u64,
        late: u32,
        marked: bool,
        losses: &Losses,
    ) -> Option<Congestion> {
        let news = losses.packets > 0 || marked || late > 0;
        if !news && !self.recovery.may_end(ack.largest, self.cumulative) {
            return None;
        }
        // An invalid acknowledgement of a number that was never sent must not end the recovery.
        let largest = ack.largest.min(self.ledger.next().saturating_sub(1));
        let classic = self.marks.is_classic();
        let event = Event { largest, late, marked, classic, ..self.event(prior_in_flight, losses) };
        let was_repairing = self.recovery.is_repairing();
        let congestion = self.recovery.on_ack(&event);
        if congestion.is_some() {
            self.timers.on_congestion();
        }
        if congestion == Some(Congestion::Undo) {
            // The packets were late, not lost: their queued repairs are dropped, except those of
            // packets that the ledger has forgotten.
            self.stats.late += self.undo_losses();
            let ledger = &self.ledger;
            if self.config.reliable {
                self.repairs.retain(|repair| !ledger.is_open(repair.number));
            }
            self.timers.loss = self.ledger.next_loss(self.loss_rule());
        } else if was_repairing && !self.recovery.is_repairing() {
            self.rack.on_repaired();
        }
        congestion
    }

    /// Builds the event for [`Recovery`](super::recovery::Recovery) from the account's present
    /// state.
    pub(super) fn event(&self, prior_in_flight: u64, losses: &Losses) -> Event {
        let prior = match self.config.linux && self.window > 0 {
            true => self.window,
            false => prior_in_flight,
        };
        Event {
            cumulative: self.cumulative,
            lost: losses.packets - u32::from(losses.probed_end.is_some()),
            probed_end: losses.probed_end,
            first_lost_segment: losses.smallest_segment,
            lost_segment: losses.largest_segment,
            lost_number: losses.largest_number,
            lost_end: self.lost_end,
            prior,
            next: self.ledger.next(),
            next_segment: self.next_segment,
            ..Event::default()
        }
    }

    /// Returns number and segment of the last probe, so that a loss of the data that it repeated
    /// needs no repair. `None` if the probe is lost, or if it and all older packets are settled.
    pub(super) fn probe_copy(&self) -> Option<(u64, u64)> {
        let number = self.timers.probe;
        let segment = self.ledger.unlost(number)?.segment;
        Some((number, segment))
    }

    /// Notes the end of the segments that were declared lost, if the receiver asks for none of them.
    pub(super) fn note_lost_segment(&mut self, losses: &Losses) {
        if losses.smallest_segment.is_some() && self.requests.is_none() {
            self.lost_end = self.lost_end.max(losses.largest_segment + 1);
        }
    }

    /// Declares packets lost by the account's rule, and sets the timer for the next loss.
    #[inline(never)]
    pub(super) fn detect_losses(&mut self, now: Time) -> Losses {
        let mut losses = Losses::default();
        let (rule, cumulative, copy) = (self.loss_rule(), self.cumulative, self.probe_copy());
        let Account { ledger, repairs, requests, fates, config, loss_log, undone, .. } = self;
        ledger.forget(|segment| {
            repairs.binary_search_by_key(&segment, |repair| repair.segment).is_ok()
        });
        let distant_end = ledger.acked_end().saturating_sub(rule.distance);
        self.timers.loss = ledger.detect_losses(now, rule, |number, entry, detail| {
            losses.note(number, entry);
            if config.linux && entry.segment < cumulative && is_repeated(copy, number, entry) {
                losses.probed_end = Some(entry.segment + 1);
            }
            loss_log.note(
                number,
                entry,
                match number < distant_end {
                    true => LossTrigger::ReorderingThreshold,
                    false => LossTrigger::TimeThreshold,
                },
            );
            if entry.repeats() {
                undone.on_copy_lost(entry.segment);
            }
            note_loss(config, cumulative, copy, repairs, number, entry);
            if let Some(requests) = requests {
                requests.on_lost(number, entry);
            }
            if config.signals.contains(Signals::FATES) {
                fates.push(fate(number, entry, detail, true));
            }
        });
        self.timers.loss = self.expiry(now, self.timers.loss);
        self.note_lost_segment(&losses);
        self.stats.lost += u64::from(losses.packets);
        self.hear_requests(now);
        losses
    }
}

impl Losses {
    pub(super) const NONE: Losses = Losses {
        bytes: 0,
        packets: 0,
        smallest_segment: None,
        largest_segment: 0,
        largest_number: 0,
        probed_end: None,
    };

    pub(super) fn note(&mut self, number: u64, entry: &Entry) {
        self.bytes += u64::from(entry.size);
        self.packets += 1;
        self.largest_number = self.largest_number.max(number);
        if entry.segment != NO_SEGMENT {
            let smallest = self.smallest_segment.unwrap_or(u64::MAX);
            self.smallest_segment = Some(smallest.min(entry.segment));
            self.largest_segment = self.largest_segment.max(entry.segment);
        }
    }
}

/// Returns true if `copy`, the number and the segment of a later packet, repeats the data of packet `number`.
fn is_repeated(copy: Option<(u64, u64)>, number: u64, entry: &Entry) -> bool {
    copy.is_some_and(|(later, segment)| number < later && entry.segment == segment)
}

/// Queues the data of a packet declared lost for repair, unless the data has arrived or `copy`
/// (number and segment of a later packet) has repeated it.
pub(super) fn note_loss(
    config: &Constants,
    cumulative: u64,
    copy: Option<(u64, u64)>,
    repairs: &mut VecDeque<Repair>,
    number: u64,
    entry: &Entry,
) {
    if is_repeated(copy, number, entry) {
        return;
    }
    let is_data = entry.segment != NO_SEGMENT;
    if config.reliable && is_data && entry.segment >= cumulative {
        queue_repair(repairs, entry.repair(number));
    }
}

/// Queues a repair. RFC 6298 §5.4: the earliest data is retransmitted first, also if its repair was lost.
pub(super) fn queue_repair(repairs: &mut VecDeque<Repair>, repair: Repair) {
    match repairs.back() {
        Some(last) if last.segment >= repair.segment => {
            match repairs.binary_search_by_key(&repair.segment, |other| other.segment) {
                // Another copy of the segment was lost before: a probe, or the packet that it
                // repeated.
                Ok(at) => repairs[at] = repair,
                Err(at) => repairs.insert(at, repair),
            }
        }
        _ => repairs.push_back(repair),
    }
}

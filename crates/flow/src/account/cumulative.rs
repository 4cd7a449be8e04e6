//! Loss recovery without selective acknowledgements: the receiver reports only the segment below
//! which all have arrived.

use paceline_cc::{Ack, Congestion, Feedback, Signals, Time};

use super::acked::fate;
use super::entry::Entry;
use super::gaps::note_loss;
use super::ledger::Returns;
use super::loss_recovery::{LossRecovery, RttSamples};
use super::{Account, LossTrigger};

/// Number of duplicate acknowledgements that reveal a loss (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;

/// Additional state of an account without selective acknowledgements.
///
/// It is no machine of its own: ledger, RTTs, timers, repairs and counters are those of
/// [`Account`], and only acknowledgements and timeouts are handled differently. A second machine
/// under a common trait would repeat those parts, and a sender that holds either of two machines
/// would branch in each of its calls, where the account now branches once for each acknowledgement
/// and each look at the window.
#[derive(Debug)]
pub(super) struct Cumulative {
    partial: bool,
    samples: RttSamples,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// True while losses are repaired by fast retransmit (`fast`), or after a timeout
    /// (`after_timeout`).
    fast: bool,
    after_timeout: bool,
    /// The segment that was next when the last episode began. No further episode begins before it
    /// is acknowledged (the "careful" variant of RFC 6582).
    end: u64,
    /// Packets by which the window is inflated (RFC 5681), because each duplicate acknowledgement
    /// shows that a packet has left the network. Also limited transmit (RFC 3042).
    inflation: u32,
    /// True from a fast retransmission's loss until its repair leaves, which does not wait for room in the window
    /// (RFC 5681 §3.2, RFC 6582 §3.2).
    repairs_at_once: bool,
    /// True after the first partial acknowledgement, which alone restarts the timer (RFC 6582's
    /// "impatient" variant).
    impatient: bool,
    /// The segment whose first transmission is timed (RFC 6298 §3).
    timed: u64,
    returns: Returns,
}

impl Cumulative {
    /// Returns `None` for [`LossRecovery::Sack`] and [`LossRecovery::Rfc9002`].
    pub(super) fn new(recovery: LossRecovery) -> Option<Box<Cumulative>> {
        let (partial, samples) = match recovery {
            LossRecovery::Sack | LossRecovery::Rfc9002 => return None,
            LossRecovery::NewReno(samples) => (true, samples),
            LossRecovery::Reno(samples) => (false, samples),
        };
        Some(Box::new(Cumulative {
            partial,
            samples,
            duplicates: 0,
            fast: false,
            after_timeout: false,
            end: 0,
            inflation: 0,
            repairs_at_once: false,
            impatient: false,
            timed: 0,
            returns: Returns::default(),
        }))
    }

    /// Starts anew for a connection whose first segment is `segment`.
    pub(super) fn begin(&mut self, segment: u64) {
        (self.duplicates, self.inflation, self.end) = (0, 0, 0);
        (self.fast, self.after_timeout, self.impatient) = (false, false, false);
        self.repairs_at_once = false;
        self.timed = segment;
        self.returns.clear();
    }

    pub(super) fn is_after_timeout(&self) -> bool {
        self.after_timeout
    }

    /// Returns true while losses are repaired.
    pub(super) fn is_repairing(&self) -> bool {
        self.fast || self.after_timeout
    }

    /// Notes that a repair leaves.
    pub(super) fn on_repair(&mut self) {
        self.repairs_at_once = false;
    }

    /// Notes that packet `number` carries earlier data than the one before.
    pub(super) fn on_return(&mut self, number: u64) {
        self.returns.note(number);
    }

    /// Notes that the retransmission timer expired when `next_segment` was next.
    pub(super) fn on_timeout(&mut self, next_segment: u64) {
        (self.duplicates, self.inflation) = (0, 0);
        (self.fast, self.after_timeout, self.repairs_at_once) = (false, true, false);
        (self.end, self.timed) = (next_segment, next_segment);
    }

    /// Takes a duplicate acknowledgement in. Returns true if it reveals a loss.
    fn on_duplicate(&mut self, cumulative: u64, next_segment: u64) -> bool {
        self.duplicates += 1;
        if self.fast {
            // RFC 6582 §3.2, step 2: also those after a partial acknowledgement.
            self.inflation += 1;
        } else if self.duplicates < DUPLICATES {
            self.inflation = self.duplicates;
        } else if self.duplicates > DUPLICATES {
            // A loss of the last episode was revealed: this is none.
        } else if self.end == 0 || cumulative > self.end {
            (self.fast, self.after_timeout, self.impatient) = (true, false, false);
            (self.end, self.inflation) = (next_segment, DUPLICATES);
            self.timed = next_segment;
            return true;
        } else {
            self.inflation = 0;
        }
        false
    }

    /// Takes in an acknowledgement of `segments` further segments. Returns true if it reveals one
    /// more loss.
    fn on_progress(&mut self, cumulative: u64, segments: u32) -> bool {
        self.duplicates = 0;
        if self.after_timeout && cumulative >= self.end {
            self.after_timeout = false;
        }
        if self.fast && self.partial && cumulative < self.end {
            // RFC 6582 §3.2, step 3.
            self.inflation = self.inflation.saturating_sub(segments.saturating_sub(1)).max(1);
            return true;
        }
        (self.fast, self.inflation) = (false, 0);
        false
    }
}

/// Returns whether packet `number` has arrived, as far as the blocks of `ack` say: nothing is known of numbers below them.
fn arrival(ack: &Ack, number: u64) -> Option<bool> {
    let (_, last) = ack.blocks().find(|(first, _)| *first <= number)?;
    Some(number <= last)
}

impl Account {
    /// [`Account::on_ack`] of an account without selective acknowledgements.
    #[cold]
    pub(super) fn on_cumulative_ack(&mut self, now: Time, ack: &Ack) -> Feedback<'_> {
        self.stats.acks += 1;
        self.fates.clear();
        let prior = self.ledger.in_flight();
        let marked = self.marks.newly_marked(ack);
        let cumulative = ack.cumulative.min(self.next_segment);
        let (mut acked, mut segments, mut rtt) = (0, 0, None);
        let mut congestion = None;
        let mut lost = 0;
        if cumulative > self.cumulative {
            segments = u32::try_from(cumulative - self.cumulative).unwrap_or(u32::MAX);
            let sent;
            (acked, sent) = self.take_segments(now, ack, cumulative);
            self.cumulative = cumulative;
            self.drop_repaired();
            rtt = sent.map(|sent| now.since(sent));
            if let Some(sample) = rtt {
                self.rtt.sample(sample, true);
            }
            if let Some(state) = &mut self.cumulative_only {
                let one_more = state.on_progress(cumulative, segments);
                if !(one_more && state.impatient) {
                    self.timers.restart(now, self.ledger.next());
                }
                state.impatient = one_more;
                lost = if one_more { self.lose_first(LossTrigger::ReorderingThreshold) } else { 0 };
            }
        } else if prior > 0
            && cumulative == self.cumulative
            && let Some(state) = &mut self.cumulative_only
            && state.on_duplicate(cumulative, self.next_segment)
        {
            lost = self.lose_first(LossTrigger::ReorderingThreshold);
            congestion = Some(Congestion::Loss);
            self.timers.restart(now, self.ledger.next());
        }
        let in_recovery = self.cumulative_only.as_ref().is_some_and(|state| state.is_repairing());
        let mut feedback = self.feedback(now, prior);
        (feedback.acked, feedback.acked_packets) = (acked, segments);
        (feedback.lost, feedback.lost_packets) = (lost, u32::from(lost > 0));
        feedback.marked_packets = marked;
        feedback.echo = ack.echo;
        // The explicit feedback of a duplicate acknowledgement is ignored, as in ns-2.
        feedback.explicit = if segments > 0 { ack.explicit } else { 0 };
        (feedback.rtt, feedback.congestion) = (rtt, congestion);
        feedback.in_recovery = in_recovery;
        feedback
    }

    /// Acknowledges all segments below `cumulative`. Returns their bytes, each segment counted
    /// once, and the send time of the packet that gives an RTT sample, if one does.
    ///
    /// Of a segment that was sent twice, the receiver's blocks name the packet that has arrived, as
    /// TCP's timestamps do (RFC 7323 §4.3): a repair that has just left gives neither an RTT nor a
    /// rate. For a controller that needs the fate of each packet, it stays in flight.
    fn take_segments(&mut self, now: Time, ack: &Ack, cumulative: u64) -> (u64, Option<Time>) {
        let (mut bytes, mut counted, mut newest) = (0, self.cumulative, None);
        let timed = self.cumulative_only.as_ref().map_or(u64::MAX, |state| state.timed);
        let (mut first, mut repeated) = (None, false);
        let Account { ledger, rates, repairs, fates, config, cumulative_only, .. } = self;
        let Some(Cumulative { returns, .. }) = cumulative_only.as_deref_mut() else {
            return (bytes, None);
        };
        let mut fates = config.signals.contains(Signals::FATES).then_some(fates);
        let tells_fates = fates.is_some();
        let largest = if ack.blocks().next().is_some() { ack.largest } else { u64::MAX };
        let keeps = |number, entry: &Entry| tells_fates && number > largest && entry.is_in_flight();
        ledger.on_segments_below(cumulative, returns, keeps, |number, entry, detail| {
            let arrival = arrival(ack, number);
            if arrival != Some(false) {
                newest = Some(entry.sent);
                rates.on_arrived(entry, detail);
            }
            // If the blocks do not say which packet of a segment that was sent twice has arrived, it is the one in
            // flight. A lost one whose repair has not left has arrived after all.
            let late = !entry.is_in_flight();
            let is_queued =
                || repairs.binary_search_by_key(&entry.segment, |repair| repair.segment).is_ok();
            let has_arrived = arrival.unwrap_or_else(|| !late || is_queued());
            if let Some(fates) = &mut fates
                && (has_arrived || !late)
            {
                let fate = fate(number, entry, detail, !has_arrived);
                fates.push(fate.with(|fate| fate.late = late));
            }
            if entry.segment == timed {
                repeated |= first.is_some();
                first = first.or(Some(entry.sent));
            }
            if entry.segment >= counted {
                counted = entry.segment + 1;
                bytes += u64::from(entry.size);
                rates.on_delivered(now, entry.size);
            }
        });
        let Some(state) = &mut self.cumulative_only else { return (bytes, None) };
        if cumulative > timed {
            state.timed = self.next_segment;
        }
        let sent = match state.samples {
            RttSamples::Each => newest,
            // Karn: a segment that was retransmitted gives no RTT sample.
            RttSamples::One => first.filter(|_| !repeated),
        };
        (bytes, sent)
    }

    /// Drops the queued repairs of data that has arrived. Repairs are in the order of their data.
    #[inline]
    fn drop_repaired(&mut self) {
        while self.repairs.front().is_some_and(|repair| repair.segment < self.cumulative) {
            self.repairs.pop_front();
        }
    }

    /// Declares the first missing segment lost, if it is in flight, and returns its bytes; else
    /// returns zero.
    fn lose_first(&mut self, trigger: LossTrigger) -> u64 {
        let Account { ledger, repairs, fates, config, cumulative, loss_log, stats, .. } = self;
        let mut bytes = 0;
        ledger.lose_segment(*cumulative, |number, entry: &Entry, detail| {
            bytes = u64::from(entry.size);
            stats.lost += 1;
            loss_log.note(number, entry, trigger);
            note_loss(config, *cumulative, None, repairs, number, entry);
            if config.signals.contains(Signals::FATES) {
                fates.push(fate(number, entry, detail, true));
            }
        });
        if let Some(state) = &mut self.cumulative_only {
            state.repairs_at_once = bytes > 0;
        }
        bytes
    }

    /// Returns true if `bytes` in flight fit into `window` plus its inflation by duplicates, or if a repair does not
    /// wait for room.
    #[cold]
    pub(super) fn fits_without_sack(&self, window: u64, bytes: u64) -> bool {
        let at_once = self.cumulative_only.as_ref().is_some_and(|state| state.repairs_at_once);
        at_once || bytes <= window.saturating_add(self.inflation())
    }

    /// Returns the bytes by which duplicate acknowledgements inflate the window; 0 with SACK.
    #[cold]
    pub(super) fn inflation(&self) -> u64 {
        let packets = self.cumulative_only.as_ref().map_or(0, |state| state.inflation);
        u64::from(packets) * u64::from(self.config.mss)
    }
}

//! Loss recovery without selective acknowledgements: what a sender knows that is told no more than
//! that all segments below one have arrived.

use paceline_cc::{Ack, Congestion, Feedback, Time};

use super::entry::Entry;
use super::gaps::note_loss;
use super::{Account, LossTrigger};

/// How a sender finds out about losses and repairs them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum LossRecovery {
    /// By selective acknowledgements as Linux' TCP does it: RACK and tail loss probes (RFC 8985). Flows that
    /// send nothing again follow RFC 9002 here, too.
    #[default]
    Sack,
    /// By selective acknowledgements as QUIC does it (RFC 9002).
    Rfc9002,
    /// NewReno (RFC 6582): three duplicate acknowledgements tell of one loss, and each partial
    /// acknowledgement of one more.
    NewReno(RttSamples),
    /// Reno (RFC 5681 §3.2): three duplicate acknowledgements tell of one loss. Fast recovery ends
    /// with the next acknowledgement that acknowledges anything; a second loss in the same window
    /// mostly waits for the retransmission timer.
    Reno(RttSamples),
}

impl LossRecovery {
    /// True if the receiver tells which packets have arrived.
    pub fn is_selective(self) -> bool {
        matches!(self, LossRecovery::Sack | LossRecovery::Rfc9002)
    }
}

/// What RTTs are measured of without selective acknowledgements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RttSamples {
    /// Every acknowledgement that acknowledges something new, as with timestamps (RFC 7323).
    Each,
    /// One packet at a time, and none that repeats data (Karn; RFC 6298 §3).
    One,
}

/// Duplicate acknowledgements that tell of a loss (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;

/// What an account keeps beside when nothing is acknowledged selectively.
#[derive(Debug)]
pub(super) struct Cumulative {
    partial: bool,
    samples: RttSamples,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// Losses are being repaired by a fast retransmit; or after a timeout.
    fast: bool,
    after_timeout: bool,
    /// No further episode begins before this segment is acknowledged, which was next when the last
    /// began (the "careful" variant of RFC 6582).
    end: u64,
    /// Packets that have left the network, as duplicate acknowledgements tell, and make room for
    /// others: RFC 5681's inflation of the window, and limited transmit (RFC 3042).
    inflation: u32,
    /// The first partial acknowledgement has restarted the timer (RFC 6582's "impatient" variant).
    impatient: bool,
    /// The one segment whose first transmission is timed (RFC 6298 §3).
    timed: u64,
}

impl Cumulative {
    /// Nothing for [`LossRecovery::Sack`].
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
            impatient: false,
            timed: 0,
        }))
    }

    /// A new connection begins with this segment.
    pub(super) fn begin(&mut self, segment: u64) {
        (self.duplicates, self.inflation, self.end) = (0, 0, 0);
        (self.fast, self.after_timeout, self.impatient) = (false, false, false);
        self.timed = segment;
    }

    /// Packets beyond the window that duplicate acknowledgements make room for.
    pub(super) fn inflation(&self) -> u32 {
        self.inflation
    }

    pub(super) fn is_after_timeout(&self) -> bool {
        self.after_timeout
    }

    /// The retransmission timer has expired, when `next_segment` was next.
    pub(super) fn on_timeout(&mut self, next_segment: u64) {
        (self.duplicates, self.inflation) = (0, 0);
        (self.fast, self.after_timeout) = (false, true);
        (self.end, self.timed) = (next_segment, next_segment);
    }

    /// What a duplicate acknowledgement means: true if it tells of a loss.
    fn on_duplicate(&mut self, cumulative: u64, next_segment: u64) -> bool {
        self.duplicates += 1;
        if self.duplicates < DUPLICATES {
            self.inflation = self.duplicates;
        } else if self.duplicates > DUPLICATES {
            self.inflation += u32::from(self.fast);
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

    /// What an acknowledgement of `segments` further segments means: true if it tells of one more
    /// loss.
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
            (acked, sent) = self.take_segments(now, cumulative);
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
            && let Some(state) = &mut self.cumulative_only
            && state.on_duplicate(cumulative, self.next_segment)
        {
            lost = self.lose_first(LossTrigger::ReorderingThreshold);
            congestion = Some(Congestion::Loss);
            self.timers.restart(now, self.ledger.next());
        }
        let in_recovery =
            self.cumulative_only.as_ref().is_some_and(|state| state.fast || state.after_timeout);
        let mut feedback = self.feedback(now, prior);
        (feedback.acked, feedback.acked_packets) = (acked, segments);
        (feedback.lost, feedback.lost_packets) = (lost, u32::from(lost > 0));
        feedback.marked_packets = marked;
        feedback.echo = ack.echo;
        // What comes with a duplicate is not looked at, as in ns-2.
        feedback.explicit = if segments > 0 { ack.explicit } else { 0 };
        (feedback.rtt, feedback.congestion) = (rtt, congestion);
        feedback.in_recovery = in_recovery;
        feedback
    }

    /// All segments below `cumulative` have arrived: their bytes, each segment counted once, and when
    /// the packet was sent of which an RTT is measured now, if there is one.
    fn take_segments(&mut self, now: Time, cumulative: u64) -> (u64, Option<Time>) {
        let (mut bytes, mut counted, mut newest) = (0, self.cumulative, None);
        let timed = self.cumulative_only.as_ref().map_or(u64::MAX, |state| state.timed);
        let (mut first, mut repeated) = (None, false);
        let Account { ledger, rates, .. } = self;
        ledger.on_segments_below(cumulative, |entry, detail| {
            newest = Some(entry.sent);
            if entry.segment == timed {
                repeated |= first.is_some();
                first = first.or(Some(entry.sent));
            }
            if entry.segment >= counted {
                counted = entry.segment + 1;
                bytes += u64::from(entry.size);
                rates.on_acked(now, entry, detail);
            }
        });
        let Some(state) = &mut self.cumulative_only else { return (bytes, None) };
        if cumulative > timed {
            state.timed = self.next_segment;
        }
        let sent = match state.samples {
            RttSamples::Each => newest,
            // A packet that was sent again gives no RTT (Karn).
            RttSamples::One => first.filter(|_| !repeated),
        };
        (bytes, sent)
    }

    /// Data that has arrived need not be sent again. Repairs are in the order of their data.
    #[inline]
    fn drop_repaired(&mut self) {
        while self.repairs.front().is_some_and(|repair| repair.segment < self.cumulative) {
            self.repairs.pop_front();
        }
    }

    /// The first segment that has not arrived is lost, if it is in flight; its bytes.
    fn lose_first(&mut self, trigger: LossTrigger) -> u64 {
        let Account { ledger, repairs, config, cumulative, loss_log, stats, .. } = self;
        let mut bytes = 0;
        ledger.lose_segment(*cumulative, |number, entry: &Entry| {
            bytes = u64::from(entry.size);
            stats.lost += 1;
            loss_log.note(number, entry, trigger);
            note_loss(config, *cumulative, None, repairs, number, entry);
        });
        bytes
    }
}

//! From an acknowledgement to the controller's feedback.

use paceline_cc::{Ack, Congestion, EcnFeedback, Fate, Feedback, NO_SEGMENT, Signals, Time};

use super::Sender;
use super::timers::note_lost;
use crate::ledger::{Entry, State};
use crate::recovery::Event;

/// Notes the fate of a packet, if the controller needs fates.
#[inline]
pub(super) fn note_fate(
    fates: &mut Vec<Fate>,
    needs: Signals,
    number: u64,
    entry: &Entry,
    lost: bool,
) {
    if needs.contains(Signals::FATES) {
        let Entry { size, tag, sent, .. } = *entry;
        fates.push(Fate::new(number, size, sent, tag, lost));
    }
}

impl Sender {
    /// Takes an acknowledgement in.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.stats.acks += 1;
        let prior = self.ledger.in_flight();
        let (mut acked, mut acked_packets, mut late) = (0u64, 0u32, 0u32);
        let mut newest: Option<(u64, Time)> = None;
        self.fates.clear();
        {
            let (fates, rates, needs) = (&mut self.fates, &mut self.rates, self.needs);
            self.ledger.on_ack(ack, |number, entry| {
                acked += entry.size as u64;
                acked_packets += 1;
                if entry.state == State::Lost {
                    late += 1;
                    rates.on_late(entry.size);
                } else {
                    rates.on_acked(now, entry);
                }
                if newest.is_none_or(|(largest, _)| number > largest) {
                    newest = Some((number, entry.sent));
                }
                note_fate(fates, needs, number, entry, false);
            });
        }
        if late > 0 {
            self.on_late(ack, late);
        }
        let cumulative = ack.cumulative.min(self.next_segment);
        let advanced = cumulative > self.cumulative;
        self.cumulative = self.cumulative.max(cumulative);
        let mut rtt = None;
        if let Some((number, sent)) = newest {
            if number == ack.largest {
                let sample = now.since(sent);
                self.rtt.sample(sample);
                rtt = Some(sample);
                self.latest_rtt = rtt;
                if let Some(fate) = self.fates.iter_mut().find(|fate| fate.number == number) {
                    fate.received = ack.received;
                }
            }
            self.timers.restart(now);
        }
        let marked = self.marks(ack);

        let (lost, lost_packets, lost_segment) = self.detect_losses(now);
        let event = Event {
            largest: ack.largest,
            cumulative: self.cumulative,
            lost: lost_packets,
            lost_segment,
            late,
            marked: marked > 0,
            prior_in_flight: prior,
            next: self.ledger.next(),
            next_segment: self.next_segment,
        };
        let quiet = self.recovery.is_quiet(&event);
        let congestion = if quiet { None } else { self.recovery.on_ack(&event) };
        // Any reduction answers the classic echo (RFC 3168 §6.1.2).
        self.cwr |= matches!(congestion, Some(Congestion::Ecn | Congestion::Loss));
        if congestion == Some(Congestion::Undo) {
            // They were late, not lost: what has not been sent again need not be, unless the
            // ledger has forgotten it.
            self.ledger.find_all();
            let ledger = &self.ledger;
            self.lost.retain(|lost| !ledger.is_open(lost.number));
        }
        self.tell(now, prior, |feedback| {
            feedback.acked = acked;
            feedback.acked_packets = acked_packets;
            feedback.lost = lost;
            feedback.lost_packets = lost_packets;
            feedback.marked_packets = marked;
            feedback.echo = ack.echo;
            feedback.explicit = ack.explicit;
            feedback.rtt = rtt;
            feedback.congestion = congestion;
        });
        if self.recovery.is_reducing() {
            let (in_flight, mss) = (self.ledger.in_flight(), self.config.mss as u64);
            self.recovery.reduce(
                self.plan.cwnd,
                in_flight,
                acked,
                advanced && lost_packets == 0,
                mss,
            );
        }
        self.on_progress(now);
    }

    /// Packets newly reported as marked; under classic ECN, one per acknowledgement with the flag.
    #[inline]
    fn marks(&mut self, ack: &Ack) -> u32 {
        if self.config.ecn == EcnFeedback::Classic {
            return ack.ece as u32;
        }
        let marked = ack.ce_packets.wrapping_sub(self.marked);
        // A reordered acknowledgement carries an older count: not a difference of billions.
        let marked = if marked > u32::MAX / 2 { 0 } else { marked };
        self.marked = self.marked.wrapping_add(marked);
        marked
    }

    /// What follows when all that was sent is acknowledged; and the next pop is due at once.
    #[inline]
    pub(super) fn on_progress(&mut self, now: Time) {
        let gone = if self.config.reliable {
            self.cumulative == self.next_segment
        } else {
            // Packets without data may be on the way all the time.
            let data = |oldest| oldest <= self.newest_data;
            self.ledger.in_flight() == 0 || !self.ledger.oldest().is_some_and(data)
        };
        if self.source.is_draining() && gone {
            self.transfers.push(self.source.on_drained(now));
            self.lost.clear();
        }
        self.timers.attend();
    }

    /// Acknowledgements came for packets declared lost: they need no retransmission.
    #[cold]
    fn on_late(&mut self, ack: &Ack, late: u32) {
        self.stats.late += late as u64;
        let covered = |number: u64| ack.blocks().any(|(a, b)| (a..=b).contains(&number));
        self.lost.retain(|lost| !covered(lost.number));
    }

    /// Declares losses; returns their bytes, their count and their largest segment.
    #[inline]
    fn detect_losses(&mut self, now: Time) -> (u64, u32, u64) {
        let (mut bytes, mut packets, mut segment) = (0u64, 0u32, 0u64);
        let (lost, fates, needs) = (&mut self.lost, &mut self.fates, self.needs);
        let reliable = self.config.reliable;
        let rtt = self.rtt.smoothed().max(self.rtt.latest());
        self.timers.loss = self.ledger.detect_losses(now, rtt, |number, entry| {
            bytes += entry.size as u64;
            packets += 1;
            if entry.segment != NO_SEGMENT {
                segment = segment.max(entry.segment);
                if reliable {
                    note_lost(lost, number, entry);
                }
            }
            note_fate(fates, needs, number, entry, true);
        });
        self.stats.lost += packets as u64;
        (bytes, packets, segment)
    }

    /// The time threshold may have been passed by some packets.
    pub(super) fn on_loss_timer(&mut self, now: Time) {
        let prior = self.ledger.in_flight();
        self.fates.clear();
        let (lost, lost_packets, lost_segment) = self.detect_losses(now);
        if lost_packets == 0 {
            return;
        }
        let event = Event {
            cumulative: self.cumulative,
            lost: lost_packets,
            lost_segment,
            prior_in_flight: prior,
            next: self.ledger.next(),
            next_segment: self.next_segment,
            ..Event::default()
        };
        let congestion = self.recovery.on_ack(&event);
        self.tell(now, prior, |feedback| {
            feedback.lost = lost;
            feedback.lost_packets = lost_packets;
            feedback.congestion = congestion;
        });
        if self.recovery.is_reducing() {
            let (in_flight, mss) = (self.ledger.in_flight(), self.config.mss as u64);
            self.recovery.reduce(self.plan.cwnd, in_flight, 0, false, mss);
        }
        if !self.config.reliable {
            self.on_progress(now);
        }
    }

    /// Gives the controller feedback, with what every feedback has, and asks for its plan.
    #[inline]
    pub(super) fn tell(
        &mut self,
        now: Time,
        prior_in_flight: u64,
        fill: impl FnOnce(&mut Feedback<'_>),
    ) {
        let round_start = match self.rates.newest_prior_delivered() {
            Some(prior) if prior >= self.round_end => {
                self.round += 1;
                self.round_end = self.rates.delivered();
                true
            }
            _ => false,
        };
        let sample = if self.needs.contains(Signals::DELIVERY_RATE) {
            self.rates.take(self.rtt.min())
        } else {
            self.rates.skip();
            None
        };
        let limited = self.ledger.oldest().is_none_or(|oldest| self.limited_at >= oldest);
        let mut feedback = Feedback::new(now, self.config.mss);
        feedback.prior_in_flight = prior_in_flight;
        feedback.in_flight = self.ledger.in_flight();
        feedback.cwnd_limited = limited;
        feedback.srtt = self.rtt.smoothed();
        feedback.min_rtt = self.rtt.min();
        feedback.delivered = self.rates.delivered();
        feedback.round = self.round;
        feedback.round_start = round_start;
        feedback.sample = sample;
        feedback.in_recovery = self.recovery.in_recovery();
        feedback.fates = &self.fates;
        fill(&mut feedback);
        self.controller.on_feedback(&feedback);
        self.replan();
    }
}

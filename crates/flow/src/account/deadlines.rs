//! Handles an account's deadlines: losses by time, the tail loss probe, the retransmission timeout.

use paceline_cc::{Congestion, Feedback, Signals, Span, Time};

use super::gaps::note_loss;
use super::timers::TailDeadlines;
use super::{Account, LossTrigger, Losses, Reduction, fate};

/// The event that a deadline has brought.
#[derive(Debug)]
pub enum Expired<'a> {
    /// No deadline has passed.
    Nothing,
    /// The time threshold declared packets lost. The driver passes the feedback to the controller,
    /// then calls [`Account::on_window`].
    Losses(Feedback<'a>),
    /// The retransmission timer expired, and everything in flight counts as lost. The driver passes
    /// the feedback to the controller, then calls [`Account::on_window`].
    Timeout(Feedback<'a>),
    /// The driver is to probe the tail, so that the probe's acknowledgement reveals whether the
    /// tail was lost. It sends a packet of new data beyond the window, or else repeats
    /// [`Account::newest`], or, if nothing is retransmitted, sends a packet without data.
    Probe,
}

impl Account {
    /// Handles one deadline that has passed. Call it until it returns [`Expired::Nothing`]. Repairs may be due
    /// afterwards that the receiver has asked for: [`Account::next_repair`].
    pub fn on_deadline(&mut self, now: Time) -> Expired<'_> {
        if self.is_quiet_until(now + Span::from_nanos(1)) {
            return Expired::Nothing;
        }
        self.hear_requests(now);
        if self.timers.loss <= now {
            let prior = self.in_flight();
            self.fates.clear();
            let losses = self.detect_losses(now);
            if losses.packets > 0 {
                return Expired::Losses(self.on_losses(now, prior, &losses));
            }
        }
        let TailDeadlines { probe, timeout } = self.tail_deadlines();
        if probe <= now {
            self.timers.on_probe(now, self.ledger.next());
            self.stats.probes += 1;
            return Expired::Probe;
        }
        if timeout <= now {
            return match self.needs_no_timer() {
                true => Expired::Losses(self.lose_needless(now)),
                false => Expired::Timeout(self.on_timeout(now)),
            };
        }
        Expired::Nothing
    }

    /// Reacts to packets that the time threshold has declared lost.
    fn on_losses(&mut self, now: Time, prior: u64, losses: &Losses) -> Feedback<'_> {
        let was_repairing = self.recovery.is_repairing();
        let congestion = self.recovery.on_ack(&self.event(prior, losses));
        if congestion.is_some() {
            self.timers.on_congestion();
        }
        if self.config.linux && self.timers.repaired_segment == self.cumulative {
            // Linux calls `tcp_rearm_rto` in place of this timer: the timeout counts from when the
            // oldest data was last sent.
            self.timers.restart(self.timers.repaired, self.ledger.next());
        }
        if self.recovery.is_reducing() {
            // During a repair, Linux leaves the window as the last acknowledgement has set it, so
            // that repairs take the place of lost packets. When a repair begins, it counts one
            // packet as delivered (`tcp_rack_reo_timeout`).
            self.reduction = match (self.config.linux, was_repairing) {
                (true, true) => None,
                (true, false) => {
                    Some(Reduction { delivered: u64::from(self.config.mss), safe: false })
                }
                (false, _) => Some(Reduction { delivered: 0, safe: false }),
            };
        }
        let mut feedback = self.feedback(now, prior);
        feedback.lost = losses.bytes;
        feedback.lost_packets = losses.packets;
        feedback.congestion = congestion;
        feedback
    }

    /// Declares everything in flight lost because the retransmission timer expired (RFC 6298
    /// §5.4-5.6).
    fn on_timeout(&mut self, now: Time) -> Feedback<'_> {
        self.stats.timeouts += 1;
        self.rtt.back_off();
        let prior = self.in_flight();
        let losses = self.lose_all(now);
        let (cumulative, next) = (self.cumulative, self.ledger.next());
        match &mut self.cumulative_only {
            None => {
                let lost = losses.packets.into();
                self.recovery.on_timeout(lost, cumulative, next, self.next_segment);
                self.undone.on_timeout(cumulative);
            }
            Some(state) => state.on_timeout(self.next_segment),
        }
        let without_sack = self.cumulative_only.is_some();
        let mut feedback = self.feedback(now, prior);
        feedback.in_recovery |= without_sack;
        feedback.lost = prior;
        feedback.lost_packets = losses.packets;
        feedback.congestion = Some(Congestion::Timeout);
        feedback
    }

    /// Declares everything in flight lost when the retransmission timer expires although all data
    /// is acknowledged. Only needless probes and repairs, or packets without data, are in flight
    /// then, so the controller gets no congestion signal.
    fn lose_needless(&mut self, now: Time) -> Feedback<'_> {
        let prior = self.in_flight();
        let losses = self.lose_all(now);
        let mut feedback = self.feedback(now, prior);
        feedback.lost = prior;
        feedback.lost_packets = losses.packets;
        feedback
    }

    /// Declares everything in flight lost and returns the sums.
    fn lose_all(&mut self, now: Time) -> Losses {
        self.timers.restart(now, self.ledger.next());
        self.timers.on_congestion();
        self.timers.loss = Time::NEVER;
        self.fates.clear();
        let mut losses = Losses::default();
        let (cumulative, copy) = (self.cumulative, self.probe_copy());
        let Account { ledger, repairs, requests, fates, config, loss_log, .. } = self;
        ledger.lose_all(|number, entry, detail| {
            losses.note(number, entry);
            loss_log.note(number, entry, LossTrigger::Timeout);
            note_loss(config, cumulative, copy, repairs, number, entry);
            if let Some(requests) = requests {
                requests.on_lost(number, entry);
            }
            if config.signals.contains(Signals::FATES) {
                fates.push(fate(number, entry, detail, true));
            }
        });
        self.note_lost_segment(&losses);
        self.stats.lost += u64::from(losses.packets);
        self.hear_requests(now);
        losses
    }
}

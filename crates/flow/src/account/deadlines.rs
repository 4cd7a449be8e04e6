//! The deadlines of an account: loss by time, tail loss probe, retransmission timeout.

use paceline_cc::{Congestion, Feedback, Signals, Span, Time};

use super::gaps::note_loss;
use super::{Account, LossTrigger, Losses, Reduction, fate};

/// How long a lone packet's acknowledgement may be delayed (RFC 8985 §7.2 `TLP.max_ack_delay`; Linux
/// `TCP_RTO_MIN`).
const MAX_ACK_DELAY: Span = Span::from_millis(200);
/// Added to two RTTs when more than one packet is in flight (Linux `TCP_TIMEOUT_MIN_US`).
const PROBE_MARGIN: Span = Span::from_millis(2);

/// The state of an account's timers.
#[derive(Debug)]
pub(super) struct Timers {
    /// When the retransmission timer was last started.
    progress: Time,
    /// When the time threshold declares the next packet lost.
    pub(super) loss: Time,
    /// True if the tail was probed since the last progress (RFC 8985 §7).
    probed: bool,
    /// The number of the last probe; zero before the first.
    pub(super) probe: u64,
}

impl Timers {
    pub(super) fn new() -> Timers {
        Timers { progress: Time::ZERO, loss: Time::NEVER, probed: false, probe: 0 }
    }

    /// Starts the retransmission timer anew.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.progress = now;
        self.probed = false;
    }
}

/// What a deadline has brought.
#[derive(Debug)]
pub enum Expired<'a> {
    /// Nothing is due.
    Nothing,
    /// The time threshold declared packets lost: tell the controller, then call
    /// [`Account::on_window`].
    Losses(Feedback<'a>),
    /// The retransmission timer expired, and everything in flight counts as lost: tell the
    /// controller, then call [`Account::on_window`].
    Timeout(Feedback<'a>),
    /// The tail is to be probed, so that the probe's acknowledgement reveals whether the tail was
    /// lost: send a packet of new data beyond the window; or else repeat [`Account::newest`]; or, if
    /// nothing is sent again, send a packet without data.
    Probe,
}

impl Account {
    /// When [`Account::on_deadline`] is next to be called; [`Time::NEVER`] if nothing is in flight.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.timers.loss.min(self.timeout_at()).min(self.probe_at())
    }

    /// True if no deadline can lie before `time`: a bound that is quickly worked out.
    #[inline]
    pub(crate) fn is_quiet_until(&self, time: Time) -> bool {
        let soonest = self.rtt.rto().min(self.rtt.smoothed() * 2);
        self.timers.loss >= time && self.timers.progress + soonest >= time
    }

    /// When the retransmission timer expires.
    #[inline]
    fn timeout_at(&self) -> Time {
        if self.in_flight() == 0 { Time::NEVER } else { self.timers.progress + self.rtt.rto() }
    }

    /// True if no data is on its way that the receiver still needs: then there is no tail, and
    /// neither its probe nor a timeout (RFC 6298 §5.2).
    #[inline]
    pub(super) fn needs_no_timer(&self) -> bool {
        self.config.reliable && self.cumulative == self.next_segment
    }

    /// When the tail is probed: two RTTs and 2 ms after the last progress or packet, or 200 ms if one
    /// packet alone is in flight, but no later than the retransmission timer expires (RFC 8985 §7.2, Linux
    /// `tcp_schedule_loss_probe`). Never while a loss or a timeout is being repaired. While a gap is open,
    /// the time threshold comes first.
    #[inline]
    fn probe_at(&self) -> Time {
        let unwanted = !self.config.probes
            || self.timers.probed
            || !self.repairs.is_empty()
            || self.recovery.is_repairing()
            || self.needs_no_timer();
        if unwanted || self.in_flight() == 0 || self.rtt.smoothed().is_zero() {
            return Time::NEVER;
        }
        let newest = self.ledger.next() - 1;
        let is_alone = self.ledger.first_in_flight() == Some(newest);
        let margin = if is_alone { MAX_ACK_DELAY } else { PROBE_MARGIN };
        let start = self.timers.progress.max(self.ledger.entry(newest).sent);
        (start + self.rtt.smoothed() * 2 + margin).min(self.timeout_at())
    }

    /// Handles one thing that is due; call it until it says [`Expired::Nothing`].
    pub fn on_deadline(&mut self, now: Time) -> Expired<'_> {
        if self.is_quiet_until(now + Span::from_nanos(1)) {
            return Expired::Nothing;
        }
        if self.timers.loss <= now {
            let prior = self.in_flight();
            self.fates.clear();
            let losses = self.detect_losses(now);
            if losses.packets > 0 {
                return Expired::Losses(self.on_losses(now, prior, &losses));
            }
        }
        if self.probe_at() <= now {
            self.timers.probed = true;
            self.timers.probe = self.ledger.next();
            // The timer starts anew with the probe (RFC 8985 §7.3).
            self.timers.progress = now;
            self.stats.probes += 1;
            return Expired::Probe;
        }
        if self.timeout_at() <= now {
            return match self.needs_no_timer() {
                true => Expired::Losses(self.lose_needless(now)),
                false => Expired::Timeout(self.on_timeout(now)),
            };
        }
        Expired::Nothing
    }

    /// The time threshold was passed by some packets.
    fn on_losses(&mut self, now: Time, prior: u64, losses: &Losses) -> Feedback<'_> {
        let congestion = self.recovery.on_ack(&self.event(prior, losses));
        if self.recovery.is_reducing() {
            self.reduction = Some(Reduction { delivered: 0, safe: false });
        }
        let mut feedback = self.feedback(now, prior);
        feedback.lost = losses.bytes;
        feedback.lost_packets = losses.packets;
        feedback.congestion = congestion;
        feedback
    }

    /// The retransmission timer expired (RFC 6298 §5.4-5.6): everything in flight counts as lost.
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
            }
            Some(state) => state.on_timeout(self.next_segment),
        }
        let mut feedback = self.feedback(now, prior);
        feedback.lost = prior;
        feedback.lost_packets = losses.packets;
        feedback.congestion = Some(Congestion::Timeout);
        feedback
    }

    /// Declares everything in flight lost when the retransmission timer expires although all data is
    /// acknowledged. What is in flight then is a needless probe or repair, or has no data, so that the
    /// controller is told of no congestion.
    fn lose_needless(&mut self, now: Time) -> Feedback<'_> {
        let prior = self.in_flight();
        let losses = self.lose_all(now);
        let mut feedback = self.feedback(now, prior);
        feedback.lost = prior;
        feedback.lost_packets = losses.packets;
        feedback
    }

    /// Declares everything in flight lost.
    fn lose_all(&mut self, now: Time) -> Losses {
        self.timers.restart(now);
        self.timers.loss = Time::NEVER;
        self.fates.clear();
        let mut losses = Losses::default();
        let (cumulative, copy) = (self.cumulative, self.probe_copy());
        let Account { ledger, repairs, fates, config, loss_log, .. } = self;
        ledger.lose_all(|number, entry, detail| {
            losses.note(number, entry);
            loss_log.note(number, entry, LossTrigger::Timeout);
            note_loss(config, cumulative, copy, repairs, number, entry);
            if config.signals.contains(Signals::FATES) {
                fates.push(fate(number, entry, detail, true));
            }
        });
        self.stats.lost += u64::from(losses.packets);
        losses
    }
}

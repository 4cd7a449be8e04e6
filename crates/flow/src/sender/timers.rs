//! The sender's timers: deadlines of the account, the pacer, the workload and the controller,
//! combined into one wake-up.

use paceline_cc::{Congestion, Feedback, Packet, Span, Time};

use super::handshake::Connector;
use super::{EMPTY_SIZE, Sender};
use crate::account::{Expired, Sent};

/// Time until the earliest wake-up for a timer, so that time goes on even if a controller leaves its timer in the past.
const LEAST_WAIT: Span = Span::from_micros(1);

/// Notes in `cwr` whether the classic echo is to be answered: after each reduction of the window
/// (RFC 3168 §6.1.2), unless it is undone (`tcp_ecn_withdraw_cwr`).
#[inline]
pub(super) fn answer_echo(cwr: &mut bool, congestion: Option<Congestion>) {
    if let Some(congestion) = congestion {
        answer_reaction(cwr, congestion);
    }
}

#[cold]
fn answer_reaction(cwr: &mut bool, congestion: Congestion) {
    match congestion {
        Congestion::LossAfterMark => {}
        Congestion::Ecn | Congestion::Loss | Congestion::Timeout => *cwr = true,
        Congestion::Undo => *cwr = false,
    }
}

impl Sender {
    /// Sets the wake-up after a pop that returned nothing.
    #[inline(always)]
    pub(super) fn rearm(&mut self, now: Time) {
        self.pending = false;
        let (wake, paced) = (self.wake, self.pacer.next());
        let is_quiet = wake > now
            && self.plan.timer.min(self.source.next()) >= wake
            && !(now < paced && (paced < wake || (self.wakes_to_pace && wake < paced)))
            && self.account.is_quiet_until(wake);
        // Mostly, no timer can be due before the present wake-up.
        if !is_quiet {
            self.set_wake(now);
        }
    }

    #[inline(never)]
    fn set_wake(&mut self, now: Time) {
        let timer = self.plan.timer.max(now + LEAST_WAIT);
        let mut next = timer.min(self.source.next());
        if let Some(connector) = &self.connector {
            next = next.min(connector.next_syn());
        }
        if self.awaits_pacer && self.pacer.next() > now {
            next = next.min(self.pacer.next());
        }
        // A paced sender comes here for each packet, and its exact deadlines are seldom needed: a
        // time before which none can lie serves until it comes. Not if that is soon, or if the
        // wake-up would move a timer behind it.
        let quiet_until = self.account.quiet_until();
        debug_assert!(quiet_until <= self.account.deadline(), "a deadline before the bound");
        if quiet_until < next {
            let is_far = quiet_until > now + self.account.rtt().smoothed() / 4;
            let serves = is_far && quiet_until + LEAST_WAIT <= next;
            next = next.min(if serves { quiet_until } else { self.account.deadline() });
        }
        // An earlier wake-up is kept, unless it is the pacer's. When it comes, no timer is due, and the
        // wake-up is set anew.
        if next < self.wake || self.wake <= now || self.wakes_to_pace {
            self.wake = next;
            self.wakes_to_pace = next == self.pacer.next();
        }
    }

    /// Returns true if there is data to send.
    pub(super) fn waits(&self) -> bool {
        let ready = self.source.ready();
        ready > 0 || self.has_repair(ready)
    }

    /// Does [`Sender::on_timers`] if any timer may be due: mostly a wake-up is the pacer's.
    #[inline(never)]
    pub(super) fn on_wake(&mut self, now: Time, place: &mut Packet) -> bool {
        let is_quiet = self.source.next().min(self.plan.timer) > now
            && self.connector.as_deref().is_none_or(Connector::is_established)
            && self.account.is_quiet_until(now + Span::from_nanos(1));
        !is_quiet && self.on_timers(now, place)
    }

    /// Handles the timers that are due. Returns true if a SYN or a tail loss probe was put into
    /// `place`.
    #[cold]
    fn on_timers(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.source.next() <= now {
            let media_rate = self.media_rate();
            self.source.set_target(media_rate, self.controller.left_out_share());
            if !self.config.reliable {
                self.source.set_lost_end(self.account.lost_end());
            }
            let fresh = self.source.update(now);
            if fresh {
                self.reconnect();
            }
        }
        let shakes_hands = !self.connector.as_deref().is_none_or(Connector::is_established);
        if shakes_hands && self.shake_hands(now, place) {
            return true;
        }
        if self.plan.timer <= now {
            self.controller.on_timer(now);
            self.replan();
        }
        while !self.account.is_quiet_until(now + Span::from_nanos(1)) {
            // Losses and timeouts go to the controller; any other event ends the loop.
            let feedback: Feedback<'_> = match self.account.on_deadline(now) {
                Expired::Nothing => return false,
                Expired::Probe => {
                    self.probe(now, place);
                    return true;
                }
                Expired::Losses(feedback) | Expired::Timeout(feedback) => feedback,
            };
            answer_echo(&mut self.cwr, feedback.congestion);
            self.controller.on_feedback(&feedback);
            self.replan();
            self.account.on_window(self.plan.cwnd);
            if !self.config.reliable {
                self.on_progress(now);
            }
        }
        false
    }

    /// Sends new data beyond the window if the receiver takes it, or else repeats the newest packet
    /// (RFC 8985 §7.3). Flows that send nothing again send a packet without data instead.
    fn probe(&mut self, now: Time, place: &mut Packet) {
        let ready = self.source.ready();
        let sent = if ready > 0 && self.is_taken() {
            Some(self.take_new(self.source.packet_bytes(ready.min(self.largest)) as u32))
        } else if self.config.reliable {
            self.account.newest().map(Sent::retransmission)
        } else {
            Some(Sent::empty(EMPTY_SIZE))
        };
        if let Some(sent) = sent {
            self.emit_seldom(now, sent, place);
        }
    }
}

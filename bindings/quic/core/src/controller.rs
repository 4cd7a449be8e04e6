//! A controller of Paceline for a QUIC stack.

use paceline_cc::{Congestion, Controller, Fate, Feedback, Outgoing, Plan, Rate, Time};
use paceline_flow::{RtoBounds, RttEstimator};

use crate::ledger::Ledger;
use crate::pacing::{Credit, Pacing};

/// Report of a stack about lost packets.
#[derive(Copy, Clone, Debug)]
pub struct LossReport {
    /// Bytes declared lost.
    pub bytes: u64,
    /// Time at which the newest of these packets was sent.
    pub newest_sent: Time,
    /// Whether the losses are persistent congestion (RFC 9002 §7.6).
    pub persistent: bool,
}

/// Sums over the packets of an acknowledgement so far.
#[derive(Copy, Clone, Debug, Default)]
struct AckTotals {
    bytes: u64,
    packets: u32,
    /// Time at which its newest packet was sent.
    newest_sent: Option<Time>,
    /// Bytes delivered when its newest packet was sent.
    prior_delivered: Option<u64>,
}

/// A controller of Paceline that is driven by a QUIC stack's reports: sent and acknowledged
/// packets, losses, and the echo of ECN marks.
///
/// Sizes are the stack's, in bytes of UDP payload. Times count from any start that the adapter
/// chooses. Timers of schemes ([`Plan::timer`]) fire at the stack's next call, because stacks have
/// no timers for their controllers.
pub struct QuicController {
    controller: Box<dyn Controller>,
    plan: Plan,
    mss: u32,
    pacing: Pacing,
    credit: Credit,
    ledger: Ledger,
    rtt: RttEstimator,
    in_flight: u64,
    /// Most bytes in flight in the last window of data, and the time of this record. The window of
    /// data ends when a packet is acknowledged that was sent at or after that time.
    max_in_flight: u64,
    max_noted: Time,
    max_is_over: bool,
    last_sent: Option<Time>,
    acked: AckTotals,
    fates: Vec<Fate>,
    /// Time of sending before which the ledger forgets packets at the stack's next acknowledgement
    /// or packet.
    forget_before: Time,
    round: u64,
    /// Total of delivered bytes at which the present round trip ends.
    round_end: u64,
    /// Time of the controller's last reaction to congestion. Packets sent up to it belong to that
    /// congestion event (RFC 9002 §7.3.2).
    reacted: Option<Time>,
    /// Whether that was a reaction to a loss, which may prove spurious; a mark cannot.
    reacted_to_loss: bool,
    in_recovery: bool,
}

impl QuicController {
    /// Returns a controller for packets of up to `mss` bytes.
    pub fn new(controller: Box<dyn Controller>, mss: u32, pacing: Pacing) -> QuicController {
        QuicController {
            plan: controller.plan(),
            controller,
            mss: mss.max(1),
            pacing,
            credit: Credit::new(),
            ledger: Ledger::new(),
            rtt: RttEstimator::new(RtoBounds::RFC6298),
            in_flight: 0,
            max_in_flight: 0,
            max_noted: Time::ZERO,
            max_is_over: false,
            last_sent: None,
            acked: AckTotals::default(),
            fates: Vec::new(),
            forget_before: Time::ZERO,
            round: 0,
            round_end: 0,
            reacted: None,
            reacted_to_loss: false,
            in_recovery: false,
        }
    }

    /// Returns the bytes that may be in flight: at least two packets, because stacks refuse to send
    /// a packet that fills the window exactly.
    pub fn window(&self) -> u64 {
        let least = u64::from(self.mss) * 2;
        let cwnd = match self.pacing {
            Pacing::Acknowledgements => self.credit.window(self.plan.cwnd, self.in_flight),
            Pacing::Stack | Pacing::Ignored => self.plan.cwnd,
        };
        cwnd.max(least)
    }

    /// Returns the scheme's congestion window in bytes, without the effect of pacing.
    pub fn cwnd(&self) -> u64 {
        self.plan.cwnd
    }

    /// Returns the scheme's pacing rate; `None` if it has none.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.plan.pacing
    }

    /// Returns the bytes that may leave back to back under the pacing rate: at least one packet.
    pub fn burst(&self) -> u64 {
        u64::from(self.plan.burst.max(self.mss))
    }

    /// Calls `see` with names and values of the scheme's inner state: see [`Controller::inspect`].
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.controller.inspect(see);
    }

    /// Sets the size of the largest packet to `mss` bytes. The scheme gets it with each feedback;
    /// values that it derived from its setup, such as its initial window, do not change.
    pub fn on_mtu(&mut self, mss: u32) {
        self.mss = mss.max(1);
    }

    /// Records that `bytes` leave, in packets of the largest size and one with the rest.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        self.fire(now);
        self.ledger.forget_before(self.forget_before);
        // With nothing in flight, either the pacer or the application may have waited; only the
        // latter counts as idle.
        if self.in_flight == 0
            && self.ledger.is_app_limited()
            && let Some(last) = self.last_sent
        {
            self.controller.on_idle(now, now.since(last), self.rtt.rto());
        }
        let mut left = bytes;
        while left > 0 {
            let size = left.min(u64::from(self.mss)) as u32;
            left -= u64::from(size);
            let mut packet = Outgoing::new(self.ledger.next(), size, self.in_flight);
            let tag = self.controller.on_send(now, &mut packet);
            self.ledger.on_sent(now, size, tag, self.in_flight == 0);
            self.in_flight += u64::from(size);
        }
        if self.max_is_over || self.in_flight > self.max_in_flight {
            (self.max_in_flight, self.max_noted, self.max_is_over) = (self.in_flight, now, false);
        }
        self.last_sent = Some(now);
        self.credit.spend(bytes);
        self.take_plan();
    }

    /// Records that a packet of `size` bytes, sent at `sent`, was acknowledged. Call
    /// [`QuicController::on_acks_end`] after all packets of an acknowledgement.
    pub fn on_acked(&mut self, now: Time, sent: Time, size: u32) {
        if self.acked.packets == 0 {
            self.ledger.forget_before(self.forget_before);
        }
        let acked = &mut self.acked;
        acked.bytes += u64::from(size);
        acked.packets += 1;
        acked.newest_sent = acked.newest_sent.max(Some(sent));
        if let Some(settled) = self.ledger.on_acked(now, sent, size) {
            acked.prior_delivered = acked.prior_delivered.max(Some(settled.delivered));
            self.fates.push(settled.fate);
        }
    }

    /// Records that `bytes` were acknowledged, the newest of them in a packet sent at
    /// `newest_sent`, for stacks that do not report single packets. The bytes are attributed to
    /// that packet and to the oldest packets in flight, which is wrong only if packets have
    /// overtaken each other.
    pub fn on_acked_together(&mut self, now: Time, newest_sent: Time, bytes: u64) {
        let mut left = bytes;
        let mut next = self.ledger.newest_open_until(newest_sent);
        while let Some((sent, size)) = next
            && left > 0
        {
            // The report may have fewer bytes than the packet: a stack can know other sizes.
            let acked = u64::from(size).min(left);
            left -= acked;
            self.on_acked(now, sent, acked as u32);
            next = self.ledger.oldest_open_until(newest_sent);
        }
        if left > 0 {
            // These packets are not in the ledger any more.
            self.on_acked(now, newest_sent, u32::try_from(left).unwrap_or(u32::MAX));
        }
    }

    /// Records that a packet of `bytes` will be neither acknowledged nor declared lost, because the
    /// stack has discarded its keys (RFC 9002 §6.4).
    pub fn on_discarded(&mut self, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.ledger.on_discarded(bytes);
    }

    /// Ends the report of an acknowledgement. `in_flight` is the stack's count; `app_limited` says
    /// that the application, not the window or the pacer, limits sending.
    pub fn on_acks_end(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.fire(now);
        let acked = std::mem::take(&mut self.acked);
        let Some(newest_sent) = acked.newest_sent else {
            self.in_flight = in_flight;
            return;
        };
        let round_start = acked.prior_delivered.is_some_and(|prior| prior >= self.round_end);
        if round_start {
            self.round += 1;
            self.round_end = self.ledger.delivered;
        }
        let sample = now.since(newest_sent);
        self.rtt.sample(sample, round_start);
        self.in_flight = in_flight;
        if app_limited {
            self.ledger.on_app_limited(in_flight);
        }
        if self.reacted.is_some_and(|reacted| newest_sent > reacted) {
            self.in_recovery = false;
        }
        self.max_is_over |= newest_sent >= self.max_noted;
        let mut feedback = self.feedback(now, in_flight + acked.bytes);
        feedback.acked = acked.bytes;
        feedback.acked_packets = acked.packets;
        feedback.cwnd_limited = !app_limited;
        feedback.rtt = Some(sample);
        feedback.round_start = round_start;
        feedback.sample = self.ledger.take_sample(self.rtt.min());
        feedback.fates = &self.fates;
        self.controller.on_feedback(&feedback);
        self.fates.clear();
        // Packets that the stack has neither acknowledged nor declared lost after this time carried
        // no data. Stacks report the losses that an acknowledgement reveals after it, so these
        // packets are forgotten at the next call that is no loss report. An acknowledged probe may
        // have left long after a lost window: a PTO is longer than two short RTTs (RFC 9002 §6.2.1).
        let patience = self.rtt.smoothed().max(sample) * 2;
        let forget_before = newest_sent - patience;
        self.forget_before = self.forget_before.max(forget_before);
        self.take_plan();
        self.credit.grow(now, &self.plan, self.rtt.smoothed(), self.mss);
    }

    /// Processes packets that the stack declares lost.
    pub fn on_lost(&mut self, now: Time, losses: LossReport) {
        self.fire(now);
        let prior = self.in_flight;
        self.in_flight = prior.saturating_sub(losses.bytes);
        let QuicController { ledger, fates, .. } = self;
        let mut packets = 0;
        ledger.on_lost(losses.newest_sent, losses.bytes, |fate| {
            packets += 1;
            fates.push(fate);
        });
        let congestion = match losses.persistent {
            true => Some(Congestion::Timeout),
            false => self.is_news(losses.newest_sent).then_some(Congestion::Loss),
        };
        if congestion.is_some() {
            self.react(now, true);
        }
        let mut feedback = self.feedback(now, prior);
        feedback.lost = losses.bytes;
        feedback.lost_packets = packets.max(1);
        feedback.congestion = congestion;
        feedback.fates = &self.fates;
        self.controller.on_feedback(&feedback);
        self.fates.clear();
        self.take_plan();
    }

    /// Processes the peer's report that packets were marked with CE, the newest of them sent at
    /// `sent`. `packets` is their number, or 0 if the stack does not count them.
    pub fn on_marked(&mut self, now: Time, sent: Time, packets: u32) {
        self.fire(now);
        let congestion = self.is_news(sent).then_some(Congestion::Ecn);
        if congestion.is_some() {
            self.react(now, false);
        }
        let mut feedback = self.feedback(now, self.in_flight);
        feedback.marked_packets = packets;
        feedback.congestion = congestion;
        self.controller.on_feedback(&feedback);
        self.take_plan();
    }

    /// Undoes the reaction to losses, because all packets declared lost have arrived. Keeps a
    /// reaction to a mark, even if it covered these losses, too.
    pub fn on_spurious(&mut self, now: Time) {
        if !(self.in_recovery && self.reacted_to_loss) {
            return;
        }
        (self.in_recovery, self.reacted) = (false, None);
        let mut feedback = self.feedback(now, self.in_flight);
        feedback.congestion = Some(Congestion::Undo);
        self.controller.on_feedback(&feedback);
        self.take_plan();
    }

    /// True if a packet sent at `sent` was sent after the last reaction.
    fn is_news(&self, sent: Time) -> bool {
        self.reacted.is_none_or(|reacted| sent > reacted)
    }

    fn react(&mut self, now: Time, to_loss: bool) {
        (self.reacted, self.reacted_to_loss) = (Some(now), to_loss);
        self.in_recovery = true;
    }

    /// Returns feedback with the fields that every feedback has.
    fn feedback(&self, now: Time, prior_in_flight: u64) -> Feedback<'static> {
        let mut feedback = Feedback::new(now, self.mss);
        feedback.prior_in_flight = prior_in_flight;
        feedback.in_flight = self.in_flight;
        feedback.max_in_flight = self.max_in_flight;
        feedback.srtt = self.rtt.smoothed();
        feedback.min_rtt = self.rtt.min();
        feedback.delivered = self.ledger.delivered;
        feedback.round = self.round;
        feedback.in_recovery = self.in_recovery;
        feedback
    }

    /// Fires the scheme's timer if it is due. A scheme that wants another call at once gets it with
    /// the stack's next call.
    fn fire(&mut self, now: Time) {
        if self.plan.timer <= now {
            self.controller.on_timer(now);
            self.plan = self.controller.plan();
        }
    }

    fn take_plan(&mut self) {
        self.plan = self.controller.plan();
    }
}

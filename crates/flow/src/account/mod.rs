//! The account of a connection: packets sent, their fates, and what these show about the path.

mod acked;
mod config;
mod cumulative;
mod deadlines;
mod ecn;
mod entry;
mod gaps;
mod ledger;
mod loss_recovery;
mod loss_rule;
mod losses;
mod progress;
mod rack;
mod rate;
mod recovery;
mod requests;
mod rtt;
mod runs;
mod ticks;
mod timers;
mod undone;
mod window;
mod window_use;

pub use config::{AccountConfig, Repair, SenderStats, Sent};
pub use deadlines::Expired;
pub use loss_recovery::{LossRecovery, RttSamples};
pub use losses::{Loss, LossTrigger};
pub use rtt::{RtoBounds, RttEstimator};
pub use ticks::Ticks;

use std::collections::VecDeque;

use paceline_cc::{Ack, Fate, Feedback, NO_SEGMENT, Signals, Span, Time};

use self::acked::{Acked, fate};
use self::config::Constants;
use self::cumulative::Cumulative;
use self::ecn::MarkCounter;
use self::entry::Entry;
use self::ledger::Ledger;
use self::losses::LossLog;
use self::progress::{Losses, Progress, Reduction};
use self::rack::Rack;
use self::rate::RateSampler;
use self::recovery::Recovery;
use self::requests::Requests;
use self::timers::Timers;
use self::undone::UndoneRepairs;
use self::window_use::WindowUse;

/// The account of a connection.
///
/// It stands between acknowledgements and a [`Controller`](paceline_cc::Controller). The driver
/// reports to it which packets were sent and which acknowledgements arrived. It returns the
/// feedback for the controller, the data to retransmit, and the time of its next deadline. It has
/// no packets, no application, no pacing and no clock.
///
/// # Which transports it is for
/// Transports like TCP and this workspace's protocol over UDP: one space of transmission numbers, in
/// which a retransmission has a number of its own, and a cumulative point in the data. A QUIC stack
/// needs more than the account has:
///
/// | RFC 9002 | the account |
/// | --- | --- |
/// | detection by packet and time threshold (§6.1) | yes: [`LossRecovery::Rfc9002`] |
/// | any number of ranges in an acknowledgement | yes: [`Account::on_ack_with_older`] |
/// | RTTs without the acknowledgement delay (§5.3) | no: RTTs include it, as TCP's do |
/// | a probe timeout declares nothing lost (§6.2) | the first one; the next one is TCP's timeout, after which everything in flight counts as lost |
/// | packets that elicit no acknowledgement (§2) | no: every packet counts as in flight |
/// | three spaces of packet numbers (§3) | no |
///
/// The adapters in `bindings/quic` leave loss recovery to their stacks. They use [`RttEstimator`] only.
///
/// # Example
/// ```
/// use paceline_cc::{Ack, Time};
/// use paceline_flow::{Account, AccountConfig, Sent};
///
/// let mut account = Account::new(AccountConfig::stream(1500));
/// for segment in 0..5 {
///     account.on_sent(Time::from_millis(segment), Sent::segment(segment, 1500));
/// }
/// // Numbers 1 to 4 have arrived: number 0 is lost, as three packets sent later have come.
/// let ack = Ack { largest: 4, lengths: [4, 0, 0], ..Ack::default() };
/// let feedback = account.on_ack(Time::from_millis(100), &ack);
/// assert_eq!((feedback.acked_packets, feedback.lost_packets), (4, 1));
/// assert_eq!(account.take_repair().map(|repair| repair.segment), Some(0));
/// ```
#[derive(Debug)]
pub struct Account {
    config: Constants,
    ledger: Ledger,
    rtt: RttEstimator,
    rates: RateSampler,
    recovery: Recovery,
    rack: Rack,
    marks: MarkCounter,
    timers: Timers,
    repairs: VecDeque<Repair>,
    requests: Option<Box<Requests>>,
    undone: UndoneRepairs,
    /// Segments that have just arrived and of which another copy may be in flight.
    copied: Vec<u64>,
    fates: Vec<Fate>,
    /// Counters, except the number of packets sent, which the ledger has.
    stats: SenderStats,
    /// One more than the largest segment sent.
    next_segment: u64,
    /// All segments below are acknowledged.
    cumulative: u64,
    /// The number of the newest packet with data.
    newest_data: u64,
    /// See [`Account::lost_end`].
    lost_end: u64,
    /// End of the present round trip for the largest variation of the RTT: the round trip is over
    /// when all below is acknowledged. A segment, or a number if nothing is retransmitted.
    sampled_end: u64,
    /// Round trips since the start, and the total of delivered bytes at which the present one ends.
    round: u64,
    round_end: u64,
    window_use: WindowUse,
    /// The controller's window after the last feedback, in bytes; zero before the first.
    window: u64,
    /// Input of PRR from the last acknowledgement, until the controller has set its new window.
    reduction: Option<Reduction>,
    /// The packets declared lost, if the driver asked for them.
    loss_log: LossLog,
    /// State of loss recovery without selective acknowledgements; `None` with them.
    cumulative_only: Option<Box<Cumulative>>,
}

impl Account {
    /// Returns the account of a connection that has sent nothing.
    pub fn new(config: AccountConfig) -> Account {
        let detailed =
            [Signals::DELIVERY_RATE, Signals::FATES].iter().any(|s| config.signals.contains(*s));
        Account {
            ledger: Ledger::new(detailed),
            rtt: RttEstimator::new(config.rto),
            rates: RateSampler::new(),
            recovery: Recovery::new(config.reliable, Constants::new(&config).linux),
            rack: Rack::new(),
            marks: MarkCounter::new(config.ecn),
            timers: Timers::new(),
            repairs: VecDeque::new(),
            requests: Requests::new(config.requests),
            undone: UndoneRepairs::default(),
            copied: Vec::new(),
            fates: Vec::new(),
            stats: SenderStats::default(),
            next_segment: 0,
            cumulative: 0,
            newest_data: 0,
            lost_end: 0,
            sampled_end: 0,
            round: 0,
            round_end: 0,
            window_use: WindowUse::default(),
            window: 0,
            reduction: None,
            loss_log: LossLog::default(),
            cumulative_only: Cumulative::new(config.recovery),
            config: Constants::new(&config),
        }
    }

    /// Returns the bytes in flight: sent, and neither acknowledged nor declared lost.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.ledger.in_flight()
    }
    /// Returns the bytes acknowledged since the start.
    pub fn delivered(&self) -> u64 {
        self.rates.delivered()
    }
    /// Returns the number that the next packet gets.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.ledger.next()
    }
    /// Returns the segment that follows the largest one sent.
    #[inline]
    pub fn next_segment(&self) -> u64 {
        self.next_segment
    }
    /// Returns the cumulative point: all segments below it are acknowledged.
    #[inline]
    pub fn cumulative(&self) -> u64 {
        self.cumulative
    }
    /// Returns the estimates of the round-trip time.
    #[inline]
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    /// Returns the counters since the start.
    pub fn stats(&self) -> SenderStats {
        SenderStats { sent: self.ledger.next(), ..self.stats }
    }
    /// Returns the data to be retransmitted next; [`Account::take_repair`] takes it.
    #[inline]
    pub fn next_repair(&self) -> Option<&Repair> {
        self.repairs.get(self.undone.next_repair(&self.repairs)?)
    }
    /// Returns true if queued repairs wait because new data is sent first, to find out whether a
    /// timeout was a mistake (F-RTO, RFC 5682). `is_ready` says that the application has new data
    /// and the receiver's window has room for it.
    #[inline]
    pub fn sends_new_data_first(&self, is_ready: bool) -> bool {
        self.recovery.new_data_first(is_ready, self.next_segment)
    }
    /// Takes the data to be retransmitted next, which the caller sends as [`Sent::retransmission`].
    #[inline]
    pub fn take_repair(&mut self) -> Option<Repair> {
        let at = self.undone.next_repair(&self.repairs)?;
        self.undone.on_repair();
        if let Some(state) = &mut self.cumulative_only {
            state.on_repair();
        }
        if at == 0 { self.repairs.pop_front() } else { self.repairs.remove(at) }
    }
    /// Returns one more than the largest segment that was declared lost, or, where the receiver asks for lost packets,
    /// that was given up; zero before the first.
    pub fn lost_end(&self) -> u64 {
        self.lost_end
    }
    /// Starts to log packets declared lost, for [`Account::drain_losses`].
    pub fn log_losses(&mut self) {
        self.loss_log.begin();
    }
    /// Drains the packets declared lost since [`Account::log_losses`] or the last call, in order.
    pub fn drain_losses(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.loss_log.drain()
    }
    /// Returns true from a timeout until the data that it declared lost is repaired.
    #[inline]
    pub fn is_after_timeout(&self) -> bool {
        match &self.cumulative_only {
            None => self.recovery.is_after_timeout(),
            Some(state) => state.is_after_timeout(),
        }
    }

    /// Returns true if all data sent has arrived, or if none of it is in flight any more and lost
    /// data is not retransmitted.
    pub fn is_drained(&self) -> bool {
        if self.config.reliable {
            return self.cumulative == self.next_segment;
        }
        // Packets without data may be in flight all the time.
        self.ledger.first_in_flight().is_none_or(|oldest| oldest > self.newest_data)
    }

    /// Returns the newest packet, for a probe that repeats it.
    pub fn newest(&self) -> Option<Repair> {
        let number = self.ledger.next().checked_sub(1)?;
        Some(self.ledger.entry(number).repair(number))
    }

    /// Notes a packet sent at `now`. Returns its number.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Time, sent: Sent) -> u64 {
        let Sent { segment, size, tag, retransmission, push } = sent;
        if self.ledger.in_flight() == 0 || self.cumulative == self.next_segment {
            self.on_first_sent(now);
        }
        let entry = Entry::new(now, segment, size, self.rates.delivered())
            .repeating(retransmission)
            .pushing(push);
        let number = self.ledger.on_send(entry, || self.rates.detail(tag));
        self.recovery.on_send(size);
        if segment != NO_SEGMENT {
            self.newest_data = number;
            self.next_segment = self.next_segment.max(segment + 1);
        }
        if retransmission {
            self.on_resent(now, number, segment);
        }
        number
    }

    /// Notes that the data of `segment` is retransmitted at `now`.
    #[cold]
    fn on_resent(&mut self, now: Time, number: u64, segment: u64) {
        self.stats.retransmits += 1;
        if let Some(state) = self.cumulative_only.as_mut().filter(|_| self.ledger.returns()) {
            state.on_return(number);
        }
        self.note_requested(now, number, segment);
        if self.recovery.is_repairing() && segment == self.cumulative && self.config.linux {
            self.timers.restart(now, self.ledger.next());
            (self.timers.repaired, self.timers.repaired_segment) = (now, segment);
        }
    }

    /// Notes a packet sent while nothing is in flight that the receiver still needs.
    #[cold]
    fn on_first_sent(&mut self, now: Time) {
        if (self.ledger.in_flight() == 0 && !self.holds_repairs()) || self.needs_no_timer() {
            self.timers.restart(now, self.ledger.next());
            // Also if a lost packet is still remembered (Linux `tcp_rate_skb_sent`: nothing is out).
            if self.ledger.oldest().is_none() || self.needs_no_timer() {
                self.rates.restart(now);
            }
        }
    }

    /// Notes that a handshake which took `rtt` has established the connection. `rtt` is the first
    /// RTT sample and so sets the retransmission timer (RFC 6298 §2.2).
    pub fn on_handshake(&mut self, rtt: Span) {
        self.rtt.sample(rtt, true);
    }

    /// Notes that the application has nothing to send although the window has room. Rate samples
    /// count as application-limited until the bytes in flight now are delivered.
    #[inline]
    pub fn on_app_limited(&mut self) {
        self.rates.on_app_limited(self.ledger.in_flight());
    }

    /// Returns true if the application had nothing to send, and the bytes that were in flight then
    /// are not all delivered yet.
    pub fn is_app_limited(&self) -> bool {
        self.rates.is_app_limited()
    }

    /// Notes that the window keeps data back, or that the packet just sent has filled it exactly.
    #[inline]
    pub fn on_window_limited(&mut self) {
        self.window_use.on_full(self.ledger.next());
    }

    /// Notes that no further packet follows the one just sent although the window has room: the
    /// application has nothing more to send, or the pacer or the receiver's window keeps data back.
    pub fn on_window_open(&mut self) {
        let (next, acked_end) = (self.ledger.next(), self.ledger.acked_end());
        self.window_use.on_flight(self.ledger.in_flight(), next, acked_end);
    }

    /// Takes an acknowledgement in and returns the feedback for the controller. The driver passes
    /// the feedback on and then calls [`Account::on_window`] with the controller's new window.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) -> Feedback<'_> {
        self.on_ack_with_older(now, ack, std::iter::empty())
    }

    /// Does [`Account::on_ack`] for an acknowledgement with `older` ranges of numbers besides its
    /// blocks: [`Receiver::older_ranges`](crate::Receiver::older_ranges). Ranges passed to an
    /// earlier call may be left out.
    #[inline]
    pub fn on_ack_with_older(
        &mut self,
        now: Time,
        ack: &Ack,
        older: impl Iterator<Item = (u64, u64)>,
    ) -> Feedback<'_> {
        if self.cumulative_only.is_some() {
            return self.on_cumulative_ack(now, ack);
        }
        self.stats.acks += 1;
        let prior = self.ledger.in_flight();
        if !self.fates.is_empty() {
            self.fates.clear();
        }
        let mut older = older.peekable();
        let has_older = older.peek().is_some();
        let single = if has_older { None } else { self.ledger.single(ack) };
        let Some(number) = single else {
            if !has_older && let Some(end) = self.ledger.run_end(ack) {
                return self.on_run(now, ack, prior, end);
            }
            let (acked, last) = self.take_blocks(now, ack, older);
            return self.on_gaps(now, ack, prior, acked, last);
        };
        let acked = self.take_single(now, number);
        let nothing_missing = self.ledger.is_in_order() && self.repairs.is_empty();
        // While packets are missing, most acknowledgements neither advance the cumulative point nor
        // can cause a loss. For these, the lines below have the effect of `on_gaps`, 120
        // instructions cheaper.
        if !nothing_missing && (ack.cumulative > self.cumulative || !self.ledger.is_settled()) {
            return self.on_gaps(now, ack, prior, acked, None);
        }
        if !nothing_missing || acked.overtaken > 0 || !self.copied.is_empty() {
            self.tell_rack(now, &acked, None);
        }
        let advanced = self.advance(ack);
        let rtt = self.sample_rtt(now, ack, &acked, advanced);
        self.timers.loss = Time::NEVER;
        self.finish(now, ack, Progress { prior, acked, advanced, rtt }, &Losses::NONE)
    }

    /// Takes the cumulative point in. Returns true if it has advanced.
    #[inline(always)]
    fn advance(&mut self, ack: &Ack) -> bool {
        let cumulative = ack.cumulative.min(self.next_segment);
        let advanced = cumulative > self.cumulative;
        if advanced {
            self.cumulative = cumulative;
            self.settle_undone();
        }
        advanced
    }

    /// Restarts the timers if data is newly acknowledged, and returns the acknowledgement's RTT
    /// sample, if it gives one.
    #[inline(always)]
    fn sample_rtt(&mut self, now: Time, ack: &Ack, acked: &Acked, advanced: bool) -> Option<Span> {
        let (number, sent) = acked.newest?;
        // Beyond a gap, only packets sent before the gap was last repaired show that the timeout
        // would be too early (Linux `tcp_clean_rtx_queue`).
        if advanced || !self.config.linux || sent < self.timers.repaired {
            self.timers.restart(now, self.ledger.next());
        }
        // Retransmitted data gives an RTT sample only where it closes the first gap, by its
        // timestamp (`tcp_sacktag_one`, `tcp_ack_update_rtt`).
        if number != ack.largest || (acked.newest_repeats && !advanced && self.config.linux) {
            return None;
        }
        let sample = now.since(sent);
        let (passed, next) = match self.config.reliable {
            true => (self.cumulative, self.next_segment),
            false => (number, self.ledger.next()),
        };
        let round_over = passed > self.sampled_end;
        if round_over {
            self.sampled_end = next;
        }
        self.rtt.sample(sample, round_over);
        if !self.fates.is_empty() {
            self.note_received(number, ack.received);
        }
        Some(sample)
    }

    /// Passes an acknowledgement to loss recovery and returns the feedback for the controller.
    #[inline(always)]
    fn finish(
        &mut self,
        now: Time,
        ack: &Ack,
        progress: Progress,
        losses: &Losses,
    ) -> Feedback<'_> {
        let Progress { prior, acked, advanced, rtt } = progress;
        self.hear_requests(now);
        let marked = self.marks.newly_marked(ack);
        let news = losses.packets > 0 || marked > 0 || acked.late > 0;
        let congestion = if news || self.recovery.awaits_end() {
            self.stats.late += u64::from(acked.late);
            self.recover(ack, prior, acked.late_in_episode, marked > 0, losses)
        } else {
            None
        };
        if self.recovery.is_reducing() {
            let safe = advanced && losses.packets == 0;
            self.reduction = Some(Reduction { delivered: acked.bytes, safe });
        }
        let may_raise_cwnd = advanced || self.may_raise_beyond_gaps();
        let mut feedback = self.feedback(now, prior);
        feedback.acked = acked.bytes;
        feedback.acked_packets = acked.packets;
        feedback.lost = losses.bytes;
        feedback.lost_packets = losses.packets;
        feedback.marked_packets = marked;
        feedback.echo = ack.echo;
        feedback.explicit = ack.explicit;
        feedback.rtt = rtt;
        feedback.congestion = congestion;
        feedback.may_raise_cwnd = may_raise_cwnd;
        feedback
    }

    /// Returns true if packets acknowledged beyond a gap may open the window, too: if nothing is
    /// retransmitted, or if more reordering has been seen than the initial threshold (Linux
    /// `tcp_may_raise_cwnd`).
    #[cold]
    fn may_raise_beyond_gaps(&self) -> bool {
        !self.config.reliable || self.ledger.has_seen_reordering()
    }

    /// Notes when packet `number`, newly acknowledged, arrived, on the receiver's clock.
    fn note_received(&mut self, number: u64, received: Time) {
        if let Some(fate) = self.fates.iter_mut().find(|fate| fate.number == number) {
            fate.received = received;
        }
    }

    /// Returns feedback with the common fields. Ends the rate sample and counts the round trip.
    #[inline]
    fn feedback(&mut self, now: Time, prior_in_flight: u64) -> Feedback<'_> {
        let round_start = match self.rates.newest_prior_delivered() {
            Some(prior) if prior >= self.round_end => {
                self.round += 1;
                self.round_end = self.rates.delivered();
                true
            }
            _ => false,
        };
        let mut feedback = Feedback::new(now, self.config.mss);
        if self.config.signals.contains(Signals::DELIVERY_RATE) {
            feedback.sample = self.rates.take(self.rtt.min());
        } else {
            self.rates.skip();
        }
        feedback.prior_in_flight = prior_in_flight;
        feedback.in_flight = self.ledger.in_flight();
        feedback.cwnd_limited = self.window_use.is_limited();
        feedback.max_in_flight = self.window_use.max_in_flight();
        feedback.srtt = self.rtt.smoothed();
        feedback.min_rtt = self.rtt.min();
        feedback.delivered = self.rates.delivered();
        feedback.round = self.round;
        feedback.round_start = round_start;
        feedback.in_recovery = self.recovery.in_recovery();
        feedback.fates = &self.fates;
        feedback
    }

    /// Begins a new connection whose first segment is `segment`. Estimates start anew, and
    /// acknowledgements of packets in flight will be ignored. Numbers continue.
    pub fn reconnect(&mut self, segment: u64) {
        self.ledger.abandon();
        self.rtt = self.rtt.without_samples();
        self.recovery = Recovery::new(self.config.reliable, self.config.linux);
        self.rack = Rack::new();
        self.timers.on_congestion();
        self.marks.begin(self.ledger.next());
        if let Some(state) = &mut self.cumulative_only {
            state.begin(segment);
        }
        self.repairs.clear();
        self.requests = self.requests.as_ref().and_then(|requests| requests.anew());
        self.undone = UndoneRepairs::default();
        self.window_use = WindowUse::default();
        self.next_segment = segment;
        self.cumulative = segment;
        self.sampled_end = 0;
    }

    /// Forgets the RTT samples of the previous path. Packets in flight stay in flight.
    pub fn on_new_path(&mut self) {
        self.rtt = self.rtt.without_samples();
    }

    /// Drops all queued retransmissions. Call it when the receiver no longer needs the data, for
    /// example after the application has stopped.
    pub fn forget_repairs(&mut self) {
        self.repairs.clear();
    }
}

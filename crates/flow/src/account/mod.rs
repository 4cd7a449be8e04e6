//! The account of a connection: what was sent, what became of it, and what that tells about the
//! path.

mod acked;
mod config;
mod cumulative;
mod deadlines;
mod ecn;
mod entry;
mod gaps;
mod ledger;
mod losses;
mod rack;
mod rate;
mod recovery;
mod rtt;
mod ticks;
mod timers;
mod undone;
mod window_use;

pub use config::{AccountConfig, AccountStats, Repair, Sent};
pub use cumulative::{LossRecovery, RttSamples};
pub use deadlines::Expired;
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
use self::rack::Rack;
use self::rate::RateSampler;
use self::recovery::Recovery;
use self::timers::Timers;
use self::undone::UndoneRepairs;
use self::window_use::WindowUse;

/// The account of a connection.
///
/// It stands between acknowledgements and a [`Controller`](paceline_cc::Controller).
/// Its driver tells it what was sent and which acknowledgements came; it gives the feedback that
/// the controller is to be told, the data to send again, and the time of its next deadline. It
/// has no packets, no application, no pacing and no clock, so that every driver can use it: the
/// simulator's sender, UDP sockets, a QUIC stack.
///
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
    undone: UndoneRepairs,
    /// Segments that have just arrived, and have been sent again.
    copied: Vec<u64>,
    fates: Vec<Fate>,
    /// Counters, but for what was sent: the ledger numbers the packets.
    stats: AccountStats,
    /// One more than the largest segment sent.
    next_segment: u64,
    /// All segments below are acknowledged.
    cumulative: u64,
    /// The number of the newest packet with data.
    newest_data: u64,
    /// When all below is acknowledged, the round trip is over in which the variation of the RTT is
    /// looked for: a segment, or a number if nothing is sent again.
    sampled_end: u64,
    /// Round trips since the start, and the total delivered that ends the present one.
    round: u64,
    round_end: u64,
    window_use: WindowUse,
    /// The window that the controller had after the last feedback; zero before.
    window: u64,
    /// What PRR needs to know of the last acknowledgement once the controller has its new window.
    reduction: Option<Reduction>,
    /// The packets declared lost, if somebody asks for them.
    loss_log: LossLog,
    /// What is known without selective acknowledgements, if the account is to do without.
    cumulative_only: Option<Box<Cumulative>>,
}

/// What an acknowledgement means for proportional rate reduction.
#[derive(Copy, Clone, Debug)]
struct Reduction {
    /// Bytes newly acknowledged.
    delivered: u64,
    /// True if it repaired something and revealed no loss.
    safe: bool,
}

/// Losses that were just declared.
#[derive(Copy, Clone, Debug, Default)]
struct Losses {
    bytes: u64,
    packets: u32,
    /// `None` without losses.
    smallest_segment: Option<u64>,
    largest_segment: u64,
    largest_number: u64,
}

/// How far an acknowledgement has brought the account.
struct Progress {
    /// Bytes in flight before it.
    prior: u64,
    acked: Acked,
    /// True if the cumulative point is beyond all before it.
    advanced: bool,
    /// The RTT sample that it gave.
    rtt: Option<Span>,
}

impl Account {
    /// The account of a connection that has sent nothing.
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
            undone: UndoneRepairs::default(),
            copied: Vec::new(),
            fates: Vec::new(),
            stats: AccountStats::default(),
            next_segment: 0,
            cumulative: 0,
            newest_data: 0,
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

    /// Takes the memory of an account that is not needed any more, so that this one, which must have
    /// sent nothing, need not allocate what that one has.
    pub fn take_memory(&mut self, other: &mut Account) {
        self.ledger.take_memory(&mut other.ledger);
        other.repairs.clear();
        std::mem::swap(&mut self.repairs, &mut other.repairs);
        other.fates.clear();
        std::mem::swap(&mut self.fates, &mut other.fates);
    }

    /// Bytes in flight: sent, and neither acknowledged nor declared lost.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.ledger.in_flight()
    }
    /// Bytes that have been acknowledged since the start.
    pub fn delivered(&self) -> u64 {
        self.rates.delivered()
    }
    /// The number that the next packet gets.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.ledger.next()
    }
    /// The segment that follows the largest one sent.
    #[inline]
    pub fn next_segment(&self) -> u64 {
        self.next_segment
    }
    /// All segments below this one are acknowledged.
    #[inline]
    pub fn cumulative(&self) -> u64 {
        self.cumulative
    }
    /// Estimates of the round-trip time.
    #[inline]
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    /// Counters since the start.
    pub fn stats(&self) -> AccountStats {
        AccountStats { sent: self.ledger.next(), ..self.stats }
    }
    /// The oldest data that is to be sent again; [`Account::take_repair`] takes it.
    #[inline]
    pub fn next_repair(&self) -> Option<&Repair> {
        self.repairs.get(self.undone.next_repair(&self.repairs)?)
    }
    /// True if repairs wait, as new data goes first to find out whether a timeout was a mistake (F-RTO,
    /// RFC 5682); `is_ready` tells that the application has new data which the receiver takes.
    #[inline]
    pub fn sends_new_data_first(&self, is_ready: bool) -> bool {
        self.recovery.new_data_first(is_ready, self.next_segment)
    }
    /// Takes the oldest data that is to be sent again. The caller sends it as
    /// [`Sent::retransmission`] says.
    #[inline]
    pub fn take_repair(&mut self) -> Option<Repair> {
        let at = self.undone.next_repair(&self.repairs)?;
        self.undone.on_repair();
        if at == 0 { self.repairs.pop_front() } else { self.repairs.remove(at) }
    }
    /// From now on, keeps the packets that are declared lost for [`Account::drain_losses`].
    pub fn log_losses(&mut self) {
        self.loss_log.begin();
    }
    /// The packets declared lost since the last call, in the order in which that happened; none
    /// without [`Account::log_losses`].
    pub fn drain_losses(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.loss_log.drain()
    }
    /// True from a timeout until what it declared lost is repaired.
    #[inline]
    pub fn is_after_timeout(&self) -> bool {
        match &self.cumulative_only {
            None => self.recovery.is_after_timeout(),
            Some(state) => state.is_after_timeout(),
        }
    }

    /// The bytes that may be in flight under a congestion window of `cwnd` bytes: while the
    /// window is being reduced, what proportional rate reduction allows (RFC 6937), if the
    /// controller wants that.
    #[inline]
    pub fn window(&self, cwnd: u64, reduces_by_prr: bool) -> u64 {
        let window = self.window_without_inflation(cwnd, reduces_by_prr);
        match &self.cumulative_only {
            None => window,
            Some(_) => window.saturating_add(self.inflation()),
        }
    }

    /// The same without what duplicate acknowledgements add to it.
    #[inline]
    pub(crate) fn window_without_inflation(&self, cwnd: u64, reduces_by_prr: bool) -> u64 {
        let window = match reduces_by_prr && self.recovery.is_reducing() {
            true => self.recovery.allowance(),
            false => cwnd,
        };
        match self.undone.leaked() {
            0 => window,
            _ if self.recovery.is_after_timeout() || self.recovery.is_reducing() => window,
            leaked => window.saturating_sub(u64::from(leaked) * u64::from(self.config.mss)),
        }
    }

    /// True if so many bytes may be in flight by what duplicate acknowledgements add to the window.
    #[inline(always)]
    pub(crate) fn fits_inflated(&self, window: u64, bytes: u64) -> bool {
        self.cumulative_only.is_some() && bytes <= window.saturating_add(self.inflation())
    }

    /// Bytes beyond the window that duplicate acknowledgements make room for, without selective ones.
    #[cold]
    fn inflation(&self) -> u64 {
        let packets = self.cumulative_only.as_ref().map_or(0, |state| state.inflation());
        u64::from(packets) * u64::from(self.config.mss)
    }

    /// True if all data that was sent has arrived, or if nothing of it is on its way any more and
    /// none is sent again.
    pub fn is_drained(&self) -> bool {
        if self.config.reliable {
            return self.cumulative == self.next_segment;
        }
        // Packets without data may be on the way all the time.
        self.ledger.first_in_flight().is_none_or(|oldest| oldest > self.newest_data)
    }

    /// The size and segment of the newest packet, for a probe that repeats it.
    pub fn newest(&self) -> Option<Repair> {
        let number = self.ledger.next().checked_sub(1)?;
        let entry = self.ledger.entry(number);
        Some(Repair { number, segment: entry.segment, size: entry.size })
    }

    /// A packet leaves at `now`. Returns its number.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Time, sent: Sent) -> u64 {
        let Sent { segment, size, tag, retransmission } = sent;
        if self.ledger.in_flight() == 0 || self.cumulative == self.next_segment {
            self.on_first_sent(now);
        }
        let entry =
            Entry::new(now, segment, size, self.rates.delivered()).repeating(retransmission);
        let number = self.ledger.on_send(entry, || self.rates.detail(tag));
        self.recovery.on_send(size);
        if segment != NO_SEGMENT {
            self.newest_data = number;
            self.next_segment = self.next_segment.max(segment + 1);
        }
        if retransmission {
            self.on_resent(now, segment);
        }
        number
    }

    /// Data is sent again; `segment` says which.
    #[cold]
    fn on_resent(&mut self, now: Time, segment: u64) {
        self.stats.retransmits += 1;
        if self.recovery.is_repairing() && segment == self.cumulative && self.config.linux {
            self.timers.restart(now, self.ledger.next());
            (self.timers.repaired, self.timers.repaired_segment) = (now, segment);
        }
    }

    /// A packet leaves while nothing is in flight, or nothing that the receiver still needs.
    #[cold]
    fn on_first_sent(&mut self, now: Time) {
        if (self.ledger.in_flight() == 0 && !self.holds_repairs()) || self.needs_no_timer() {
            self.timers.restart(now, self.ledger.next());
            if self.ledger.oldest().is_none() {
                self.rates.restart(now);
            }
        }
    }

    /// The connection is established by a handshake that took `rtt`: the first sample of the RTT, and
    /// so of the retransmission timer (RFC 6298 §2.2).
    pub fn on_handshake(&mut self, rtt: Span) {
        self.rtt.sample(rtt, true);
    }

    /// The application has nothing to send though the window has room: rate samples are limited
    /// by it until what is in flight now is delivered.
    #[inline]
    pub fn on_app_limited(&mut self) {
        self.rates.on_app_limited(self.ledger.in_flight());
    }

    /// Returns true if the application had nothing to send, and no more has been delivered since than was
    /// in flight then.
    pub fn is_app_limited(&self) -> bool {
        self.rates.is_app_limited()
    }

    /// The window keeps data back, or the packet just sent has filled it exactly.
    #[inline]
    pub fn on_window_limited(&mut self) {
        self.window_use.on_full(self.ledger.next());
    }

    /// A packet was just sent, and no further one follows although the window has room: the application
    /// has nothing more to send, or the pacer or the receiver's window keeps data back.
    pub fn on_window_open(&mut self) {
        let (next, acked_end) = (self.ledger.next(), self.ledger.acked_end());
        self.window_use.on_flight(self.ledger.in_flight(), next, acked_end);
    }

    /// Takes an acknowledgement in; returns what the controller is to be told. Tell it, and then
    /// call [`Account::on_window`] with its new window.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) -> Feedback<'_> {
        self.on_ack_with_older(now, ack, std::iter::empty())
    }

    /// [`Account::on_ack`] of an acknowledgement that tells of `older` ranges of numbers beside its
    /// blocks: [`Receiver::older_ranges`](crate::Receiver::older_ranges). Ranges that
    /// an earlier call was given need not be given again.
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
        let single = if older.peek().is_none() { self.ledger.single(ack) } else { None };
        let Some(number) = single else {
            let (acked, last) = self.take_blocks(now, ack, older);
            return self.on_gaps(now, ack, prior, acked, last);
        };
        let acked = self.take_single(now, number);
        let nothing_missing = self.ledger.is_in_order() && self.repairs.is_empty();
        // While packets are missing, most acknowledgements neither advance the cumulative point nor can
        // cause a loss. For these, the lines below do the same as `on_gaps` with 120 instructions less.
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

    /// Takes the cumulative point in; true if it is beyond all before it.
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

    /// Starts the timers anew if data is newly acknowledged; the RTT sample that it gives.
    #[inline(always)]
    fn sample_rtt(&mut self, now: Time, ack: &Ack, acked: &Acked, advanced: bool) -> Option<Span> {
        let (number, sent) = acked.newest?;
        // Beyond a gap, only packets sent before the gap was last repaired tell that the timeout would
        // be too early (Linux `tcp_clean_rtx_queue`).
        if advanced || !self.config.linux || sent < self.timers.repaired {
            self.timers.restart(now, self.ledger.next());
        }
        // Data sent again tells of the RTT only where it closes the first gap, by its timestamp
        // (`tcp_sacktag_one`, `tcp_ack_update_rtt`).
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

    /// Lets recovery react to an acknowledgement, and returns the controller's feedback.
    #[inline(always)]
    fn finish(
        &mut self,
        now: Time,
        ack: &Ack,
        progress: Progress,
        losses: &Losses,
    ) -> Feedback<'_> {
        let Progress { prior, acked, advanced, rtt } = progress;
        let marked = self.marks.newly_marked(ack);
        let news = losses.packets > 0 || marked > 0 || acked.late > 0;
        let congestion = if news || self.recovery.may_end(ack.largest, self.cumulative) {
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

    /// Returns true if packets beyond a gap open the window, too: where nothing is sent again, and where
    /// more reordering has been seen than tells of a loss at first (Linux `tcp_may_raise_cwnd`).
    #[cold]
    fn may_raise_beyond_gaps(&self) -> bool {
        !self.config.reliable || self.ledger.has_seen_reordering()
    }

    /// The controller has taken the last feedback in, and its window is `cwnd` bytes now:
    /// proportional rate reduction works towards it.
    #[inline]
    pub fn on_window(&mut self, cwnd: u64) {
        self.window = cwnd;
        if let Some(reduction) = self.reduction.take() {
            let in_flight = self.ledger.in_flight();
            let mss = u64::from(self.config.mss);
            let cwnd = cwnd.saturating_sub(u64::from(self.undone.leaked()) * mss).max(mss);
            self.recovery.reduce(cwnd, in_flight, reduction.delivered, reduction.safe, mss);
        }
    }

    /// Packet `number`, which is newly acknowledged, arrived at `received` on the receiver's clock.
    fn note_received(&mut self, number: u64, received: Time) {
        if let Some(fate) = self.fates.iter_mut().find(|fate| fate.number == number) {
            fate.received = received;
        }
    }

    /// Feedback with what every feedback has. Ends the rate sample and counts the round trip.
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

    /// Begins a new connection whose first segment is `segment`: estimates start anew, and what
    /// is on its way will be ignored. Numbers go on.
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
        self.undone = UndoneRepairs::default();
        self.window_use = WindowUse::default();
        self.next_segment = segment;
        self.cumulative = segment;
        self.sampled_end = 0;
    }

    /// Forgets the RTT samples of the path before. Packets in flight stay in flight.
    pub fn on_new_path(&mut self) {
        self.rtt = self.rtt.without_samples();
    }

    /// What is still to be sent again need not be: nobody waits for it.
    pub fn forget_repairs(&mut self) {
        self.repairs.clear();
    }
}

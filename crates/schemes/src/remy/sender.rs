//! The sender's half of Remy.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{
    Congestion, Controller, Ecn, Feedback, Outgoing, Plan, Setup, Signals, Span, Time,
};

use super::action::ActionBasis;
use super::grid::Place;
use super::memory::{Memory, Signal, Tracker};
use super::table::RuleTable;
use super::ticker::Ticker;
use super::{Per, RemyParams};

/// Receives each use of a rule by senders: for training, and to show which rules matter.
pub trait RuleObserver: Send + Sync {
    /// Takes in that a sender used rule `rule` for `memory`.
    fn on_use(&self, rule: usize, memory: &Memory);
}

/// The sender's half of Remy: follows a table of rules. Each connection has a new sender, with a
/// new memory and window.
#[derive(Clone)]
pub struct RemySender {
    table: Arc<RuleTable>,
    observer: Option<Arc<dyn RuleObserver>>,
    tracker: Tracker,
    ticker: Ticker,
    place: Place,
    per: Per,
    as_published: bool,
    mss: u32,
    /// The window in packets, and its value before the acknowledgements of this instant.
    window: u32,
    before: u32,
    /// The instant of the last acknowledgements.
    at: Time,
    /// Number of the present rule; `usize::MAX` before the first.
    rule: usize,
    gap: Span,
    /// One more than the newest number sent, and than the newest number acknowledged; `None` before
    /// the first packet.
    numbers: Option<PacketCounts>,
    /// True from a timeout until an acknowledgement comes.
    silent: bool,
    /// The driver's count of bytes in flight, and the window in terms of this count.
    in_flight: u64,
    cwnd: u64,
}

#[derive(Copy, Clone, Debug)]
struct PacketCounts {
    sent: u64,
    acked: u64,
}

/// Shows the window, the rule and the memory.
impl fmt::Debug for RemySender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("RemySender");
        all.field("window", &self.window).field("gap", &self.gap).field("rule", &self.rule);
        all.field("memory", &self.memory().values).finish_non_exhaustive()
    }
}

impl RemySender {
    /// Returns a sender that follows `table`.
    pub fn new(params: &RemyParams, table: Arc<RuleTable>, setup: &Setup) -> RemySender {
        let mut sender = RemySender {
            tracker: Tracker::new(params.resolution_with(&table)).with_rate(table.follows_rate()),
            ticker: Ticker::new(table.timer()),
            table,
            observer: None,
            place: Place::default(),
            per: params.per,
            as_published: params.as_published,
            mss: setup.mss.max(1),
            window: 0,
            before: 0,
            at: Time::NEVER,
            rule: usize::MAX,
            gap: Span::ZERO,
            numbers: None,
            silent: false,
            in_flight: 0,
            cwnd: 0,
        };
        sender.act();
        sender.cwnd = sender.allowance() * u64::from(sender.mss);
        sender
    }

    /// Reports each rule lookup to `observer`, starting with the first acknowledgement.
    #[must_use]
    pub fn observed(mut self, observer: Arc<dyn RuleObserver>) -> RemySender {
        self.observer = Some(observer);
        self
    }

    /// Returns the memory.
    pub fn memory(&self) -> &Memory {
        self.tracker.memory()
    }

    /// Returns the window in packets.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Returns the minimum time between packets in milliseconds.
    pub fn intersend_ms(&self) -> f64 {
        match self.table.rules().get(self.rule).map(|rule| rule.action) {
            Some(action) if action.basis == ActionBasis::Rate => self.gap.as_secs_f64() * 1e3,
            Some(action) => action.intersend_ms,
            None => 0.0,
        }
    }

    /// Takes in `packets` packets acknowledged with this mark of an ABC router.
    pub(super) fn on_mark(&mut self, echo: Ecn, packets: u32) {
        self.tracker.on_mark(echo, packets);
    }

    /// Applies the rule for the present memory. Without a rule, nothing changes.
    #[inline]
    fn act(&mut self) {
        let Some(rule) = self.table.find(self.tracker.memory(), &mut self.place) else { return };
        if let Some(observer) = &self.observer {
            observer.on_use(rule, self.tracker.memory());
        }
        let action = &self.table.rules()[rule].action;
        if action.basis == ActionBasis::Rate {
            let (rate, min_rtt_ms) = self.tracker.rate_and_min_rtt();
            let (window, gap) = action.apply_to_rate(rate, min_rtt_ms);
            (self.window, self.gap, self.rule) = (window, Span::from_nanos(gap), rule);
            return;
        }
        self.window = action.apply(self.window);
        if rule != self.rule {
            self.rule = rule;
            self.gap = Span::from_secs_f64(action.intersend_ms / 1e3);
        }
    }

    /// Returns the number of packets sent after the newest acknowledged one. Older packets count as
    /// arrived or lost at once.
    #[inline]
    fn outstanding(&self) -> u64 {
        self.numbers.map_or(0, |numbers| numbers.sent.saturating_sub(numbers.acked))
    }

    /// Returns the number of packets that may be sent now: at least one while none is outstanding,
    /// so that a window of zero does not stop the connection for good. Between a timeout and the next
    /// acknowledgement the window is one packet, as in Linux.
    #[inline]
    fn allowance(&self) -> u64 {
        let window = if self.silent { 1 } else { self.window.max(1) };
        u64::from(window).saturating_sub(self.outstanding())
    }

    /// Updates the memory with the newly acknowledged packets.
    #[inline]
    fn remember(&mut self, feedback: &Feedback<'_>) {
        let before = self.numbers.map_or(0, |numbers| numbers.acked);
        for fate in feedback.fates.iter().filter(|fate| !fate.lost) {
            // Number of packets by which it is ahead of the newest one acknowledged before.
            let ahead = (fate.number + 1).saturating_sub(before);
            self.tracker.on_ack(fate.sent, feedback.now, ahead);
            self.ticker.on_ack(feedback.now);
            if let Some(numbers) = &mut self.numbers {
                numbers.acked = numbers.acked.max(fate.number + 1);
            }
            if self.per == Per::Packet {
                self.before = self.window;
                self.act();
            }
        }
    }
}

impl Controller for RemySender {
    fn needs(&self) -> Signals {
        Signals::FATES
    }

    #[inline]
    fn on_send(&mut self, _now: Time, packet: &mut Outgoing) -> u64 {
        self.in_flight = packet.in_flight + u64::from(packet.size);
        let sent = packet.number + 1;
        match &mut self.numbers {
            Some(numbers) => numbers.sent = sent,
            None => self.numbers = Some(PacketCounts { sent, acked: packet.number }),
        }
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let timeout = feedback.congestion == Some(Congestion::Timeout);
        if timeout
            && !self.as_published
            && let Some(numbers) = &mut self.numbers
        {
            // The outstanding packets count as lost.
            numbers.acked = numbers.sent;
        }
        if feedback.acked_packets > 0 {
            self.silent = false;
        } else if timeout {
            self.silent = !self.as_published;
        }
        self.remember(feedback);
        if feedback.in_flight == 0
            && !self.as_published
            && let Some(numbers) = &mut self.numbers
        {
            // After a spurious timeout, acknowledgements of the first transmissions also settle the
            // second ones, whose own numbers are never acknowledged. Without this the sender would
            // wait for them forever.
            numbers.acked = numbers.sent;
        }
        // An acknowledgement of an earlier connection's packets does not change the memory but
        // counts as an acknowledgement.
        let stale = self.as_published && feedback.lost == 0 && !timeout;
        if self.per == Per::Batch && (feedback.acked_packets > 0 || stale) {
            if feedback.now == self.at {
                // More of the batch: the rule is applied once, from the window before the batch.
                self.window = self.before;
            } else {
                (self.at, self.before) = (feedback.now, self.window);
            }
            self.act();
        }
        self.in_flight = feedback.in_flight;
        self.cwnd = self.in_flight + self.allowance() * u64::from(self.mss);
    }

    fn on_timer(&mut self, now: Time) {
        if now < self.ticker.next() {
            return;
        }
        let silence = self.ticker.on_tick(now);
        if self.outstanding() == 0 {
            // Nothing is expected: the silence says nothing about the path.
            return;
        }
        self.tracker.on_silence(silence);
        self.window = self.before;
        self.act();
        self.cwnd = self.in_flight + self.allowance() * u64::from(self.mss);
    }

    fn plan(&self) -> Plan {
        Plan::window(self.cwnd).exact().spaced(self.gap).timer(self.ticker.next())
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", f64::from(self.window));
        see("intersend", self.intersend_ms());
        for signal in Signal::ALL.into_iter().filter(|signal| signal.is_published()) {
            see(signal.name(), self.memory().get(signal));
        }
        if self.table.follows_rate() {
            see("delivery_rate", self.tracker.rate_and_min_rtt().0);
            for signal in Signal::ALL.into_iter().filter(|signal| signal.follows_rate()) {
                see(signal.name(), self.memory().get(signal));
            }
        }
        see("rule", if self.rule == usize::MAX { -1.0 } else { self.rule as f64 });
    }
}

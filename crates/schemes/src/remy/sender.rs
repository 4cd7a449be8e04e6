//! The sender's half of Remy.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{
    Congestion, Controller, Ecn, Feedback, Outgoing, Plan, Setup, Signals, Span, Time,
};

use super::grid::Place;
use super::memory::{Memory, Signal, Tracker};
use super::table::RuleTable;
use super::{Per, RemyParams};

/// Hears which rules senders use: for training, and to show which rules matter.
pub trait RuleObserver: Send + Sync {
    /// A sender used rule `rule` for `memory`.
    fn on_use(&self, rule: usize, memory: &Memory);
}

/// The sender's half of Remy: follows a table of rules. One sender is one connection; its
/// memory and its window begin anew with the next.
#[derive(Clone)]
pub struct RemySender {
    table: Arc<RuleTable>,
    observer: Option<Arc<dyn RuleObserver>>,
    tracker: Tracker,
    place: Place,
    per: Per,
    as_published: bool,
    mss: u32,
    /// The window in packets, and what it was before the acknowledgements of this instant.
    window: u32,
    before: u32,
    /// The instant of the last acknowledgements.
    at: Time,
    /// The present rule; tables have fewer rules than `usize::MAX`.
    rule: usize,
    gap: Span,
    /// One more than the newest number sent, and than the newest number acknowledged; `None`
    /// before the first packet.
    numbers: Option<PacketCounts>,
    /// The window in bytes, as the driver counts what is in flight.
    cwnd: u64,
}

#[derive(Copy, Clone, Debug)]
struct PacketCounts {
    sent: u64,
    acked: u64,
}

/// What it has decided, and by which memory.
impl fmt::Debug for RemySender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("RemySender");
        all.field("window", &self.window).field("gap", &self.gap).field("rule", &self.rule);
        all.field("memory", &self.memory().values).finish_non_exhaustive()
    }
}

impl RemySender {
    /// A sender that follows `table`.
    pub fn new(params: &RemyParams, table: Arc<RuleTable>, setup: &Setup) -> RemySender {
        let mut sender = RemySender {
            table,
            observer: None,
            tracker: Tracker::new(params.resolution),
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
            cwnd: 0,
        };
        sender.act();
        sender.cwnd = sender.allowance() * u64::from(sender.mss);
        sender
    }

    /// The same, with somebody who hears which rules it uses from its first acknowledgement on.
    #[must_use]
    pub fn observed(mut self, observer: Arc<dyn RuleObserver>) -> RemySender {
        self.observer = Some(observer);
        self
    }

    /// The memory.
    pub fn memory(&self) -> &Memory {
        self.tracker.memory()
    }

    /// The window in packets.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// The least time between packets in milliseconds.
    pub fn intersend_ms(&self) -> f64 {
        self.table.rules().get(self.rule).map_or(0.0, |rule| rule.action.intersend_ms)
    }

    /// So many packets were acknowledged with this mark of an ABC router.
    pub(super) fn on_mark(&mut self, echo: Ecn, packets: u32) {
        self.tracker.on_mark(echo, packets);
    }

    /// Does what the rule for the present memory says. Where there is none, nothing changes.
    #[inline]
    fn act(&mut self) {
        let Some(rule) = self.table.find(self.tracker.memory(), &mut self.place) else { return };
        if let Some(observer) = &self.observer {
            observer.on_use(rule, self.tracker.memory());
        }
        let action = &self.table.rules()[rule].action;
        self.window = action.apply(self.window);
        if rule != self.rule {
            self.rule = rule;
            self.gap = Span::from_secs_f64(action.intersend_ms / 1e3);
        }
    }

    /// Packets sent that are newer than the newest one acknowledged. Those older count as arrived
    /// or lost, without waiting for more signs of it.
    #[inline]
    fn outstanding(&self) -> u64 {
        self.numbers.map_or(0, |numbers| numbers.sent.saturating_sub(numbers.acked))
    }

    /// Packets that may be sent now: with nothing outstanding at least one, so that a window of
    /// zero does not stop the connection for good.
    #[inline]
    fn allowance(&self) -> u64 {
        u64::from(self.window.max(1)).saturating_sub(self.outstanding())
    }

    /// Takes the newly acknowledged packets into the memory.
    #[inline]
    fn remember(&mut self, feedback: &Feedback<'_>) {
        let before = self.numbers.map_or(0, |numbers| numbers.acked);
        for fate in feedback.fates.iter().filter(|fate| !fate.lost) {
            // The packet is so many ahead of the newest one acknowledged before.
            let ahead = (fate.number + 1).saturating_sub(before);
            self.tracker.on_ack(fate.sent, feedback.now, ahead);
            if let Some(numbers) = &mut self.numbers {
                numbers.acked = numbers.acked.max(fate.number + 1);
            }
            if self.per == Per::Packet {
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
            // Nothing will come of what is on its way.
            numbers.acked = numbers.sent;
        }
        self.remember(feedback);
        // An acknowledgement of an earlier connection's packets tells nothing, and yet is one.
        let stale = self.as_published && feedback.lost == 0 && !timeout;
        if self.per == Per::Batch && (feedback.acked_packets > 0 || stale) {
            if feedback.now == self.at {
                // More of the batch: the rule is applied once, to all of it.
                self.window = self.before;
            } else {
                (self.at, self.before) = (feedback.now, self.window);
            }
            self.act();
        }
        self.cwnd = feedback.in_flight + self.allowance() * u64::from(self.mss);
    }

    fn plan(&self) -> Plan {
        Plan::window(self.cwnd).exact().spaced(self.gap)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", f64::from(self.window));
        see("intersend", self.intersend_ms());
        for signal in Signal::ALL.into_iter().filter(|signal| signal.is_published()) {
            see(signal.name(), self.memory().get(signal));
        }
        see("rule", if self.rule == usize::MAX { -1.0 } else { self.rule as f64 });
    }
}

/// The default of [`RemyParams::resolution`].
pub(super) const RESOLUTION: Span = Span::from_nanos(10);

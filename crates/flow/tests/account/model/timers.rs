//! The deadlines of the plain account.

use paceline_cc::{Span, Time};
use paceline_flow::LossRecovery;

use super::plain::{ExpectedFeedback, Fate, Packet, Plain};

impl Plain {
    /// Returns true if all data has arrived.
    pub(super) fn needs_no_timer(&self) -> bool {
        self.config.reliable && self.cumulative == self.next_segment
    }

    /// Returns true if losses are detected and timers set by Linux' rules.
    pub(super) fn linux(&self) -> bool {
        self.config.reliable && self.config.recovery == LossRecovery::Sack
    }

    /// Lets the timeout count from now on.
    pub(super) fn restart(&mut self, now: Time) {
        (self.progress, self.progress_next) = (now, self.packets.len() as u64);
        self.probed = false;
    }

    /// Returns the three deadlines: loss by time, retransmission timeout, and tail probe. The probe
    /// is `wanted` unless a loss or a timeout is being repaired.
    pub(super) fn deadlines(&self, wanted: bool) -> [Time; 3] {
        if self.linux() {
            return self.linux_deadlines(wanted);
        }
        let in_flight = self.in_flight();
        if in_flight == 0 {
            return [self.loss_at, Time::NEVER, Time::NEVER];
        }
        let flying = self.present().filter(|(_, packet)| packet.fate == Fate::InFlight);
        let newest = self.packets.last().expect("something is in flight");
        let is_alone = newest.fate == Fate::InFlight && flying.count() == 1;
        let delay = Span::from_millis(if is_alone { 200 } else { 2 });
        let wanted = wanted
            && self.config.probes
            && !self.probed
            && !self.rtt.smoothed.is_zero()
            && !self.needs_no_timer();
        let timeout = self.progress + self.rtt.rto();
        let start = self.progress.max(newest.sent);
        let probe = (start + self.rtt.smoothed * 2 + delay).min(timeout);
        [self.loss_at, timeout, if wanted { probe } else { Time::NEVER }]
    }

    /// Returns true if a packet sent after the oldest in flight is acknowledged.
    fn has_gap(&self) -> bool {
        let in_flight = |(_, packet): &(u64, &Packet)| packet.fate == Fate::InFlight;
        let oldest = self.present().find(in_flight).map(|(number, _)| number);
        oldest.is_some_and(|oldest| self.largest_acked() > Some(oldest))
    }

    /// Returns the deadlines by Linux' rules: one timer for probe and timeout.
    fn linux_deadlines(&self, wanted: bool) -> [Time; 3] {
        let flying = || self.present().filter(|(_, packet)| packet.fate == Fate::InFlight);
        let Some((_, oldest)) = flying().next() else {
            let timeout = self.progress + self.rtt.rto();
            let timeout = if self.holds_repairs() { timeout } else { Time::NEVER };
            return [self.loss_at, timeout, Time::NEVER];
        };
        let (rto, next) = (self.rtt.rto(), self.packets.len() as u64);
        let newest = self.packets.last().expect("something is in flight");
        let timeout_follows = self.probed && next <= self.probe + 1;
        let wanted = wanted
            && self.config.probes
            && !self.has_gap()
            && !timeout_follows
            && !self.rtt.smoothed.is_zero()
            && !self.needs_no_timer();
        if !wanted {
            return [self.loss_at, self.progress + rto, Time::NEVER];
        }
        let is_out = self.probe_out && self.largest_acked().is_none_or(|acked| acked < self.probe);
        let probe = self.packets.get(self.probe as usize);
        let repeated = probe.filter(|probe| {
            is_out
                && probe.segment == oldest.segment
                && matches!(probe.fate, Fate::InFlight | Fate::Acked)
        });
        let oldest_expires = repeated.unwrap_or(oldest).sent + rto;
        let is_alone = newest.fate == Fate::InFlight && flying().count() == 1;
        let wait = self.rtt.smoothed * 2 + Span::from_millis(if is_alone { 200 } else { 2 });
        let probe = if next > self.progress_next {
            let later = newest.sent + wait;
            if oldest_expires > newest.sent { later.min(oldest_expires) } else { later }
        } else {
            self.progress + wait.min(rto)
        };
        match is_out {
            true => [self.loss_at, probe.max(oldest_expires), Time::NEVER],
            false => [self.loss_at, Time::NEVER, probe],
        }
    }

    /// Handles a deadline that has passed. Returns its name and the expected feedback.
    pub(super) fn on_deadline(
        &mut self,
        now: Time,
        wanted: bool,
        repairing: bool,
    ) -> (&'static str, ExpectedFeedback) {
        let [loss, timeout, probe] = self.deadlines(wanted);
        let lost = if loss <= now { self.detect(now, repairing) } else { Vec::new() };
        if !lost.is_empty() {
            if self.linux() && self.repaired_segment == self.cumulative {
                self.restart(self.repaired);
            }
            return ("losses", ExpectedFeedback { lost, ..ExpectedFeedback::default() });
        }
        // The deadline of losses may have moved; nothing else has.
        if probe <= now {
            self.stats.probes += 1;
            self.probe = self.packets.len() as u64;
            (self.progress, self.progress_next) = (now, self.probe + 1);
            (self.probed, self.probe_out) = (true, true);
            return ("probe", ExpectedFeedback::default());
        }
        if timeout <= now && self.needs_no_timer() {
            return ("losses", self.lose_all(now));
        }
        if timeout <= now {
            self.stats.timeouts += 1;
            self.rtt.expiries += 1;
            self.count_copies();
            return ("timeout", self.lose_all(now));
        }
        ("nothing", ExpectedFeedback::default())
    }

    fn lose_all(&mut self, now: Time) -> ExpectedFeedback {
        let in_flight = |(_, packet): &(u64, &Packet)| packet.fate == Fate::InFlight;
        let lost: Vec<u64> = self.present().filter(in_flight).map(|(n, _)| n).collect();
        lost.iter().for_each(|number| self.lose(*number));
        self.restart(now);
        (self.probe_out, self.loss_at) = (false, Time::NEVER);
        ExpectedFeedback { lost, ..ExpectedFeedback::default() }
    }
}

//! The deadlines of the plain account.

use paceline_cc::{Span, Time};

use super::plain::{ExpectedFeedback, Fate, Packet, Plain};

impl Plain {
    /// True if all data has arrived.
    pub(super) fn needs_no_timer(&self) -> bool {
        self.config.reliable && self.cumulative == self.next_segment
    }

    /// The three deadlines: loss by time, retransmission timeout, and the probe of the tail, which
    /// is `wanted` unless a loss or a timeout is being repaired.
    pub(super) fn deadlines(&self, wanted: bool) -> [Time; 3] {
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

    /// What is due: its name, and what it says.
    pub(super) fn on_deadline(
        &mut self,
        now: Time,
        wanted: bool,
    ) -> (&'static str, ExpectedFeedback) {
        let [loss, timeout, probe] = self.deadlines(wanted);
        let lost = if loss <= now { self.detect(now) } else { Vec::new() };
        if !lost.is_empty() {
            return ("losses", ExpectedFeedback { lost, ..ExpectedFeedback::default() });
        }
        if probe <= now {
            self.stats.probes += 1;
            (self.progress, self.probed) = (now, true);
            return ("probe", ExpectedFeedback::default());
        }
        if timeout <= now && self.needs_no_timer() {
            return ("losses", self.lose_all(now));
        }
        if timeout <= now {
            self.stats.timeouts += 1;
            self.rtt.expiries += 1;
            return ("timeout", self.lose_all(now));
        }
        ("nothing", ExpectedFeedback::default())
    }

    fn lose_all(&mut self, now: Time) -> ExpectedFeedback {
        let in_flight = |(_, packet): &(u64, &Packet)| packet.fate == Fate::InFlight;
        let lost: Vec<u64> = self.present().filter(in_flight).map(|(n, _)| n).collect();
        lost.iter().for_each(|number| self.lose(*number));
        (self.progress, self.probed, self.loss_at) = (now, false, Time::NEVER);
        ExpectedFeedback { lost, ..ExpectedFeedback::default() }
    }
}

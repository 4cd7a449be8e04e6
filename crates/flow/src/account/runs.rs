//! Handles an acknowledgement of several packets in order, as receivers that delay acknowledgements
//! send them while nothing is missing.

use paceline_cc::{Ack, Feedback, Time};

use super::{Account, Losses, Progress};

impl Account {
    /// Does [`Account::on_ack`] for an acknowledgement of all numbers below `end`, like
    /// [`Account::on_gaps`] but without what has no effect while nothing is missing.
    #[inline(never)]
    pub(super) fn on_run(&mut self, now: Time, ack: &Ack, prior: u64, end: u64) -> Feedback<'_> {
        let (acked, last) = self.take_run(now, ack, end);
        let nothing_missing = self.ledger.is_in_order() && self.repairs.is_empty();
        if !nothing_missing
            || acked.overtaken > 0
            || acked.late > 0
            || !self.copied.is_empty()
            || self.recovery.is_after_timeout()
        {
            return self.on_gaps(now, ack, prior, acked, last);
        }
        let advanced = self.advance(ack);
        let rtt = self.sample_rtt(now, ack, &acked, advanced);
        self.recovery.end_new_data_first();
        if let Some(last) = last {
            self.rack.rtt = now.since(last.sent);
        }
        self.timers.loss = Time::NEVER;
        self.finish(now, ack, Progress { prior, acked, advanced, rtt }, &Losses::NONE)
    }
}

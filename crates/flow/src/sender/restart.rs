//! Beginning anew: on a new path, with a new connection, and after a pause.

use paceline_cc::{Signals, Span, Time};

use super::Sender;
use crate::receiver::reassembly::next_connection;

impl Sender {
    /// Resets the window and the RTT estimates, since the path has changed (RFC 9000 §9.4). A
    /// scheme that uses reports of its receiver or headers written by routers continues instead:
    /// its counters are shared by both ends, and they reveal the new path.
    pub fn on_new_path(&mut self) {
        self.account.on_new_path();
        let both = [Signals::HEADERS, Signals::REPORTS];
        if !both.into_iter().any(|signal| self.needs.contains(signal)) {
            self.controller = (self.make)(&self.config.setup);
            self.replan();
        }
    }

    /// Begins a new connection: window and estimates start anew.
    pub(super) fn reconnect(&mut self) {
        // The first on-period uses the existing connection.
        let mut has_begun = self.last_sent != Time::NEVER;
        if let Some(connector) = &mut self.connector {
            has_begun |= connector.has_begun();
            connector.close();
            self.pacer.hold(true);
        }
        self.config.setup.connection += u32::from(has_begun);
        self.controller = (self.make)(&self.config.setup);
        self.account.reconnect(next_connection(self.account.next_segment()));
        // Without a handshake, this lets the receiver echo no mark of the previous connection.
        self.cwr = true;
        self.last_sent = Time::NEVER;
        self.pacer.forget_gap();
        self.unpaced = self.config.unpaced;
        self.replan();
    }

    /// Tells the controller, when a packet leaves with nothing in flight, how long the application
    /// had no data (Linux' BBR: `CA_EVENT_TX_START` with `app_limited`). Not if the pacer waited,
    /// if lost data waits, or if a timeout is being repaired: in these cases data was there.
    #[inline(never)]
    pub(super) fn resume(&mut self, now: Time) {
        let account = &self.account;
        let repairs = account.next_repair().is_some() || account.is_after_timeout();
        if self.last_sent < now && account.is_app_limited() && !repairs {
            // With an infinite timeout, no idle time is long enough to change the window.
            let rto = match self.config.slow_start_after_idle {
                true => self.account.rtt().rto(),
                false => Span::MAX,
            };
            self.controller.on_idle(now, self.account.host_time(self.last_sent, now), rto);
            self.replan();
        }
    }
}

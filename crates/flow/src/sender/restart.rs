//! Beginning anew: on a new path, and with a new connection.

use paceline_cc::{Signals, Time};

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
}

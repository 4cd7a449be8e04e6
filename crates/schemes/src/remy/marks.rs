//! Remy with ABC routers: a sender whose table uses the router's marks as a signal.

use paceline_cc::{Controller, Feedback, Outgoing, Plan, Signals, Time};

use super::memory::Signal;
use super::sender::RemySender;
use crate::abc::ACCELERATE;

/// The sender's half of Remy with a table that uses [`Signal::AccelShare`]: sends packets that an
/// ABC router may mark, and stores the echo of the marks in the memory before each look-up. A type
/// of its own, so that it costs senders of other tables nothing.
#[derive(Clone, Debug)]
pub struct MarkedRemySender {
    sender: RemySender,
}

impl MarkedRemySender {
    /// Returns this sender with the marks in its memory.
    pub fn new(sender: RemySender) -> MarkedRemySender {
        MarkedRemySender { sender }
    }
}

impl Controller for MarkedRemySender {
    fn needs(&self) -> Signals {
        self.sender.needs().and(Signals::ECHO)
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.sender.on_send(now, packet)
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.acked_packets > 0 {
            self.sender.on_mark(feedback.echo, feedback.acked_packets);
        }
        self.sender.on_feedback(feedback);
    }

    fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
    }

    fn plan(&self) -> Plan {
        self.sender.plan().ecn(ACCELERATE)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.sender.inspect(see);
        see(Signal::AccelShare.name(), self.sender.memory().get(Signal::AccelShare));
    }
}

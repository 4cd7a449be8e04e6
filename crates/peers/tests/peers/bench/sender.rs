//! A sender whose writes and acknowledgements the vectors give.

use paceline_cc::{Ack, Body, Packet, Setup, Span, Spec, Stage, Time};
use paceline_flow::{SENDER_SIGNALS, Sender, SenderConfig, Workload};
use paceline_schemes::registry;

use super::{at, ranges, shown};

/// A sender in virtual time.
pub(crate) struct Desk {
    pub(crate) sender: Sender,
    pub(crate) now: Time,
    mss: u64,
    waiting: u64,
    /// Segment of each transmission.
    pub(crate) segments: Vec<u64>,
}

impl Desk {
    pub(crate) fn new(scheme: &str, mss: u32) -> Desk {
        let halves = registry::build(&Spec::parse(scheme).expect("a scheme")).expect("a scheme");
        let setup = Setup::new(1, 0).with(|setup| setup.mss = mss);
        let config =
            SenderConfig::of(&halves, setup).with(|config| config.workload = Workload::Supplied);
        let sender = Sender::new(config, halves.controller, SENDER_SIGNALS).expect("all signals");
        Desk { sender, now: at(0), mss: u64::from(mss), waiting: 0, segments: Vec::new() }
    }

    /// Writes packets as the application; returns the segments that leave.
    pub(crate) fn write(&mut self, packets: u64) -> Vec<u64> {
        self.waiting += packets * self.mss;
        self.pop_all()
    }

    /// Processes an acknowledgement now; returns the segments that leave.
    pub(crate) fn ack(&mut self, ack: Ack) -> Vec<u64> {
        self.sender.push(self.now, &Packet { body: Body::Ack(ack), ..Packet::opaque(64) });
        self.pop_all()
    }

    /// Acknowledges the first `count` transmissions, none of which was lost, at `millis`; returns
    /// the segments that leave.
    pub(crate) fn ack_first(&mut self, millis: u64, count: u64) -> Vec<u64> {
        self.now = at(millis);
        self.ack(ranges(count, &[(0, count - 1)]))
    }

    /// Advances the time; returns the segments that leave.
    pub(crate) fn advance(&mut self, millis: u64) -> Vec<u64> {
        let mut left = self.pop_all();
        loop {
            let next = self.sender.wake().max(self.now + Span::from_nanos(1));
            self.now = next.min(at(millis));
            left.extend(self.pop_all());
            if next >= at(millis) {
                return left;
            }
        }
    }

    fn pop_all(&mut self) -> Vec<u64> {
        let (mut left, mut place) = (Vec::new(), Packet::opaque(0));
        loop {
            self.sender.set_ready(self.waiting);
            if !self.sender.pop_into(self.now, &mut place) {
                return left;
            }
            let Body::Data(data) = &place.body else { continue };
            if !self.segments.contains(&data.segment) {
                self.waiting = self.waiting.saturating_sub(u64::from(place.size));
            }
            self.segments.push(data.segment);
            left.push(data.segment);
        }
    }

    /// Returns the window in whole packets.
    pub(crate) fn cwnd(&self) -> u64 {
        self.sender.plan().cwnd / self.mss
    }

    /// Returns a value of the controller's inner state.
    pub(crate) fn state(&self, name: &str) -> f64 {
        shown(|see| self.sender.inspect(see), name)
    }
}

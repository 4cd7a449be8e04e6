//! A sender over one bottleneck with a droptail buffer, without other traffic.

use std::collections::VecDeque;

use paceline_cc::{Packet, Setup, Span, Spec, Stage, Time};
use paceline_flow::{Receiver, ReceiverConfig, SENDER_SIGNALS, Sender, SenderConfig, Workload};
use paceline_schemes::registry;

use super::shown;

/// Packets on their way, with their times of arrival.
type Wire = VecDeque<(Time, Packet)>;

/// The bottleneck with its sender and receiver.
pub(crate) struct Bottleneck {
    pub(crate) sender: Sender,
    receiver: Receiver,
    pub(crate) now: Time,
    /// Rate of the bottleneck in Mbit/s.
    pub(crate) mbps: f64,
    /// Buffer in bytes, and delay of both ways together.
    buffer: u64,
    delay: Span,
    /// Times at which the packets in the buffer leave it, with their sizes.
    queued: VecDeque<(Time, u64)>,
    forth: Wire,
    back: Wire,
    /// Bytes that the application has written and the sender has not taken.
    pub(crate) waiting: u64,
    /// Packets sent, and packets dropped of these.
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
}

impl Bottleneck {
    pub(crate) fn new(scheme: &str, mss: u32, mbps: f64, delay: Span, buffer: u64) -> Bottleneck {
        let halves = registry::build(&Spec::parse(scheme).expect("a scheme")).expect("a scheme");
        let setup = Setup::new(1, 0).with(|setup| setup.mss = mss);
        let config = SenderConfig::of(&halves, setup.clone())
            .with(|config| config.workload = Workload::Supplied);
        let receiver = Receiver::new(ReceiverConfig::of(&halves, setup));
        Bottleneck {
            sender: Sender::new(config, halves.controller, SENDER_SIGNALS).expect("all signals"),
            receiver,
            now: Time::ZERO,
            mbps,
            buffer,
            delay,
            queued: VecDeque::new(),
            forth: Wire::new(),
            back: Wire::new(),
            waiting: 0,
            sent: 0,
            dropped: 0,
        }
    }

    /// Returns the bytes in the buffer.
    pub(crate) fn queue(&mut self) -> u64 {
        while self.queued.front().is_some_and(|(leaves, _)| *leaves <= self.now) {
            self.queued.pop_front();
        }
        self.queued.iter().map(|(_, size)| size).sum()
    }

    /// Writes `bytes` as the application.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.waiting += bytes;
        self.sender.set_ready(self.waiting);
    }

    /// True if all written bytes have arrived.
    pub(crate) fn is_done(&self) -> bool {
        self.waiting == 0 && self.sender.in_flight() == 0
    }

    /// Runs for `span`, or until `condition` holds; returns true if it held.
    pub(crate) fn run(
        &mut self,
        span: Span,
        mut condition: impl FnMut(&mut Bottleneck) -> bool,
    ) -> bool {
        let end = self.now + span;
        while self.step(end) {
            if condition(self) {
                return true;
            }
        }
        false
    }

    /// Runs for `span`.
    pub(crate) fn run_for(&mut self, span: Span) {
        self.run(span, |_| false);
    }

    /// Runs the next event, if it is due by `end`.
    fn step(&mut self, end: Time) -> bool {
        let arrival = |wire: &Wire| wire.front().map_or(Time::NEVER, |(at, _)| *at);
        let (forth, back) = (arrival(&self.forth), arrival(&self.back));
        let next = forth.min(back).min(self.sender.wake()).min(self.receiver.wake());
        self.now = self.now.max(next.min(end));
        if next > end {
            return false;
        }
        if forth <= self.now {
            if let Some((_, packet)) = self.forth.pop_front() {
                self.receiver.push(self.now, &packet);
            }
        } else if back <= self.now
            && let Some((_, packet)) = self.back.pop_front()
        {
            self.sender.push(self.now, &packet);
        }
        let mut place = Packet::opaque(0);
        while self.receiver.pop_into(self.now, &mut place) {
            self.back.push_back((self.now + self.delay / 2, place));
        }
        loop {
            self.sender.set_ready(self.waiting);
            let repeated = self.sender.stats().retransmits;
            if !self.sender.pop_into(self.now, &mut place) {
                return true;
            }
            if self.sender.stats().retransmits == repeated {
                self.waiting = self.waiting.saturating_sub(u64::from(place.size));
            }
            self.carry(place);
        }
    }

    /// Puts a packet into the bottleneck.
    fn carry(&mut self, packet: Packet) {
        let size = u64::from(packet.size);
        self.sent += 1;
        if self.queue() + size > self.buffer {
            self.dropped += 1;
            return;
        }
        let free = self.queued.back().map_or(self.now, |(leaves, _)| *leaves);
        let leaves = free + Span::from_secs_f64(size as f64 * 8.0 / (self.mbps * 1e6));
        self.queued.push_back((leaves, size));
        self.forth.push_back((leaves + self.delay / 2, packet));
    }

    /// Returns a value of the controller's inner state.
    pub(crate) fn state(&self, name: &str) -> f64 {
        shown(|see| self.sender.inspect(see), name)
    }
}

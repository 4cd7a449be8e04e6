//! The event loop of the published simulator for one sender, written from its description: a clock
//! in floating-point milliseconds. At each instant come first the sender, then the link, then the
//! delay; packets that reach the receiver are acknowledged in a second pass at the same instant.
//!
//! It drives any [`Controller`]. With a paced sender, coinciding times are frequent, and then the
//! order of events depends on the last bit of these numbers: a clock of whole nanoseconds cannot
//! reproduce that.

use std::collections::VecDeque;

use paceline_cc::{Congestion, Controller, Fate, Feedback, Outgoing, Time};

use crate::PACKET;

fn time(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6).round() as u64)
}

/// A link that sends one packet at a time from an unlimited queue, and a delay after it.
pub(crate) struct Path {
    per_packet_ms: f64,
    delay_ms: f64,
    /// The packet in transmission with the end of its transmission; waiting packets; delayed
    /// packets with the end of their delay.
    sending: Option<(f64, Packet)>,
    waiting: VecDeque<Packet>,
    delayed: VecDeque<(f64, Packet)>,
}

/// A packet's number and its send time.
type Packet = (u64, f64);

impl Path {
    pub(crate) fn new(packets_per_ms: f64, delay_ms: f64) -> Path {
        let (waiting, delayed) = Default::default();
        Path { per_packet_ms: 1.0 / packets_per_ms, delay_ms, sending: None, waiting, delayed }
    }

    fn push(&mut self, now: f64, packet: Packet) {
        match self.sending {
            None => self.sending = Some((now + self.per_packet_ms, packet)),
            Some(_) => self.waiting.push_back(packet),
        }
    }

    fn next(&self) -> f64 {
        let sent = self.sending.map_or(f64::INFINITY, |(end, _)| end);
        self.delayed.front().map_or(sent, |(end, _)| sent.min(*end))
    }

    /// Advances to `now`. Returns the packets that have reached the receiver.
    fn advance(&mut self, now: f64) -> Vec<Packet> {
        if let Some((_, packet)) = self.sending.take_if(|(end, _)| *end <= now) {
            self.delayed.push_back((now + self.delay_ms, packet));
            self.sending =
                self.waiting.pop_front().map(|packet| (now + self.per_packet_ms, packet));
        }
        let mut arrived = Vec::new();
        while let Some((_, packet)) = self.delayed.pop_front_if(|(end, _)| *end <= now) {
            arrived.push(packet);
        }
        arrived
    }
}

/// Runs a controller for `duration_ms`. `gap_ms` returns the minimum time between its packets, to
/// the last bit. `each` is called after every instant with the numbers of packets sent, received
/// and acknowledged.
pub(crate) fn run<C: Controller>(
    controller: &mut C,
    mut path: Path,
    duration_ms: f64,
    gap_ms: impl Fn(&C) -> f64,
    mut each: impl FnMut(f64, &C, [u64; 3]),
) {
    let (mut now, mut last_sent) = (0.0f64, 0.0f64);
    let (mut sent, mut acked, mut arrived) = (0u64, 0u64, Vec::new());
    while now < duration_ms {
        let may_send = |controller: &C, sent: u64, acked: u64| {
            (sent - acked + 1) * u64::from(PACKET) <= controller.plan().cwnd
        };
        let mut next = path.next();
        if !arrived.is_empty() {
            next = now;
        } else if may_send(controller, sent, acked) {
            next = next.min((last_sent + gap_ms(controller)).max(now));
        }
        now = next;
        if !arrived.is_empty() {
            let fates: Vec<Fate> = arrived
                .drain(..)
                .map(|(number, at): Packet| Fate::new(number, PACKET, time(at), 0, false))
                .collect();
            acked += fates.len() as u64;
            let mut feedback = Feedback::new(time(now), PACKET);
            feedback.acked_packets = fates.len() as u32;
            feedback.in_flight = (sent - acked) * u64::from(PACKET);
            feedback.fates = &fates;
            assert_ne!(feedback.congestion, Some(Congestion::Timeout));
            controller.on_feedback(&feedback);
        }
        if may_send(controller, sent, acked) && last_sent + gap_ms(controller) <= now {
            let mut packet = Outgoing::new(sent, PACKET, (sent - acked) * u64::from(PACKET));
            controller.on_send(time(now), &mut packet);
            path.push(now, (sent, now));
            (sent, last_sent) = (sent + 1, now);
        }
        arrived = path.advance(now);
        each(now, controller, [sent, acked + arrived.len() as u64, acked]);
    }
}

//! Messages between the two ends: few, short, in order and exactly once. Up to 16 are in flight;
//! each is repeated until it is acknowledged.

use std::collections::{BTreeMap, VecDeque};

use paceline_cc::{Span, Time};

use crate::frame::{Frame, LONGEST_MESSAGE};

/// Largest number of waiting messages in each direction.
const MOST: usize = 64;
/// Largest number of messages in flight.
const WINDOW: usize = 16;

/// A message to be sent.
#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    /// When it is next sent; [`Time::ZERO`] if it has not been sent.
    due: Time,
    /// Number of times that it was sent.
    tries: u32,
}

/// The messages of one connection, in both directions.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// Messages not acknowledged, and the number of the first. The first [`WINDOW`] may be in
    /// flight.
    out: VecDeque<Outgoing>,
    number: u32,
    /// Messages that have arrived in order, and the number of the next.
    inbox: VecDeque<Vec<u8>>,
    expected: u32,
    /// Messages that have arrived before an earlier one, by their distance from `expected`, below
    /// [`WINDOW`].
    early: BTreeMap<u32, Vec<u8>>,
    acknowledge: bool,
}

impl Messages {
    /// Takes a message to be sent. Returns false if it is too long or too many wait.
    pub(super) fn send(&mut self, bytes: Vec<u8>) -> bool {
        let takes = self.out.len() < MOST && bytes.len() <= LONGEST_MESSAGE;
        if takes {
            self.out.push_back(Outgoing { bytes, due: Time::ZERO, tries: 0 });
        }
        takes
    }
    pub(super) fn receive(&mut self) -> Option<Vec<u8>> {
        self.inbox.pop_front()
    }
    pub(super) fn is_drained(&self) -> bool {
        self.out.is_empty()
    }
    pub(super) fn wake(&self) -> Time {
        let due = self.out.iter().take(WINDOW).map(|message| message.due);
        if self.acknowledge { Time::ZERO } else { due.min().unwrap_or(Time::NEVER) }
    }

    pub(super) fn on_message(&mut self, number: u32, bytes: &[u8]) {
        self.acknowledge = true;
        let ahead = number.wrapping_sub(self.expected);
        // A message without room is not acknowledged, so the other end repeats it.
        if ahead as usize >= WINDOW || self.inbox.len() >= MOST {
            return;
        }
        self.early.entry(ahead).or_insert_with(|| bytes.to_vec());
        while self.inbox.len() < MOST
            && let Some(next) = self.early.remove(&0)
        {
            self.inbox.push_back(next);
            self.expected = self.expected.wrapping_add(1);
            let early = std::mem::take(&mut self.early).into_iter();
            self.early = early.map(|(ahead, bytes)| (ahead - 1, bytes)).collect();
        }
    }

    /// Notes that all messages before this number have arrived.
    pub(super) fn on_ack(&mut self, number: u32) {
        let count = number.wrapping_sub(self.number) as usize;
        let sent = self.out.iter().take(WINDOW).filter(|message| message.tries > 0).count();
        if count <= sent {
            self.out.drain(..count);
            self.number = number;
        }
    }

    /// Returns the frame that is due. A message is repeated after `rtt`, which doubles each time.
    pub(super) fn pop(&mut self, now: Time, rtt: Span) -> Option<Frame<'_>> {
        if std::mem::take(&mut self.acknowledge) {
            return Some(Frame::MessageAck(self.expected));
        }
        let mut window = self.out.iter_mut().take(WINDOW).zip(0..);
        let (message, ahead) = window.find(|(message, _)| message.due <= now)?;
        message.due = now + rtt.max(Span::from_millis(100)) * (2 << message.tries.min(4));
        message.tries += 1;
        Some(Frame::Message { number: self.number.wrapping_add(ahead), bytes: &message.bytes })
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Stream;

    use super::*;

    const RTT: Span = Span::from_millis(300);

    /// Returns the messages that are due, with their numbers.
    fn due(from: &mut Messages, now: Time) -> Vec<(u32, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(Frame::Message { number, bytes }) = from.pop(now, RTT) {
            all.push((number, bytes.to_vec()));
        }
        all
    }

    #[test]
    fn a_window_of_messages_takes_one_round_trip() {
        let (mut from, mut to) = (Messages::default(), Messages::default());
        (0..MOST as u8).for_each(|n| assert!(from.send(vec![n])));
        assert!(!from.send(vec![0]));
        for trip in 0..MOST / WINDOW {
            let now = Time::ZERO + RTT * trip as u64;
            let sent = due(&mut from, now);
            assert_eq!(sent.len(), WINDOW);
            sent.iter().rev().for_each(|(number, bytes)| to.on_message(*number, bytes));
            assert_eq!(to.wake(), Time::ZERO);
            let Some(Frame::MessageAck(number)) = to.pop(now, RTT) else { panic!("an answer") };
            from.on_ack(number);
        }
        assert!(from.is_drained() && from.wake() == Time::NEVER);
        let heard: Vec<u8> = std::iter::from_fn(|| to.receive()).flatten().collect();
        assert!(heard.iter().copied().eq(0..MOST as u8));
    }

    #[test]
    fn messages_arrive_once_and_in_order_despite_loss_and_reordering() {
        let mut random = Stream::new(5, "messages");
        let (mut from, mut to) = (Messages::default(), Messages::default());
        // The numbers wrap around.
        (from.number, to.expected) = (u32::MAX - 70, u32::MAX - 70);
        let (mut next, mut heard, mut now) = (0u32, Vec::new(), Time::ZERO);
        let mut on_way = Vec::new();
        while heard.len() < 300 {
            while next < 300 && from.send(next.to_be_bytes().to_vec()) {
                next += 1;
            }
            on_way.extend(due(&mut from, now));
            while !on_way.is_empty() && random.below(3) > 0 {
                let (number, bytes) = on_way.remove(random.below(on_way.len() as u64) as usize);
                if random.below(4) > 0 {
                    to.on_message(number, &bytes);
                }
            }
            if let (Some(Frame::MessageAck(number)), true) = (to.pop(now, RTT), random.below(3) > 0)
            {
                from.on_ack(number);
            }
            if random.below(2) == 0 {
                heard.extend(std::iter::from_fn(|| to.receive()));
            }
            now += Span::from_millis(50);
            assert!(now < Time::from_secs(10_000), "{}", heard.len());
        }
        let expected: Vec<_> = (0..300u32).map(|n| n.to_be_bytes().to_vec()).collect();
        assert_eq!(heard, expected);
    }

    #[test]
    fn unsent_messages_are_neither_acknowledged_nor_accepted() {
        let mut from = Messages::default();
        (0..20).for_each(|n| assert!(from.send(vec![n])));
        from.on_ack(1);
        assert_eq!(from.out.len(), 20);
        due(&mut from, Time::ZERO);
        from.on_ack(17);
        assert_eq!(from.out.len(), 20);
        from.on_ack(16);
        from.on_ack(3);
        assert_eq!(from.out.len(), 4);
        let mut to = Messages::default();
        to.on_message(WINDOW as u32, b"far");
        to.on_message(u32::MAX, b"old");
        assert!(to.early.is_empty() && to.receive().is_none());
    }
}

//! Messages between the two ends: few, short, in order and exactly once. One is on its way at a
//! time, and is sent again until it is acknowledged.

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

use crate::frame::{Frame, LONGEST_MESSAGE};

/// The most messages that wait, in each direction.
const MOST: usize = 64;

/// Messages of one connection, both ways.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// Those to be sent, the one on its way first, and that one's number.
    out: VecDeque<Vec<u8>>,
    number: u32,
    /// When it is to be sent, for the first time or again.
    due: Option<Time>,
    tries: u32,
    /// Those that have come, and the number of the next.
    inbox: VecDeque<Vec<u8>>,
    expected: u32,
    acknowledge: bool,
}

impl Messages {
    /// Takes a message to be sent; false if it is too long or too many wait.
    pub(super) fn send(&mut self, bytes: Vec<u8>) -> bool {
        let takes = self.out.len() < MOST && bytes.len() <= LONGEST_MESSAGE;
        if takes {
            self.out.push_back(bytes);
            self.due.get_or_insert(Time::ZERO);
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
        if self.acknowledge { Time::ZERO } else { self.due.unwrap_or(Time::NEVER) }
    }

    pub(super) fn on_message(&mut self, number: u32, bytes: &[u8]) {
        if number == self.expected && self.inbox.len() < MOST {
            self.inbox.push_back(bytes.to_vec());
            self.expected = self.expected.wrapping_add(1);
        }
        self.acknowledge = true;
    }

    pub(super) fn on_ack(&mut self, number: u32) {
        if !self.out.is_empty() && number == self.number.wrapping_add(1) {
            self.out.pop_front();
            self.number = number;
            self.tries = 0;
            self.due = (!self.out.is_empty()).then_some(Time::ZERO);
        }
    }

    /// The frame that is due. A message comes again after `rtt` doubled each time.
    pub(super) fn pop(&mut self, now: Time, rtt: Span) -> Option<Frame<'_>> {
        if std::mem::take(&mut self.acknowledge) {
            return Some(Frame::MessageAck(self.expected));
        }
        if self.due.is_none_or(|due| due > now) {
            return None;
        }
        let wait = rtt.max(Span::from_millis(100)) * (2 << self.tries.min(4));
        self.tries += 1;
        self.due = Some(now + wait);
        let number = self.number;
        self.out.front().map(|bytes| Frame::Message { number, bytes })
    }
}

//! Acknowledgements on their way back, where they are delayed at random or come in slots. Those of a
//! sender keep their order.

use std::collections::VecDeque;

use paceline_cc::{Span, Stream, Time};
use paceline_sim::path::Impairments;

use super::wakeups::Wakeups;

/// The ways back of all senders' acknowledgements.
#[derive(Clone)]
pub(super) struct AckPaths {
    paths: Vec<AckPath>,
    /// When the first acknowledgement of each sender is due.
    wakeups: Wakeups,
    impairments: Impairments,
}

/// An acknowledgement of one packet.
#[derive(Copy, Clone)]
pub(super) struct Ack {
    due: Time,
    /// When the packet was sent, and its number.
    pub(super) sent: Time,
    pub(super) number: u64,
}

#[derive(Clone)]
struct AckPath {
    stream: Stream,
    line: VecDeque<Ack>,
    /// When the newest is due.
    last: Time,
}

impl AckPaths {
    /// The ways back with these impairments, of senders whose random streams these are.
    pub(super) fn new(impairments: Impairments, streams: Vec<Stream>) -> AckPaths {
        let wakeups = Wakeups::new(streams.len());
        let path = |stream| AckPath { stream, line: VecDeque::new(), last: Time::ZERO };
        AckPaths { paths: streams.into_iter().map(path).collect(), wakeups, impairments }
    }

    /// When the first acknowledgement reaches its sender; [`Time::NEVER`] if there is none.
    pub(super) fn due(&self) -> Time {
        self.wakeups.earliest()
    }

    /// A receiver acknowledges a packet at `now`.
    pub(super) fn push(&mut self, now: Time, sender: usize, (number, sent): (u64, Time)) {
        let path = &mut self.paths[sender];
        let (delay, _) = self.impairments.delay(Span::ZERO, &mut path.stream);
        path.last = path.last.max(self.impairments.arrival(now + delay));
        let is_first = path.line.is_empty();
        path.line.push_back(Ack { due: path.last, sent, number });
        if is_first {
            self.wakeups.set(sender, path.last);
        }
    }

    /// The acknowledgement that reaches its sender first, and the number of this sender.
    pub(super) fn pop(&mut self) -> Option<(usize, Ack)> {
        let sender = self.wakeups.first();
        let line = &mut self.paths.get_mut(sender)?.line;
        let ack = line.pop_front()?;
        self.wakeups.set(sender, line.front().map_or(Time::NEVER, |next| next.due));
        Some((sender, ack))
    }
}

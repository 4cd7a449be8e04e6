//! Acknowledgements on their way back, if they are randomly delayed or grouped into slots. A
//! sender's acknowledgements are not reordered.

use std::collections::VecDeque;

use paceline_cc::{Span, Stream, Time};
use paceline_path::Impairments;

use super::wakeups::Wakeups;

/// The return paths of all senders' acknowledgements.
#[derive(Clone)]
pub(super) struct AckPaths {
    paths: Vec<AckPath>,
    /// Arrival time of each sender's first acknowledgement.
    wakeups: Wakeups,
    impairments: Impairments,
}

/// An acknowledgement of one packet.
#[derive(Copy, Clone)]
pub(super) struct Ack {
    due: Time,
    /// Send time and number of the packet.
    pub(super) sent: Time,
    pub(super) number: u64,
}

#[derive(Clone)]
struct AckPath {
    stream: Stream,
    line: VecDeque<Ack>,
    /// Arrival time of the newest acknowledgement.
    last: Time,
}

impl AckPaths {
    /// Creates return paths with these impairments and one random stream per sender.
    pub(super) fn new(impairments: Impairments, streams: Vec<Stream>) -> AckPaths {
        let wakeups = Wakeups::new(streams.len());
        let path = |stream| AckPath { stream, line: VecDeque::new(), last: Time::ZERO };
        AckPaths { paths: streams.into_iter().map(path).collect(), wakeups, impairments }
    }

    /// Returns the arrival time of the first acknowledgement; [`Time::NEVER`] if there is none.
    pub(super) fn due(&self) -> Time {
        self.wakeups.earliest()
    }

    /// Sends a receiver's acknowledgement of a packet at `now`.
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

    /// Removes the acknowledgement that arrives first. Returns it and its sender's number.
    pub(super) fn pop(&mut self) -> Option<(usize, Ack)> {
        let sender = self.wakeups.first();
        let line = &mut self.paths.get_mut(sender)?.line;
        let ack = line.pop_front()?;
        self.wakeups.set(sender, line.front().map_or(Time::NEVER, |next| next.due));
        Some((sender, ack))
    }
}

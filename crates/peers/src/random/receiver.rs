//! The receiver of a trial: acknowledges by RFCs 5681, 2018, 2883, 3168 and 7323.

use paceline_cc::Span;

/// Longest delay of an acknowledgement when no further packet comes.
const DELAY: Span = Span::from_millis(40);
/// SACK blocks that fit into a header, without and with timestamps.
const BLOCKS: usize = 4;
const BLOCKS_WITH_TIMESTAMPS: usize = 3;

/// An acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Acknowledgement number, from 1.
    pub(super) ack: u64,
    /// SACK blocks; the first one may report data that came twice (RFC 2883).
    pub(super) sacks: Vec<(u64, u64)>,
    /// The ECE flag.
    pub(super) ece: bool,
    /// Echoed timestamp.
    pub(super) echo: u32,
}

/// A data segment that arrives.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Data {
    /// First sequence number, and last sequence number plus one.
    pub(super) range: (u64, u64),
    /// The sender's timestamp; 0 without timestamps.
    pub(super) timestamp: u32,
    /// Whether it came with CE.
    pub(super) marked: bool,
    /// The CWR flag.
    pub(super) cwr: bool,
}

/// A receiver that has all data below `next`.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    every: u32,
    timestamps: bool,
    next: u64,
    /// Data beyond a gap: disjoint ranges, the latest one to grow first.
    ranges: Vec<(u64, u64)>,
    /// Number of packets that are not acknowledged yet, and the latest time for their
    /// acknowledgement.
    pending: u32,
    due: Option<Span>,
    last_ack: u64,
    echo: u32,
    ece: bool,
}

impl Receiver {
    /// Returns a receiver that acknowledges every `every`th packet. With `timestamps` fewer SACK
    /// blocks fit into a header.
    pub(super) fn new(every: u32, timestamps: bool) -> Receiver {
        let ranges = Vec::new();
        let (next, last_ack) = (1, 1);
        Receiver {
            every,
            timestamps,
            next,
            ranges,
            pending: 0,
            due: None,
            last_ack,
            echo: 0,
            ece: false,
        }
    }

    /// Takes the sender's timestamp from its SYN-ACK.
    pub(super) fn on_handshake(&mut self, timestamp: u32) {
        self.echo = timestamp;
    }

    /// Returns the time for the next call of [`Receiver::on_timer`].
    pub(super) fn due(&self) -> Option<Span> {
        self.due
    }

    /// Takes in data at `now`. Returns the acknowledgement, or `None` if it is delayed.
    pub(super) fn on_data(&mut self, now: Span, data: &Data) -> Option<Answer> {
        let (first, end) = data.range;
        // RFC 7323 §4.3: echo the timestamp of the segment that the last acknowledgement requested.
        if first <= self.last_ack && data.timestamp.wrapping_sub(self.echo) < 1 << 31 {
            self.echo = data.timestamp;
        }
        if data.cwr {
            self.ece = false;
        }
        self.ece |= data.marked;
        let came_before =
            end <= self.next || self.ranges.iter().any(|r| r.0 <= first && end <= r.1);
        let had_gap = !self.ranges.is_empty();
        if !came_before {
            self.insert(first, end);
        }
        self.pending += 1;
        let at_once = came_before || had_gap || !self.ranges.is_empty() || data.marked;
        if at_once || self.pending >= self.every {
            return Some(self.answer(came_before.then_some(data.range)));
        }
        self.due = Some(now + DELAY);
        None
    }

    /// Returns the delayed acknowledgement.
    pub(super) fn on_timer(&mut self) -> Answer {
        self.answer(None)
    }

    fn insert(&mut self, first: u64, end: u64) {
        let mut grown = (first, end);
        let touches = |range: &(u64, u64)| range.0 <= end && first <= range.1;
        for range in self.ranges.extract_if(.., |range| touches(range)) {
            grown = (grown.0.min(range.0), grown.1.max(range.1));
        }
        if grown.0 <= self.next {
            self.next = grown.1;
        } else {
            self.ranges.insert(0, grown);
        }
    }

    fn answer(&mut self, duplicate: Option<(u64, u64)>) -> Answer {
        (self.pending, self.due, self.last_ack) = (0, None, self.next);
        let most = if self.timestamps { BLOCKS_WITH_TIMESTAMPS } else { BLOCKS };
        let mut sacks: Vec<(u64, u64)> = duplicate.into_iter().collect();
        if let Some((first, end)) = duplicate {
            // RFC 2883 §4: the second block contains the duplicate data, if it lies beyond a gap.
            self.ranges.sort_by_key(|range| !(range.0 <= first && end <= range.1));
        }
        sacks.extend(&self.ranges);
        sacks.truncate(most);
        Answer { ack: self.next, sacks, ece: self.ece, echo: self.echo }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(first: u64) -> Data {
        Data { range: (first, first + 1000), timestamp: 0, marked: false, cwr: false }
    }

    #[test]
    fn gaps_and_duplicates_are_told_at_once() {
        let mut receiver = Receiver::new(2, false);
        let mut take = |first| receiver.on_data(Span::ZERO, &data(first));
        let told = |answer: Option<Answer>| answer.map(|answer| (answer.ack, answer.sacks));
        assert_eq!(told(take(1)), None);
        assert_eq!(told(take(1001)), Some((2001, vec![])));
        assert_eq!(told(take(3001)), Some((2001, vec![(3001, 4001)])));
        assert_eq!(told(take(5001)), Some((2001, vec![(5001, 6001), (3001, 4001)])));
        assert_eq!(told(take(3001)), Some((2001, vec![(3001, 4001), (3001, 4001), (5001, 6001)])));
        assert_eq!(told(take(2001)), Some((4001, vec![(5001, 6001)])));
        assert_eq!(told(take(4001)), Some((6001, vec![])));
        assert_eq!(told(take(1)), Some((6001, vec![(1, 1001)])));
        assert_eq!(told(take(6001)), None);
        assert_eq!(receiver.due(), Some(DELAY));
        assert_eq!(receiver.on_timer().ack, 7001);
    }

    #[test]
    fn marks_are_echoed_until_the_window_was_reduced() {
        let mut receiver = Receiver::new(1, true);
        let mut ece = |first, marked, cwr| {
            let answer = receiver.on_data(Span::ZERO, &Data { marked, cwr, ..data(first) });
            answer.is_some_and(|answer| answer.ece)
        };
        let told = [ece(1, false, false), ece(1001, true, false), ece(2001, false, false)];
        assert_eq!(told, [false, true, true]);
        assert!(!ece(3001, false, true));
    }

    #[test]
    fn the_echoed_timestamp_is_that_of_the_oldest_packet_without_acknowledgement() {
        let mut receiver = Receiver::new(2, true);
        let mut echo = |first, timestamp| {
            let answer = receiver.on_data(Span::ZERO, &Data { timestamp, ..data(first) });
            answer.map(|answer| answer.echo)
        };
        assert_eq!((echo(1, 5), echo(1001, 6)), (None, Some(5)));
        assert_eq!((echo(3001, 7), echo(2001, 8)), (Some(5), Some(8)));
    }
}

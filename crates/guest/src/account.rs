//! Counts the TCP segments that pass a host's device: bytes that arrive for the first time,
//! segments sent, segments retransmitted, and RTTs.

use std::collections::{BTreeMap, VecDeque};

use paceline_cc::{Span, Time};

use crate::frame::{Sack, Segment};
use crate::transfers::Transfers;

/// Most connections of a host that are followed; each on-period may be a connection.
const MOST_CONNECTIONS: usize = 65_536;
/// Most segments per connection whose sending times are kept for RTTs.
const MOST_SEGMENTS: usize = 1 << 20;

/// Returns the distance of a sequence number from the connection's first byte of data: of the
/// values that `sequence` may stand for, the one nearest to `expected`. `None` if it lies before
/// the first byte.
fn unwrap(first: u32, expected: u64, sequence: u32) -> Option<u64> {
    let ahead = sequence.wrapping_sub(first.wrapping_add(expected as u32)).cast_signed();
    expected.checked_add_signed(i64::from(ahead))
}

/// Data that arrives at a host.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Connections, by their ports at this host's peer and at this host.
    connections: BTreeMap<(u16, u16), Stream>,
    bytes: u64,
    /// End of the data that has arrived without a gap, each time that it has grown, if this is recorded.
    progress: Option<Vec<(u64, Time)>>,
}

/// Parts of a connection's data that have arrived.
#[derive(Debug)]
struct Stream {
    /// Sequence number of the first byte.
    first: u32,
    /// End of the data that has arrived without a gap.
    contiguous: u64,
    /// Start and end of each range that has arrived beyond the first gap.
    beyond: BTreeMap<u64, u64>,
}

impl Arrivals {
    /// Bytes of data that have arrived, each counted once.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records from now on when the end of the data without a gap grows.
    pub(crate) fn record_progress(&mut self) {
        self.progress = Some(Vec::new());
    }

    /// Returns the ends of the data without a gap, and when they were reached; empty if this is not recorded.
    pub(crate) fn progress(&self) -> &[(u64, Time)] {
        self.progress.as_deref().unwrap_or_default()
    }

    /// Counts a segment that arrives.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment) {
        let ports = (segment.from, segment.to);
        if segment.syn {
            let first = segment.sequence.wrapping_add(1);
            let is_again = self.connections.get(&ports).is_some_and(|it| it.first == first);
            if !is_again && self.connections.len() < MOST_CONNECTIONS {
                let stream = Stream { first, contiguous: 0, beyond: BTreeMap::new() };
                self.connections.insert(ports, stream);
            }
            return;
        }
        let Some(stream) = self.connections.get_mut(&ports) else { return };
        let Some(start) = unwrap(stream.first, stream.contiguous, segment.sequence) else { return };
        let before = stream.contiguous;
        self.bytes += stream.add(start, start + u64::from(segment.length));
        if let Some(progress) = &mut self.progress
            && stream.contiguous > before
        {
            progress.push((stream.contiguous, now));
        }
    }
}

impl Stream {
    /// Adds a range; returns the number of its bytes that are new.
    fn add(&mut self, start: u64, end: u64) -> u64 {
        let mut start = start.max(self.contiguous);
        if start >= end {
            return 0;
        }
        let mut new = end - start;
        let mut merged_end = end;
        // The last range that begins at or before `start`, if it touches `start`.
        if let Some((&before, &reaches)) = self.beyond.range(..=start).next_back()
            && reaches >= start
        {
            self.beyond.remove(&before);
            new -= reaches.min(end) - start;
            start = before;
            merged_end = merged_end.max(reaches);
        }
        while let Some((&next, &reaches)) = self.beyond.range(start..=merged_end).next() {
            self.beyond.remove(&next);
            if next < end {
                new -= reaches.min(end) - next;
            }
            merged_end = merged_end.max(reaches);
        }
        if start <= self.contiguous {
            self.contiguous = merged_end;
        } else {
            self.beyond.insert(start, merged_end);
        }
        new
    }
}

/// Data that a host sends.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    /// Connections, by their ports at this host and at its peer.
    connections: BTreeMap<(u16, u16), Sent>,
    /// Segments with data that were sent.
    pub(crate) segments: u64,
    /// Of these, segments with data that was sent before.
    pub(crate) repeated: u64,
    /// Transfers of a known size.
    pub(crate) transfers: Transfers,
    rtt: Option<Span>,
}

/// Data of a connection that was sent, and the times of sending.
#[derive(Debug)]
struct Sent {
    first: u32,
    /// End of the acknowledged data.
    acknowledged: u64,
    /// End of the data sent so far.
    end: u64,
    /// Segments that are not acknowledged, in order of their data.
    flying: VecDeque<Flying>,
}

#[derive(Debug)]
struct Flying {
    end: u64,
    sent: Time,
    /// Whether the segment gives no RTT (any more): it was retransmitted, or already acknowledged
    /// selectively.
    is_counted: bool,
}

impl Departures {
    /// Creates an account that also follows these transfers.
    pub(crate) fn of(transfers: Transfers) -> Departures {
        Departures { transfers, ..Departures::default() }
    }

    /// Returns the end of the data that was sent on its connection with the most data.
    pub(crate) fn sent_end(&self) -> u64 {
        self.connections.values().map(|sent| sent.end).max().unwrap_or(0)
    }

    /// Returns, once, the RTT of the newest segment that the latest acknowledgements have newly
    /// covered.
    pub(crate) fn take_rtt(&mut self) -> Option<Span> {
        self.rtt.take()
    }

    /// Counts a segment that the host sends.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment) {
        let ports = (segment.from, segment.to);
        if segment.syn {
            let first = segment.sequence.wrapping_add(1);
            let is_again = self.connections.get(&ports).is_some_and(|it| it.first == first);
            if !is_again && self.connections.len() < MOST_CONNECTIONS {
                let sent = Sent { first, acknowledged: 0, end: 0, flying: VecDeque::new() };
                self.connections.insert(ports, sent);
                self.transfers.on_connection(now, segment.from);
            }
            return;
        }
        if segment.length == 0 {
            return;
        }
        self.segments += 1;
        let Some(sent) = self.connections.get_mut(&ports) else { return };
        let Some(start) = unwrap(sent.first, sent.end, segment.sequence) else { return };
        let end = start + u64::from(segment.length);
        if start < sent.end {
            self.repeated += 1;
            // RFC 6298 §3 (Karn's algorithm): a retransmitted segment gives no RTT.
            let from = sent.flying.partition_point(|flying| flying.end <= start);
            let again = sent.flying.iter_mut().skip(from).take_while(|flying| flying.end <= end);
            again.for_each(|flying| flying.is_counted = true);
        }
        if end > sent.end {
            if sent.flying.len() < MOST_SEGMENTS {
                sent.flying.push_back(Flying { end, sent: now, is_counted: start < sent.end });
            }
            sent.end = end;
        }
        self.transfers.on_data(now, segment.from, end);
    }

    /// Processes an acknowledgement that arrives at the host.
    pub(crate) fn on_acknowledgement(&mut self, now: Time, segment: &Segment, sack: &Sack) {
        let Some(sent) = self.connections.get_mut(&(segment.to, segment.from)) else { return };
        let Some(number) = segment.acknowledgement else { return };
        let place = |number| unwrap(sent.first, sent.acknowledged, number);
        let mut newest: Option<Time> = None;
        let mut count = |flying: &mut Flying| {
            if !std::mem::replace(&mut flying.is_counted, true) {
                newest = newest.max(Some(flying.sent));
            }
        };
        for &(left, right) in sack.blocks() {
            let (Some(left), Some(right)) = (place(left), place(right)) else { continue };
            let from = sent.flying.partition_point(|flying| flying.end <= left);
            let covered =
                sent.flying.iter_mut().skip(from).take_while(|flying| flying.end <= right);
            covered.for_each(&mut count);
        }
        let Some(acknowledged) = place(number) else { return };
        while let Some(first) = sent.flying.front_mut()
            && first.end <= acknowledged
        {
            count(first);
            sent.flying.pop_front();
        }
        // An acknowledgement of the FIN is one higher than the end of the data.
        sent.acknowledged = sent.acknowledged.max(acknowledged.min(sent.end));
        self.transfers.on_acknowledged(now, segment.to, sent.acknowledged);
        self.rtt = newest.map(|sent| now.since(sent)).or(self.rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(sequence: u32, length: u32) -> Segment {
        Segment { sequence, acknowledgement: Some(1), length, syn: false, from: 7, to: 8 }
    }

    fn syn(sequence: u32) -> Segment {
        Segment { syn: true, acknowledgement: None, ..data(sequence, 0) }
    }

    fn ack(number: u32) -> Segment {
        Segment { acknowledgement: Some(number), from: 8, to: 7, ..data(1, 0) }
    }

    #[test]
    fn bytes_count_once() {
        let mut arrivals = Arrivals::default();
        // Data before a SYN is not counted; sequence numbers wrap around.
        arrivals.on_segment(Time::ZERO, &data(5, 100));
        let first = u32::MAX - 99;
        arrivals.on_segment(Time::ZERO, &syn(first - 1));
        let mut at = |offset: u32, length: u32| {
            arrivals.on_segment(Time::ZERO, &data(first.wrapping_add(offset), length));
            arrivals.bytes()
        };
        assert_eq!(at(0, 100), 100);
        assert_eq!(at(0, 100), 100);
        // Fills gaps in several ways.
        assert_eq!(at(200, 100), 200);
        assert_eq!(at(400, 100), 300);
        assert_eq!(at(150, 300), 500 - 50);
        assert_eq!(at(100, 50), 500);
        assert_eq!(at(50, 500), 550);
        assert_eq!(at(u32::MAX, 10), 550);
    }

    #[test]
    fn progress_is_that_of_data_without_a_gap() {
        let mut arrivals = Arrivals::default();
        arrivals.record_progress();
        arrivals.on_segment(Time::ZERO, &syn(99));
        for (time, sequence) in [(1, 100), (2, 300), (3, 300), (4, 200), (5, 400)] {
            arrivals.on_segment(Time::from_secs(time), &data(sequence, 100));
        }
        let reached = [(100, 1), (300, 4), (400, 5)];
        assert_eq!(arrivals.progress(), reached.map(|(end, at)| (end, Time::from_secs(at))));
    }

    /// Counts each byte once, whatever the order of a stream's pieces.
    #[test]
    fn any_order_counts_all() {
        let mut random = paceline_cc::Stream::new(3, "pieces");
        for _ in 0..200 {
            let mut arrivals = Arrivals::default();
            arrivals.on_segment(Time::ZERO, &syn(0));
            let mut seen = [false; 300];
            for _ in 0..60 {
                let start = (random.next_u64() % 280) as usize;
                let length = 1 + (random.next_u64() % 20) as usize;
                seen[start..start + length].fill(true);
                arrivals.on_segment(Time::ZERO, &data(1 + start as u32, length as u32));
                let distinct = seen.iter().filter(|seen| **seen).count() as u64;
                assert_eq!(arrivals.bytes(), distinct);
            }
        }
    }

    #[test]
    fn rtts_are_of_the_newest_segment_that_was_sent_once() {
        let ms = Time::from_millis;
        let mut sent = Departures::default();
        sent.on_segment(ms(0), &syn(99));
        for i in 0..5 {
            sent.on_segment(ms(10 * u64::from(i)), &data(100 + 10 * i, 10));
        }
        sent.on_acknowledgement(ms(100), &ack(110), &Sack::default());
        assert_eq!(sent.take_rtt(), Some(Span::from_millis(100)));
        assert_eq!(sent.take_rtt(), None);
        // The second segment is lost; the third and fourth arrive.
        sent.on_acknowledgement(ms(120), &ack(110), &Sack::of(&[(120, 130)]));
        assert_eq!(sent.take_rtt(), Some(Span::from_millis(100)));
        sent.on_acknowledgement(ms(130), &ack(110), &Sack::of(&[(120, 140)]));
        assert_eq!(sent.take_rtt(), Some(Span::from_millis(100)));
        // The retransmission gives no RTT, nor do the segments that were acknowledged selectively.
        sent.on_segment(ms(131), &data(110, 10));
        sent.on_acknowledgement(ms(231), &ack(140), &Sack::default());
        assert_eq!(sent.take_rtt(), None);
        sent.on_acknowledgement(ms(240), &ack(150), &Sack::default());
        assert_eq!(sent.take_rtt(), Some(Span::from_millis(200)));
        assert_eq!((sent.segments, sent.repeated), (6, 1));
    }
}

//! What is in flight, as a stack tells it.

use std::collections::VecDeque;

use paceline_cc::{Fate, RateSample, Span, Time};

/// Of more packets than so many, those are forgotten that were sent longer ago than this. A stack such as
/// quinn tells of packets that carry acknowledgements only when it sends them, and never again: an end that
/// only receives would fill memory with them.
const MANY: usize = 1024;
const LONG_AGO: Span = Span::from_secs(3);

/// A packet that was sent.
#[derive(Copy, Clone, Debug)]
struct Entry {
    sent: Time,
    size: u32,
    /// True until it is acknowledged, lost or forgotten.
    open: bool,
    /// True if the application, not the window, limited sending when it left.
    app_limited: bool,
    /// The controller's tag.
    tag: u64,
    /// Bytes delivered when it left, and when the last of these were.
    delivered: u64,
    delivered_at: Time,
    /// When the packet left that was acknowledged last when it left: the start of its send phase.
    first_sent: Time,
}

/// A packet of an acknowledgement or a loss.
#[derive(Copy, Clone, Debug)]
pub(crate) struct PacketOutcome {
    pub(crate) fate: Fate,
    /// Bytes delivered when the packet was sent.
    pub(crate) delivered: u64,
}

/// Packets in the order in which they were sent, with what delivery-rate samples need
/// (draft-cheng-iccrg-delivery-rate-estimation).
///
/// Packets are found by the time at which they were sent and their size, since not every stack tells
/// their numbers. Of several that are alike it does not matter which one is taken.
#[derive(Debug)]
pub(crate) struct Ledger {
    entries: VecDeque<Entry>,
    /// The number of the oldest entry.
    first: u64,
    /// Bytes delivered since the start, and when the last of them were.
    pub(crate) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples are limited by the application as long as `delivered` is less than this: one more than was
    /// delivered or in flight when the application last had nothing to send; zero before.
    app_limited_end: u64,
    /// The newest acknowledged packet since the last sample.
    newest: Option<Entry>,
}

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger {
            entries: VecDeque::new(),
            first: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited_end: 0,
            newest: None,
        }
    }

    /// The number that the next packet gets.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// A packet leaves. `resumed` tells that nothing is in flight.
    pub(crate) fn on_sent(&mut self, now: Time, size: u32, tag: u64, resumed: bool) {
        if resumed {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        // Stacks report sending in order; a clock that goes back must not break the search.
        let sent = self.entries.back().map_or(now, |last| last.sent.max(now));
        self.entries.push_back(Entry {
            sent,
            size,
            open: true,
            app_limited: self.is_app_limited(),
            tag,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        });
        if self.entries.len() > MANY {
            self.forget_before(sent - LONG_AGO);
        }
    }

    /// The application has nothing to send.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_end = self.delivered + in_flight + 1;
    }

    /// Returns true until more is delivered than was in flight when the application last had nothing to
    /// send (Linux `tcp_rate_gen`).
    pub(crate) fn is_app_limited(&self) -> bool {
        self.delivered < self.app_limited_end
    }

    /// A packet of `size` bytes that was sent at `sent` has been acknowledged. `None` if the ledger
    /// knows of none.
    pub(crate) fn on_acked(&mut self, now: Time, sent: Time, size: u32) -> Option<PacketOutcome> {
        self.delivered += u64::from(size);
        self.delivered_at = now;
        let from = self.entries.partition_point(|entry| entry.sent < sent);
        let alike = self.entries.range(from..).take_while(|entry| entry.sent == sent);
        let mut open = alike.enumerate().filter(|(_, entry)| entry.open).peekable();
        let any = open.peek()?.0;
        let at = from + open.find(|(_, entry)| entry.size == size).map_or(any, |(at, _)| at);
        let entry = self.entries.get_mut(at)?;
        entry.open = false;
        let (number, entry) = (self.first + at as u64, *entry);
        let newer = |old: &Entry| (entry.delivered, entry.sent) >= (old.delivered, old.sent);
        if self.newest.as_ref().is_none_or(newer) {
            self.first_sent = entry.sent;
            self.newest = Some(entry);
        }
        self.drop_settled();
        Some(PacketOutcome {
            fate: Fate::new(number, size, entry.sent, entry.tag, false),
            delivered: entry.delivered,
        })
    }

    /// When the newest packet in flight that was sent by `until` was sent, and its size.
    pub(crate) fn newest_open_until(&self, until: Time) -> Option<(Time, u32)> {
        let end = self.entries.partition_point(|entry| entry.sent <= until);
        let entry = self.entries.range(..end).rev().find(|entry| entry.open)?;
        Some((entry.sent, entry.size))
    }

    /// When the oldest packet in flight was sent, if by `until`, and its size.
    pub(crate) fn oldest_open_until(&self, until: Time) -> Option<(Time, u32)> {
        // Settled packets are dropped from the front, so that this looks at the first entry.
        let entry = self.entries.iter().find(|entry| entry.open)?;
        (entry.sent <= until).then_some((entry.sent, entry.size))
    }

    /// `bytes` have been declared lost, the newest of them sent at `newest`: the oldest ones in
    /// flight.
    pub(crate) fn on_lost(&mut self, newest: Time, bytes: u64, mut lost: impl FnMut(Fate)) {
        let mut left = bytes;
        for (at, entry) in self.entries.iter_mut().enumerate() {
            if left == 0 || entry.sent > newest {
                break;
            }
            if entry.open {
                entry.open = false;
                left = left.saturating_sub(u64::from(entry.size));
                let number = self.first + at as u64;
                lost(Fate::new(number, entry.size, entry.sent, entry.tag, true));
            }
        }
        self.drop_settled();
    }

    /// Forgets packets that were sent before `time`: such as carry acknowledgements only, of which
    /// stacks tell nothing more.
    pub(crate) fn forget_before(&mut self, time: Time) {
        while self.entries.front().is_some_and(|entry| entry.sent < time) {
            self.entries.pop_front();
            self.first += 1;
        }
        self.drop_settled();
    }

    fn drop_settled(&mut self) {
        while self.entries.front().is_some_and(|entry| !entry.open) {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Ends an acknowledgement: the delivery rate that its newest packet shows. Intervals shorter
    /// than the smallest RTT are artefacts of acknowledgements that came together, and give none.
    pub(crate) fn take_sample(&mut self, min_rtt: Span) -> Option<RateSample> {
        let newest = self.newest.take()?;
        let send_phase = newest.sent.since(newest.first_sent);
        let ack_phase = self.delivered_at.since(newest.delivered_at);
        let interval = send_phase.max(ack_phase);
        if interval < min_rtt || interval.is_zero() {
            return None;
        }
        let delivered = self.delivered - newest.delivered;
        let mut sample = RateSample::new(delivered, interval, newest.delivered);
        sample.app_limited = newest.app_limited;
        Some(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn packets_are_found_by_time_and_size() {
        let mut ledger = Ledger::new();
        ledger.on_sent(at(1), 1200, 10, true);
        ledger.on_sent(at(1), 500, 11, false);
        ledger.on_sent(at(2), 1200, 12, false);
        let number = |settled: Option<PacketOutcome>| settled.map(|s| (s.fate.number, s.fate.tag));
        assert_eq!(number(ledger.on_acked(at(9), at(1), 500)), Some((1, 11)));
        // A size that nobody has sent is taken for any packet of that time.
        assert_eq!(number(ledger.on_acked(at(9), at(1), 777)), Some((0, 10)));
        assert_eq!(number(ledger.on_acked(at(9), at(1), 1200)), None);
        assert_eq!(number(ledger.on_acked(at(9), at(2), 1200)), Some((2, 12)));
        assert_eq!((ledger.entries.len(), ledger.next()), (0, 3));
    }

    #[test]
    fn the_oldest_packets_are_lost_first_and_no_newer_ones() {
        let mut ledger = Ledger::new();
        for millis in 0..5 {
            ledger.on_sent(at(millis), 1000, 0, millis == 0);
        }
        ledger.on_acked(at(9), at(1), 1000);
        let mut lost = Vec::new();
        ledger.on_lost(at(3), 2000, |fate| lost.push(fate.number));
        assert_eq!(lost, [0, 2]);
        ledger.on_lost(at(3), 5000, |fate| lost.push(fate.number));
        assert_eq!(lost, [0, 2, 3]);
        assert_eq!(ledger.entries.len(), 1);
    }

    #[test]
    fn packets_in_flight_are_found_from_both_ends() {
        let mut ledger = Ledger::new();
        for millis in 0..4 {
            ledger.on_sent(at(millis), 1000 + millis as u32, 0, millis == 0);
        }
        assert_eq!(ledger.newest_open_until(at(2)), Some((at(2), 1002)));
        ledger.on_acked(at(9), at(2), 1002);
        assert_eq!(ledger.newest_open_until(at(2)), Some((at(1), 1001)));
        assert_eq!(ledger.oldest_open_until(at(2)), Some((at(0), 1000)));
        ledger.on_acked(at(9), at(0), 1000);
        assert_eq!(ledger.oldest_open_until(at(0)), None);
    }

    #[test]
    fn a_steady_flow_shows_its_rate() {
        // A packet of 1000 bytes each millisecond, acknowledged 10 ms later: 8 Mbit/s.
        let mut ledger = Ledger::new();
        let mut last = None;
        for millis in 0..100 {
            ledger.on_sent(at(millis), 1000, 0, millis == 0);
            if millis >= 10 {
                ledger.on_acked(at(millis), at(millis - 10), 1000);
                last = ledger.take_sample(Span::from_millis(10)).or(last);
            }
        }
        let sample = last.expect("a sample");
        assert_eq!(sample.rate.as_bps(), 8_000_000);
        assert!(!sample.app_limited);
    }

    /// The whole first flight after a pause gives limited samples, and the next one does not (s2n
    /// `bandwidth/estimator` app_limited; quiche `bandwidth_sampler_test` AppLimited).
    #[test]
    fn the_first_flight_after_a_pause_is_limited_by_the_application() {
        let mut ledger = Ledger::new();
        let limited = |ledger: &mut Ledger, now, sent| {
            ledger.on_acked(at(now), at(sent), 1000);
            ledger.take_sample(Span::from_millis(10)).expect("a sample").app_limited
        };
        ledger.on_sent(at(0), 1000, 0, true);
        assert!(!limited(&mut ledger, 10, 0));
        ledger.on_app_limited(0);
        ledger.on_sent(at(100), 1000, 0, true);
        ledger.on_sent(at(101), 1000, 0, false);
        assert!(limited(&mut ledger, 110, 100));
        ledger.on_sent(at(110), 1000, 0, false);
        assert!(limited(&mut ledger, 111, 101));
        assert!(!limited(&mut ledger, 120, 110));
    }

    #[test]
    fn packets_without_acknowledgement_are_forgotten() {
        let mut ledger = Ledger::new();
        for millis in 0..10 {
            ledger.on_sent(at(millis), 40, 0, false);
        }
        ledger.forget_before(at(8));
        assert_eq!((ledger.entries.len(), ledger.next()), (2, 10));
    }

    #[test]
    fn an_end_that_only_receives_does_not_fill_memory() {
        let mut ledger = Ledger::new();
        for millis in 0..100_000 {
            ledger.on_sent(at(millis), 40, 0, false);
        }
        assert_eq!((ledger.entries.len(), ledger.next()), (3001, 100_000));
        // What was sent lately is still known.
        assert!(ledger.on_acked(at(100_001), at(99_999), 40).is_some());
    }
}

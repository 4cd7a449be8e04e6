//! Packets in flight, from a stack's reports.

use std::collections::VecDeque;

use paceline_cc::{Fate, RateSample, Span, Time};

/// Number of packets sent since the last acknowledgement above which packets older than
/// [`UNANSWERED_AGE`] are forgotten. A stack such as quinn reports packets that carry only
/// acknowledgements when it sends them and never again, so an end that only receives would fill its
/// memory with them. A sender whose path is silent sends a window at most, and then only probes.
const UNANSWERED_PACKETS: usize = 1024;
const UNANSWERED_AGE: Span = Span::from_secs(3);

/// A packet that was sent.
#[derive(Copy, Clone, Debug)]
struct Entry {
    sent: Time,
    size: u32,
    /// Whether it is neither acknowledged nor lost nor forgotten.
    open: bool,
    /// Whether the application, not the window, limited sending when it left.
    app_limited: bool,
    /// Tag from the controller.
    tag: u64,
    /// Bytes delivered when it left, and the time of their last delivery.
    delivered: u64,
    delivered_at: Time,
    /// Time at which the packet left that had been acknowledged last when this one left: the start
    /// of its send phase.
    first_sent: Time,
}

/// A packet of an acknowledgement or a loss.
#[derive(Copy, Clone, Debug)]
pub(crate) struct PacketOutcome {
    pub(crate) fate: Fate,
    /// Bytes delivered when the packet was sent.
    pub(crate) delivered: u64,
}

/// Packets in the order of sending, with the data for delivery-rate samples
/// (draft-cheng-iccrg-delivery-rate-estimation).
///
/// Packets are found by their time of sending and their size, because not every stack reports their
/// numbers. Of several equal packets any one serves.
#[derive(Debug)]
pub(crate) struct Ledger {
    entries: VecDeque<Entry>,
    /// Number of the oldest entry.
    first: u64,
    /// Bytes delivered since the start, and the time of the last delivery.
    pub(crate) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples are limited by the application while `delivered` is below this: one more than the
    /// bytes delivered or in flight when the application last had no data to send; zero before
    /// that.
    app_limited_end: u64,
    /// The newest acknowledged packet since the last sample.
    newest: Option<Entry>,
    /// Number of packets sent since the last acknowledgement.
    unanswered: usize,
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
            unanswered: 0,
        }
    }

    /// Returns the number of the next packet.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Adds a packet that leaves. `resumed` says that nothing is in flight.
    pub(crate) fn on_sent(&mut self, now: Time, size: u32, tag: u64, resumed: bool) {
        if resumed {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        // Stacks report packets in the order of sending; a clock that steps back must not break the
        // search.
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
        self.unanswered += 1;
        if self.unanswered > UNANSWERED_PACKETS {
            self.forget_before(sent - UNANSWERED_AGE);
        }
    }

    /// Records that the application has no data to send.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_end = self.delivered + in_flight + 1;
    }

    /// True until more is delivered than was in flight when the application last had no data to
    /// send (Linux `tcp_rate_gen`).
    pub(crate) fn is_app_limited(&self) -> bool {
        self.delivered < self.app_limited_end
    }

    /// Removes a packet of `size` bytes, sent at `sent`, that was acknowledged. `None` if the
    /// ledger does not have it.
    pub(crate) fn on_acked(&mut self, now: Time, sent: Time, size: u32) -> Option<PacketOutcome> {
        self.delivered += u64::from(size);
        self.delivered_at = now;
        self.unanswered = 0;
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

    /// Returns the time of sending and the size of the newest packet in flight that was sent by
    /// `until`.
    pub(crate) fn newest_open_until(&self, until: Time) -> Option<(Time, u32)> {
        let end = self.entries.partition_point(|entry| entry.sent <= until);
        let entry = self.entries.range(..end).rev().find(|entry| entry.open)?;
        Some((entry.sent, entry.size))
    }

    /// Returns the time of sending and the size of the oldest packet in flight, if it was sent by
    /// `until`.
    pub(crate) fn oldest_open_until(&self, until: Time) -> Option<(Time, u32)> {
        // Settled packets are removed from the front, so this finds the first entry.
        let entry = self.entries.iter().find(|entry| entry.open)?;
        (entry.sent <= until).then_some((entry.sent, entry.size))
    }

    /// Removes packets of `bytes`, which were declared lost; the newest of them was sent at
    /// `newest`. This is the packet sent at that time if it has this size, because some stacks report
    /// each lost packet. Otherwise these are the oldest packets in flight.
    pub(crate) fn on_lost(&mut self, newest: Time, bytes: u64, mut lost: impl FnMut(Fate)) {
        let from = self.entries.partition_point(|entry| entry.sent < newest);
        let exact = (from..self.entries.len())
            .take_while(|at| self.entries[*at].sent == newest)
            .find(|at| self.entries[*at].open && u64::from(self.entries[*at].size) == bytes);
        if let Some(at) = exact {
            let (number, entry) = (self.first + at as u64, &mut self.entries[at]);
            entry.open = false;
            lost(Fate::new(number, entry.size, entry.sent, entry.tag, true));
            self.drop_settled();
            return;
        }
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

    /// Removes the oldest packet in flight with `bytes`, which will be neither acknowledged nor
    /// declared lost. Does nothing if there is none.
    pub(crate) fn on_discarded(&mut self, bytes: u64) {
        let has_size = |entry: &&mut Entry| entry.open && u64::from(entry.size) == bytes;
        if let Some(entry) = self.entries.iter_mut().find(has_size) {
            entry.open = false;
            self.drop_settled();
        }
    }

    /// Forgets packets that were sent before `time`, such as packets with acknowledgements only, of
    /// which stacks report nothing more.
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

    /// Ends an acknowledgement. Returns the delivery rate that its newest packet shows. Intervals
    /// shorter than the minimum RTT come from aggregated acknowledgements, and give no sample.
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
        // A size that no packet has matches any packet of that time.
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
    fn a_packet_that_a_report_names_is_the_lost_one() {
        let mut ledger = Ledger::new();
        for millis in 0..5 {
            ledger.on_sent(at(millis), 1000, 0, millis == 0);
        }
        ledger.on_sent(at(4), 700, 0, false);
        let mut lost = Vec::new();
        let mut report =
            |newest, bytes| ledger.on_lost(newest, bytes, |fate| lost.push(fate.number));
        report(at(2), 1000);
        report(at(4), 700);
        // Two packets, and a packet that is lost already.
        report(at(3), 2000);
        report(at(4), 700);
        assert_eq!(lost, [2, 5, 0, 1, 3]);
    }

    #[test]
    fn a_discarded_packet_is_not_in_flight() {
        let mut ledger = Ledger::new();
        for (millis, size) in [(0, 1000), (1, 1200), (2, 1000)] {
            ledger.on_sent(at(millis), size, 0, millis == 0);
        }
        ledger.on_discarded(1200);
        ledger.on_discarded(1200);
        assert_eq!(ledger.oldest_open_until(at(9)), Some((at(0), 1000)));
        ledger.on_discarded(1000);
        assert_eq!(ledger.oldest_open_until(at(9)), Some((at(2), 1000)));
        assert_eq!((ledger.entries.len(), ledger.delivered), (1, 0));
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
        // A packet of 1000 bytes every millisecond, acknowledged 10 ms later: 8 Mbit/s.
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

    /// The whole first flight after a pause gives application-limited samples, and the next flight
    /// does not (s2n `bandwidth/estimator` app_limited; quiche `bandwidth_sampler_test`
    /// AppLimited).
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

    /// A path that is silent for longer than [`UNANSWERED_AGE`], with more than
    /// [`UNANSWERED_PACKETS`] in flight and probes every second.
    #[test]
    fn a_silent_path_keeps_its_packets() {
        let mut ledger = Ledger::new();
        for millis in 0..1500 {
            ledger.on_sent(at(millis), 1200, 0, millis == 0);
            if millis >= 1000 {
                ledger.on_acked(at(millis), at(millis - 1000), 1200);
            }
        }
        for second in 3..20 {
            ledger.on_sent(at(1000 * second), 1200, 0, false);
        }
        let mut lost = 0;
        ledger.on_lost(at(1499), 1000 * 1200, |_| lost += 1);
        assert_eq!(lost, 1000);
    }

    #[test]
    fn an_end_that_only_receives_does_not_fill_memory() {
        let mut ledger = Ledger::new();
        for millis in 0..100_000 {
            ledger.on_sent(at(millis), 40, 0, false);
        }
        assert_eq!((ledger.entries.len(), ledger.next()), (3001, 100_000));
        // A packet sent recently is still in the ledger.
        assert!(ledger.on_acked(at(100_001), at(99_999), 40).is_some());
    }
}

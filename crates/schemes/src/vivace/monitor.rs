//! Monitor intervals: the fates of the packets sent at one rate.
//!
//! A packet counts once, with the fate that becomes known first: a packet that was declared lost
//! and is acknowledged after all stays lost, as its interval may have been judged by then. So an
//! interval never has more fates than packets.

use std::collections::VecDeque;

use paceline_cc::{Fate, Feedback, Span, Time};

/// Largest number of intervals that wait for results. More would wait only if no acknowledgement
/// arrives at all.
const MOST: usize = 256;
const INDEX_BITS: u32 = 20;
const INDEX_MAX: u64 = (1 << INDEX_BITS) - 1;

/// One interval.
#[derive(Copy, Clone, Debug)]
pub(super) struct Interval {
    pub(super) number: u64,
    /// When its first packet was sent; [`Time::NEVER`] before.
    pub(super) start: Time,
    /// When the first packet of the next interval was sent.
    end: Time,
    pub(super) sent: u32,
    sent_bytes: u64,
    acked: u32,
    lost: u32,
    /// Packets not counted because they are at the beginning.
    skipped: u32,
    /// Smoothed RTT and time when the first and the last counted packet was acknowledged.
    first: Option<(Span, Time)>,
    last: Option<(Span, Time)>,
    line: LeastSquares,
}

/// A least-squares line through RTTs over send times, both in seconds.
#[derive(Copy, Clone, Debug, Default)]
struct LeastSquares {
    n: f64,
    t: f64,
    r: f64,
    tt: f64,
    tr: f64,
}

impl LeastSquares {
    fn add(&mut self, t: f64, r: f64) {
        self.n += 1.0;
        self.t += t;
        self.r += r;
        self.tt += t * t;
        self.tr += t * r;
    }
    /// Returns the slope; 0 unless two times differ.
    fn slope(&self) -> f64 {
        let spread = self.n * self.tt - self.t * self.t;
        if spread > 1e-18 { (self.n * self.tr - self.t * self.r) / spread } else { 0.0 }
    }
}

/// The results of an interval.
#[derive(Copy, Clone, Debug)]
pub(super) struct Summary {
    pub(super) number: u64,
    /// Number of packets with a known fate.
    pub(super) total: u32,
    /// Number of lost packets among these.
    pub(super) lost: u32,
    /// Sending rate in bits per second.
    pub(super) rate: f64,
    /// Time of sending in seconds.
    pub(super) seconds: f64,
    /// Slope of the RTT in seconds per second, by least squares over the send times.
    pub(super) gradient: f64,
    /// Change of the smoothed RTT from the first to the last acknowledgement, in seconds.
    pub(super) rtt_change: f64,
    /// Acknowledged bits per second; 0 if unknown.
    pub(super) delivered: f64,
    /// The smoothed RTT in seconds.
    pub(super) rtt: f64,
}

impl Summary {
    pub(super) fn loss(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.total.max(1))
    }
}

impl Interval {
    fn new(number: u64) -> Interval {
        Interval {
            number,
            start: Time::NEVER,
            end: Time::NEVER,
            sent: 0,
            sent_bytes: 0,
            acked: 0,
            lost: 0,
            skipped: 0,
            first: None,
            last: None,
            line: LeastSquares::default(),
        }
    }

    /// Returns the number of packets whose fate is known.
    pub(super) fn resolved(&self) -> u32 {
        self.acked + self.lost + self.skipped
    }

    fn summary(&self, mss: u32, rtt: Span) -> Summary {
        let seconds = self.end.since(self.start).as_secs_f64().max(1e-6);
        let (mut change, mut delivered) = (0.0, 0.0);
        if let (Some((early, from)), Some((late, to))) = (self.first, self.last) {
            change = late.as_secs_f64() - early.as_secs_f64();
            let length = to.since(from).as_secs_f64();
            if length > 0.0 {
                delivered = f64::from(self.acked) * f64::from(mss) * 8.0 / length;
            }
        }
        Summary {
            number: self.number,
            total: self.acked + self.lost,
            lost: self.lost,
            rate: self.sent_bytes as f64 * 8.0 / seconds,
            seconds,
            gradient: self.line.slope(),
            rtt_change: change,
            delivered,
            rtt: rtt.as_secs_f64().max(1e-6),
        }
    }
}

/// The intervals whose results are not known yet; the last one is still being sent.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    intervals: VecDeque<Interval>,
    /// Tags of the packets of these intervals that were declared lost, in ascending order.
    lost: VecDeque<u64>,
    mss: u32,
    /// Number of packets at each end of an interval that do not count.
    margin: u32,
}

impl Monitor {
    pub(super) fn new(mss: u32, margin: u32) -> Monitor {
        let mut intervals = VecDeque::with_capacity(MOST + 4);
        intervals.push_back(Interval::new(0));
        Monitor { intervals, lost: VecDeque::with_capacity(MOST), mss, margin }
    }

    /// Returns the interval being sent.
    pub(super) fn open(&self) -> &Interval {
        // There is always one.
        &self.intervals[self.intervals.len() - 1]
    }

    /// Notes a packet sent; returns its tag.
    pub(super) fn on_send(&mut self, now: Time, size: u32) -> u64 {
        let last = self.intervals.len() - 1;
        if self.intervals[last].start == Time::NEVER {
            self.intervals[last].start = now;
            if last > 0 {
                self.intervals[last - 1].end = now;
            }
        }
        let open = &mut self.intervals[last];
        let tag = open.number << INDEX_BITS | u64::from(open.sent).min(INDEX_MAX);
        open.sent += 1;
        open.sent_bytes += u64::from(size);
        tag
    }

    /// Ends the interval being sent, if it has any packet; returns the number of the next one.
    pub(super) fn close(&mut self) -> u64 {
        let number = self.open().number;
        if self.open().sent == 0 {
            return number;
        }
        self.intervals.push_back(Interval::new(number + 1));
        number + 1
    }

    /// Takes in the fate of a packet.
    pub(super) fn on_fate(&mut self, fate: &Fate, feedback: &Feedback<'_>) {
        let front = self.intervals[0].number;
        let Some(at) = (fate.tag >> INDEX_BITS).checked_sub(front) else { return };
        let margin = u64::from(self.margin);
        let Some(interval) = self.intervals.get_mut(at as usize) else { return };
        // Most packets are newer than all lost ones.
        let place = match self.lost.back() {
            Some(newest) if fate.tag <= *newest => self.lost.binary_search(&fate.tag),
            _ => Err(self.lost.len()),
        };
        match place {
            Ok(_) => return,
            // Indices saturate: packets with the largest index cannot be distinguished.
            Err(place) if fate.lost && fate.tag & INDEX_MAX < INDEX_MAX => {
                self.lost.insert(place, fate.tag);
            }
            Err(_) => {}
        }
        if fate.tag & INDEX_MAX < margin {
            interval.skipped += 1;
            return;
        }
        if fate.lost {
            interval.lost += 1;
            return;
        }
        interval.acked += 1;
        let seen = (feedback.srtt, feedback.now);
        interval.first.get_or_insert(seen);
        interval.last = Some(seen);
        // Only the newest packet's RTT is accurate; the others waited for the acknowledgement.
        if fate.received != Time::NEVER {
            let sent = fate.sent.since(interval.start).as_secs_f64();
            interval.line.add(sent, feedback.now.since(fate.sent).as_secs_f64());
        }
    }

    /// Removes and returns the oldest interval, if the fates of all its counted packets are known.
    pub(super) fn take(&mut self, rtt: Span) -> Option<Summary> {
        let oldest = self.intervals.front()?;
        if oldest.end == Time::NEVER {
            return None;
        }
        let waits = oldest.resolved() + self.margin < oldest.sent;
        if waits && self.intervals.len() <= MOST {
            return None;
        }
        let mut oldest = self.intervals.pop_front()?;
        while self.lost.front().is_some_and(|tag| tag >> INDEX_BITS <= oldest.number) {
            self.lost.pop_front();
        }
        if waits {
            // No fate of the other packets was reported for so long that they count as lost.
            oldest.lost = oldest.sent.saturating_sub(oldest.acked + oldest.skipped);
        }
        Some(oldest.summary(self.mss, rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Acks, MSS};

    fn fate(tag: u64, sent: Time, lost: bool) -> Fate {
        Fate::new(0, MSS, sent, tag, lost).with(|fate| fate.received = Time::from_secs(7777))
    }

    /// Returns the results of 20 packets, one per millisecond, whose RTTs rise by 0.2 ms each;
    /// every tenth is lost.
    fn run(margin: u32) -> Summary {
        let mut monitor = Monitor::new(MSS, margin);
        let at = |i: u64| Time::from_millis(1000 + i);
        let tags: Vec<u64> = (0..20).map(|i| monitor.on_send(at(i), MSS)).collect();
        assert_eq!(monitor.close(), 1);
        assert_eq!(monitor.close(), 1);
        monitor.on_send(at(20), MSS);
        let mut acks = Acks::new(Span::from_millis(100));
        for (i, tag) in tags.into_iter().enumerate() {
            assert!(monitor.take(acks.rtt).is_none() || margin > 0);
            acks.rtt = Span::from_micros(100_000 + 200 * i as u64);
            acks.now = at(i as u64) + acks.rtt;
            monitor.on_fate(&fate(tag, at(i as u64), i % 10 == 9), &acks.ack(1));
        }
        monitor.take(Span::from_millis(100)).expect("all is known")
    }

    #[test]
    fn an_interval_sums_up() {
        let summary = run(0);
        assert_eq!((summary.number, summary.total, summary.lost), (0, 20, 2));
        assert!((summary.rate - 12e6).abs() < 1.0, "{}", summary.rate);
        assert!((summary.gradient - 0.2).abs() < 1e-9, "{}", summary.gradient);
        assert!((summary.rtt_change - 0.0036).abs() < 1e-9, "{}", summary.rtt_change);
    }

    #[test]
    fn packets_at_the_margins_do_not_count() {
        let mut monitor = Monitor::new(MSS, 10);
        let now = Time::from_secs(1);
        let tags: Vec<u64> = (0..30).map(|_| monitor.on_send(now, MSS)).collect();
        monitor.close();
        monitor.on_send(Time::from_secs(2), MSS);
        let mut acks = Acks::new(Span::from_millis(100));
        for tag in &tags[..19] {
            monitor.on_fate(&fate(*tag, now, false), &acks.ack(1));
        }
        assert!(monitor.take(acks.rtt).is_none());
        monitor.on_fate(&fate(tags[19], now, false), &acks.ack(1));
        assert_eq!(monitor.take(acks.rtt).map(|summary| summary.total), Some(10));
    }

    /// Packets 0, 1 and 3 of four are declared lost; 0 and 3 are acknowledged after all.
    #[test]
    fn a_packet_counts_with_its_first_fate() {
        for margin in [0, 1] {
            let mut monitor = Monitor::new(MSS, margin);
            let now = Time::from_secs(1);
            let tags: Vec<u64> = (0..4).map(|_| monitor.on_send(now, MSS)).collect();
            monitor.close();
            monitor.on_send(Time::from_secs(2), MSS);
            let mut acks = Acks::new(Span::from_millis(100));
            for (packet, lost) in [(3, true), (0, true), (3, false), (0, false), (3, false)] {
                monitor.on_fate(&fate(tags[packet], now, lost), &acks.ack(1));
            }
            // The fates of two packets are known, however often they were reported.
            assert_eq!(monitor.open().number, 1);
            assert_eq!(monitor.intervals[0].resolved(), 2);
            assert!(monitor.take(acks.rtt).is_none());
            monitor.on_fate(&fate(tags[1], now, true), &acks.ack(1));
            monitor.on_fate(&fate(tags[2], now, false), &acks.ack(1));
            let summary = monitor.take(acks.rtt).expect("all is known");
            assert_eq!((summary.total, summary.lost), if margin == 0 { (4, 3) } else { (3, 2) });
            assert!(monitor.lost.is_empty());
        }
    }

    #[test]
    fn silence_ends_in_losses() {
        let mut monitor = Monitor::new(MSS, 0);
        for i in 0..MOST as u64 {
            monitor.on_send(Time::from_millis(i), MSS);
            monitor.close();
        }
        let oldest = monitor.take(Span::ZERO).expect("given up");
        assert_eq!((oldest.number, oldest.total, oldest.lost), (0, 1, 1));
        assert!(monitor.take(Span::ZERO).is_none());
    }
}

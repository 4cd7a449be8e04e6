//! A connection over time, for pages: what was sent, what arrived, how long it took.

use paceline_cc::{Span, Time};
use paceline_flow::Sender;
use serde::Serialize;

use paceline_measure::{Bin, Bins};

/// What the sending end saw over time; all lists have an entry for each bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SentSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// What was sent, IP and UDP headers included, in Mbit/s.
    pub sent_mbps: Vec<f64>,
    /// What was acknowledged, in Mbit/s.
    pub acked_mbps: Vec<f64>,
    /// The longest round-trip time in ms; NaN without any.
    pub rtt_ms: Vec<f64>,
    /// The window at the end of a bin, in packets; NaN if the scheme has none.
    pub window_packets: Vec<f64>,
    /// The most that was in flight, in packets.
    pub in_flight_packets: Vec<f64>,
    /// Packets that were declared lost.
    pub lost_packets: Vec<u64>,
}

/// What the receiving end saw over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReceivedSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// What arrived, IP and UDP headers included, in Mbit/s.
    pub throughput_mbps: Vec<f64>,
    /// The longest one-way delay, less the shortest of all, in ms; NaN without packets.
    pub queue_delay_ms: Vec<f64>,
}

#[derive(Copy, Clone, Default)]
struct SentBin {
    sent: u64,
    acked: u64,
    rtt: Option<Span>,
    cwnd: Option<u64>,
    in_flight: u64,
    lost: u64,
}

impl Bin for SentBin {
    fn merge(&mut self, next: SentBin) {
        self.sent += next.sent;
        self.acked += next.acked;
        self.rtt = self.rtt.max(next.rtt);
        self.cwnd = next.cwnd.or(self.cwnd);
        self.in_flight = self.in_flight.max(next.in_flight);
        self.lost += next.lost;
    }
}

/// The course of what this end sends. Time zero is where it begins.
pub(super) struct SentCourse {
    zero: Time,
    bins: Bins<SentBin>,
    /// What had been acknowledged, and lost, when the last bin was written.
    acked: u64,
    lost: u64,
    /// The latest event.
    last: Time,
}

/// The bins until `end`. A last one that is shorter than half of the others is left out: the rate of a
/// few milliseconds says nothing.
fn until<B: Bin>(bins: &Bins<B>, end: Time) -> (f64, Vec<(Time, Time, B)>) {
    let (length, mut list) = bins.until(end);
    if list.len() > 1 && list.last().is_some_and(|(from, to, _)| to.since(*from) * 2 < length) {
        list.pop();
    }
    (length.as_secs_f64(), list)
}

fn mbps(bytes: u64, from: Time, to: Time) -> f64 {
    bytes as f64 * 8e-6 / to.since(from).as_secs_f64()
}

impl SentCourse {
    pub(super) fn new(zero: Time) -> SentCourse {
        SentCourse { zero, bins: Bins::with_capacity(0), acked: 0, lost: 0, last: zero }
    }

    fn at(&mut self, now: Time) -> Option<&mut SentBin> {
        self.last = self.last.max(now);
        let since = Time::ZERO + now.since(self.zero);
        self.bins.at(since)
    }

    /// A packet of so many bytes on the wire has left.
    pub(super) fn on_sent(&mut self, now: Time, bytes: u64) {
        if let Some(bin) = self.at(now) {
            bin.sent += bytes;
        }
    }

    /// A round-trip time.
    pub(super) fn on_rtt(&mut self, now: Time, rtt: Span) {
        if let Some(bin) = self.at(now) {
            bin.rtt = bin.rtt.max(Some(rtt));
        }
    }

    /// The sender's account, after something has happened.
    pub(super) fn on_state(&mut self, now: Time, sender: &Sender) {
        let (acked, lost) = (sender.delivered(), sender.stats().lost);
        let (more, losses) = (acked.saturating_sub(self.acked), lost.saturating_sub(self.lost));
        (self.acked, self.lost) = (acked, lost);
        let cwnd = sender.plan().cwnd;
        let in_flight = sender.in_flight();
        if let Some(bin) = self.at(now) {
            bin.acked += more;
            bin.lost += losses;
            bin.in_flight = bin.in_flight.max(in_flight);
            // Schemes without a window have the largest number there is.
            bin.cwnd = Some(cwnd).filter(|cwnd| *cwnd < 1 << 40);
        }
    }

    /// The course until the latest event, in packets of so many bytes.
    pub(super) fn series(&self, mtu: u16) -> SentSeries {
        let packets = |bytes: u64| bytes as f64 / f64::from(mtu.max(1));
        let (bin_s, bins) = until(&self.bins, Time::ZERO + self.last.since(self.zero));
        let mut series = SentSeries { bin_s, ..SentSeries::default() };
        for (from, to, bin) in bins {
            series.sent_mbps.push(mbps(bin.sent, from, to));
            series.acked_mbps.push(mbps(bin.acked, from, to));
            series.rtt_ms.push(bin.rtt.map_or(f64::NAN, Span::as_millis_f64));
            series.window_packets.push(bin.cwnd.map_or(f64::NAN, packets));
            series.in_flight_packets.push(packets(bin.in_flight));
            series.lost_packets.push(bin.lost);
        }
        series
    }
}

#[derive(Copy, Clone, Default)]
struct ReceivedBin {
    bytes: u64,
    longest: Option<Span>,
}

impl Bin for ReceivedBin {
    fn merge(&mut self, next: ReceivedBin) {
        self.bytes += next.bytes;
        self.longest = self.longest.max(next.longest);
    }
}

/// The course of what arrives.
#[derive(Clone)]
pub(super) struct ReceivedCourse {
    zero: Time,
    bins: Bins<ReceivedBin>,
}

impl ReceivedCourse {
    pub(super) fn new(zero: Time) -> ReceivedCourse {
        ReceivedCourse { zero, bins: Bins::with_capacity(0) }
    }

    /// A packet of so many bytes on the wire has arrived, after `delay`.
    pub(super) fn on_packet(&mut self, now: Time, bytes: u32, delay: Span) {
        if let Some(bin) = self.bins.at(Time::ZERO + now.since(self.zero)) {
            bin.bytes += u64::from(bytes);
            bin.longest = bin.longest.max(Some(delay));
        }
    }

    /// The course until `end`, with delays less `least`.
    pub(super) fn series(&self, end: Time, least: Span) -> ReceivedSeries {
        let (bin_s, bins) = until(&self.bins, Time::ZERO + end.since(self.zero));
        let mut series = ReceivedSeries { bin_s, ..ReceivedSeries::default() };
        for (from, to, bin) in bins {
            series.throughput_mbps.push(mbps(bin.bytes, from, to));
            let delay = bin.longest.map(|delay| delay.as_millis_f64() - least.as_millis_f64());
            series.queue_delay_ms.push(delay.unwrap_or(f64::NAN));
        }
        series
    }
}

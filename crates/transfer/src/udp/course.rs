//! Time series of a connection, for pages: rates, RTTs and delays per bin.

use paceline_cc::{Span, Time};
use paceline_flow::Sender;
use serde::Serialize;

use paceline_measure::{Bin, Bins};

/// Time series of the sending end; each list has one entry per bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SentSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// Sent data in Mbit/s, with IP and UDP headers.
    pub sent_mbps: Vec<f64>,
    /// Acknowledged data in Mbit/s.
    pub acked_mbps: Vec<f64>,
    /// Maximum RTT in ms; NaN without samples.
    pub rtt_ms: Vec<f64>,
    /// cwnd at the end of a bin, in packets; NaN if the scheme has none.
    pub window_packets: Vec<f64>,
    /// Maximum of the packets in flight.
    pub in_flight_packets: Vec<f64>,
    /// Packets declared lost.
    pub lost_packets: Vec<u64>,
}

/// Time series of the receiving end; each list has one entry per bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReceivedSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// Arrived data in Mbit/s, with IP and UDP headers.
    pub throughput_mbps: Vec<f64>,
    /// Maximum one-way delay minus the minimum of the whole connection, in ms; NaN without packets.
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

/// Collects the time series of the sending end. Time zero is the start of the connection.
pub(super) struct SentCourse {
    zero: Time,
    bins: Bins<SentBin>,
    /// Counters of acknowledged and lost data at the previous event.
    acked: u64,
    lost: u64,
    /// Time of the latest event.
    last: Time,
}

/// Returns the bins until `end`. Omits a last bin that is shorter than half a bin, because its rate
/// would rest on a few milliseconds.
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

    /// Notes a sent packet of `bytes` bytes on the wire.
    pub(super) fn on_sent(&mut self, now: Time, bytes: u64) {
        if let Some(bin) = self.at(now) {
            bin.sent += bytes;
        }
    }

    /// Notes an RTT sample.
    pub(super) fn on_rtt(&mut self, now: Time, rtt: Span) {
        if let Some(bin) = self.at(now) {
            bin.rtt = bin.rtt.max(Some(rtt));
        }
    }

    /// Notes the sender's counters after an event.
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
            // A scheme without a window has a cwnd of at least 2^40.
            bin.cwnd = Some(cwnd).filter(|cwnd| *cwnd < 1 << 40);
        }
    }

    /// Returns the series until the latest event, in packets of `mtu` bytes.
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

/// Collects the time series of the receiving end.
#[derive(Clone)]
pub(super) struct ReceivedCourse {
    zero: Time,
    bins: Bins<ReceivedBin>,
}

impl ReceivedCourse {
    pub(super) fn new(zero: Time) -> ReceivedCourse {
        ReceivedCourse { zero, bins: Bins::with_capacity(0) }
    }

    /// Notes an arrived packet of `bytes` bytes on the wire, with its one-way delay.
    pub(super) fn on_packet(&mut self, now: Time, bytes: u32, delay: Span) {
        if let Some(bin) = self.bins.at(Time::ZERO + now.since(self.zero)) {
            bin.bytes += u64::from(bytes);
            bin.longest = bin.longest.max(Some(delay));
        }
    }

    /// Returns the series until `end`, with delays minus `least`.
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

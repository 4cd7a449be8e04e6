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

/// Returns the bins until `end`. Makes a last bin that is shorter than half a bin part of the one
/// before, because its rate would rest on a few milliseconds.
fn until<B: Bin>(bins: &Bins<B>, end: Time) -> (f64, Vec<(Time, Time, B)>) {
    let (length, mut list) = bins.until(end);
    if let [.., (_, until, before), (from, to, last)] = &mut list[..]
        && to.since(*from) * 2 < length
    {
        *until = *to;
        before.merge(*last);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_last_bin_is_part_of_the_one_before() {
        let ms = Time::from_millis;
        let mut sent = SentCourse::new(ms(0));
        for (at, rtt) in [(50, 5), (110, 42)] {
            sent.on_sent(ms(at), 1375);
            sent.on_rtt(ms(at), Span::from_millis(rtt));
        }
        let series = sent.series(1500);
        assert_eq!((series.bin_s, &series.rtt_ms[..]), (0.1, &[42.0][..]));
        // 2750 bytes in 110 ms.
        assert!((series.sent_mbps[0] - 0.2).abs() < 1e-9, "{:?}", series.sent_mbps);

        let mut received = ReceivedCourse::new(ms(0));
        received.on_packet(ms(50), 1375, Span::from_millis(20));
        received.on_packet(ms(110), 1375, Span::from_millis(60));
        let series = received.series(ms(110), Span::from_millis(20));
        assert_eq!(series.queue_delay_ms, [40.0]);
        assert!((series.throughput_mbps[0] - 0.2).abs() < 1e-9, "{:?}", series.throughput_mbps);
        // From half a bin on, the last bin is one of its own.
        assert_eq!(received.series(ms(150), Span::ZERO).queue_delay_ms.len(), 2);
    }

    #[test]
    fn the_bins_have_all_losses() {
        let counts = |at: u64, lost| {
            let mut bins = Bins::with_capacity(0);
            *bins.at(Time::from_millis(50)).expect("a bin") =
                SentBin { lost: 1, ..SentBin::default() };
            *bins.at(Time::from_millis(at)).expect("a bin") =
                SentBin { lost, ..SentBin::default() };
            let (_, list) = until(&bins, Time::from_millis(at));
            list.iter().map(|(_, _, bin)| bin.lost).collect::<Vec<_>>()
        };
        assert_eq!((counts(110, 7), counts(160, 7)), (vec![8], vec![1, 7]));
    }
}

//! Measurements of data packets at a connection's receiving end.

use paceline_cc::{Span, Time};
use paceline_flow::SenderStats;
use paceline_measure::{Age, Quantiles, Samples};
use serde::{Deserialize, Serialize};

use super::course::{ReceivedCourse, ReceivedSeries};

/// One-way delay that the first packet counts as, so that later packets can have shorter delays.
/// The two clocks are not synchronized: all delays are relative to the shortest one.
const FIRST: Span = Span::from_millis(50);

/// What a receiver reports to its sender at the end.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Data packets that arrived.
    pub packets: u64,
    /// Their bytes, with IP and UDP headers.
    pub bytes: u64,
    /// Bytes of packets whose data arrived for the first time.
    pub goodput: u64,
    /// Packets that arrived with the ECN mark CE.
    pub ce_packets: u64,
    /// Seconds from the first arrival to the last.
    pub duration_s: f64,
    /// One-way delays minus the shortest one.
    pub queue_delay_ms: Quantiles,
    /// The 95th percentile of the age of the newest packet, minus the shortest one-way delay.
    pub age_p95_ms: Option<f64>,
}

/// A sender's counters for a measurement, which it reports to the receiver.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SentSummary {
    /// Data packets that were sent.
    pub sent: u64,
    /// Data packets that retransmitted lost data.
    pub retransmits: u64,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// RTTs of acknowledgements.
    pub rtt_ms: Quantiles,
    /// The minimum RTT in milliseconds.
    pub least_rtt_ms: f64,
}

impl SentSummary {
    pub(super) fn new(stats: &SenderStats, rtts: &RttSamples) -> SentSummary {
        SentSummary {
            sent: stats.sent,
            retransmits: stats.retransmits,
            lost: stats.lost,
            timeouts: stats.timeouts,
            rtt_ms: rtts.samples.quantiles(),
            least_rtt_ms: rtts.least().as_millis_f64(),
        }
    }
}

/// RTT samples.
#[derive(Clone, Debug)]
pub(super) struct RttSamples {
    pub(super) samples: Samples,
    least: Span,
}

impl RttSamples {
    pub(super) fn new() -> RttSamples {
        RttSamples { samples: Samples::with_capacity(0), least: Span::MAX }
    }

    #[inline]
    pub(super) fn push(&mut self, rtt: Span) {
        self.samples.push(rtt);
        self.least = self.least.min(rtt);
    }

    /// Returns the minimum; zero without samples.
    pub(super) fn least(&self) -> Span {
        if self.least == Span::MAX { Span::ZERO } else { self.least }
    }
}

/// Measurements of arriving data packets.
pub(super) struct Arrivals {
    /// Difference of the clocks plus the first packet's delay, in nanoseconds.
    base: Option<i128>,
    least: Span,
    delays: Samples,
    age: Age,
    first: Time,
    last: Time,
    /// The measurements over time, if requested.
    course: Option<ReceivedCourse>,
}

impl Arrivals {
    /// Creates empty measurements; with `course`, they are also kept over time.
    pub(super) fn new(now: Time, course: bool) -> Arrivals {
        Arrivals {
            base: None,
            least: Span::MAX,
            delays: Samples::with_capacity(0),
            age: Age::new(now),
            first: now,
            last: now,
            course: course.then(|| ReceivedCourse::new(now)),
        }
    }

    #[inline]
    pub(super) fn on_packet(&mut self, now: Time, sent: Time, size: u32) {
        let difference = i128::from(now.as_nanos()) - i128::from(sent.as_nanos());
        if self.base.is_none() {
            (self.base, self.first) = (Some(difference), now);
            self.age = Age::new(now);
            self.course = self.course.take().map(|_| ReceivedCourse::new(now));
        }
        let since = difference - self.base.unwrap_or(difference);
        let delay = (since + i128::from(FIRST.as_nanos())).max(0);
        let delay = Span::from_nanos(u64::try_from(delay).unwrap_or(u64::MAX));
        self.least = self.least.min(delay);
        self.delays.push(delay);
        // Pass the send time that corresponds to `delay` on this end's clock.
        self.age.on_arrival(now, Time::from_nanos(now.as_nanos().saturating_sub(delay.as_nanos())));
        self.last = now;
        if let Some(course) = &mut self.course {
            course.on_packet(now, size, delay);
        }
    }

    /// Returns the arrivals over time; empty if they were not requested.
    pub(super) fn series(&self) -> ReceivedSeries {
        let course = self.course.as_ref();
        course.map(|course| course.series(self.last, self.least)).unwrap_or_default()
    }

    pub(super) fn summary(&self, stats: paceline_flow::ReceiverStats) -> Summary {
        let least = if self.base.is_some() { self.least.as_millis_f64() } else { 0.0 };
        let age = self.age.quantile(self.last, 0.95);
        Summary {
            packets: stats.packets,
            bytes: stats.bytes,
            goodput: stats.goodput,
            ce_packets: stats.ce_packets,
            duration_s: self.last.since(self.first).as_secs_f64(),
            queue_delay_ms: self.delays.quantiles().later(-least),
            age_p95_ms: age.map(|age| age.as_millis_f64() - least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_told_from_the_shortest_whatever_the_clocks_show() {
        for offset in [0, 1_000_000_000_000] {
            let mut arrivals = Arrivals::new(Time::ZERO, true);
            for i in 0..1000u64 {
                let sent = Time::from_nanos(offset + i * 1_000_000);
                // Delays of 20 ms; every tenth packet has 30 ms, the first one too.
                let delay = if i % 10 == 0 { 30 } else { 20 };
                let now = Time::from_nanos(500_000_000_000 + (i + delay) * 1_000_000);
                arrivals.on_packet(now, sent, 1500);
            }
            let summary = arrivals.summary(paceline_flow::ReceiverStats::default());
            let Quantiles { mean, p50, p95, .. } = summary.queue_delay_ms;
            assert!((mean - 1.0).abs() < 0.1 && p50.abs() < 0.1, "{summary:?}");
            assert!((p95 - 10.0).abs() < 0.1, "{summary:?}");
            assert!(summary.age_p95_ms.is_some_and(|age| age < 12.0), "{summary:?}");
            let series = arrivals.series();
            assert_eq!(series.throughput_mbps.len(), 10, "{series:?}");
            assert!(series.queue_delay_ms.iter().all(|delay| (delay - 10.0).abs() < 0.1));
        }
    }
}

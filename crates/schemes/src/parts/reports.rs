//! When the sender hears of arrivals: in reports, as RTCP's transport feedback comes (libwebrtc
//! `transport_sequence_number_feedback_generator.cc`).
//!
//! Here each packet is acknowledged. The sender keeps what the acknowledgements say until the receiver
//! of a call would have sent a report, so that it decides as often as libwebrtc does, over sockets as
//! in the simulator.

use paceline_cc::{Span, Time};

/// Bits of a report, with the headers below (`kTwccReportSize`, 68 bytes).
const REPORT_BITS: f64 = 68.0 * 8.0;
/// Share of the receiver's own send rate that reports may use.
const REPORT_SHARE: f64 = 0.05;

/// Delays of the packets in a report.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Report {
    /// Time from the departure of the oldest packet to the report.
    pub(crate) rtt: Span,
    /// The shortest time from a packet's departure to the report, less its wait for the report.
    pub(crate) propagation: Span,
}

#[derive(Copy, Clone, Debug)]
struct Pending {
    due: Time,
    first_sent: Time,
    newest_received: Time,
    /// The shortest time between departure and arrival in nanoseconds, with the offset of the clocks.
    shortest: i128,
}

/// Times reports.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    interval: Span,
    last: Option<Time>,
    pending: Option<Pending>,
}

impl Reports {
    /// Reports of a receiver whose own sending rate is estimated at `estimate` bits per second come every `least` to
    /// `most`; with zero for both, a report for each acknowledgement.
    pub(crate) fn new(least: Span, most: Span, estimate: f64) -> Reports {
        let interval = Span::from_secs_f64(REPORT_BITS / (REPORT_SHARE * estimate.max(1.0)));
        Reports { interval: interval.max(least).min(most), last: None, pending: None }
    }

    /// The sender hears at `now` of a packet that has arrived.
    pub(crate) fn on_arrival(&mut self, now: Time, sent: Time, received: Time) {
        let transit = i128::from(received.as_nanos()) - i128::from(sent.as_nanos());
        if let Some(pending) = &mut self.pending {
            pending.first_sent = pending.first_sent.min(sent);
            pending.newest_received = pending.newest_received.max(received);
            pending.shortest = pending.shortest.min(transit);
            return;
        }
        let interval = self.interval;
        // The receiver's timer runs on while nothing arrives.
        let last = *self.last.get_or_insert(now);
        let due = if interval.is_zero() {
            now
        } else {
            let periods = now.since(last).as_nanos() / interval.as_nanos();
            last + interval * (periods + 1)
        };
        let pending =
            Pending { due, first_sent: sent, newest_received: received, shortest: transit };
        self.pending = Some(pending);
    }

    /// When the next report is due; never while nothing has arrived since the last one.
    pub(crate) fn due(&self) -> Time {
        self.pending.map_or(Time::NEVER, |pending| pending.due)
    }

    /// Takes the report that is due at `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<Report> {
        if self.due() > now {
            return None;
        }
        let pending = self.pending.take()?;
        self.last = Some(pending.due);
        // The offset of the clocks cancels: both times of arrival are the receiver's.
        let departed = i128::from(pending.newest_received.as_nanos()) - pending.shortest;
        let propagation = i128::from(now.as_nanos()) - departed;
        Some(Report {
            rtt: now.since(pending.first_sent),
            propagation: Span::from_nanos(u64::try_from(propagation.max(0)).unwrap_or(u64::MAX)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn due_times(least: u64, most: u64, estimate: f64) -> Vec<u64> {
        let mut reports = Reports::new(Span::from_millis(least), Span::from_millis(most), estimate);
        let mut times = Vec::new();
        for ms in (0..1000).step_by(5) {
            // Nothing arrives from 300 to 600 ms.
            if !(300..600).contains(&ms) {
                reports.on_arrival(at(ms), at(ms), at(ms));
            }
            if let Some(_report) = reports.take(at(ms)) {
                times.push(ms);
            }
        }
        times
    }

    #[test]
    fn reports_come_by_the_rate_and_on_time_after_a_pause() {
        // 544 bits are 5 % of 0.1 Mbit/s in 109 ms.
        let expected: Vec<u64> = (1..20).map(|index| 50 * index).collect();
        let without = |pause: std::ops::RangeInclusive<u64>| {
            expected.iter().copied().filter(|ms| !pause.contains(ms)).collect::<Vec<_>>()
        };
        assert_eq!(due_times(50, 250, 2e6), without(350..=600));
        assert_eq!(due_times(50, 250, 100e3).len(), 7);
        assert_eq!(due_times(50, 250, 10e3), [250, 500, 750]);
        assert_eq!(due_times(0, 0, 2e6).len(), 140);
    }

    #[test]
    fn the_clocks_offset_cancels() {
        let mut reports = Reports::new(Span::from_millis(50), Span::from_millis(250), 2e6);
        let offset = Span::from_secs(777);
        // 30 ms there, 20 ms back; the second packet waits 10 ms in a queue.
        reports.on_arrival(at(1050), at(1000), at(1030) + offset);
        reports.on_arrival(at(1070), at(1010), at(1050) + offset);
        assert!(reports.take(at(1099)).is_none());
        let report = reports.take(at(1100)).expect("due");
        assert_eq!(report.rtt, Span::from_millis(100));
        // The newest has arrived at 1050; the fastest one took 30 ms.
        assert_eq!(report.propagation, Span::from_millis(80));
    }
}

//! A link over time, in a bounded number of bins.

use paceline_cc::{Span, Time};
use paceline_measure::{Bin, MOST_BINS};
use paceline_path::Service;
use paceline_report::TimeSeries;

/// Delivered bytes and the longest delay of a bin.
#[derive(Copy, Clone, Debug, Default)]
struct LinkBin {
    bytes: u64,
    longest: Option<Span>,
}

impl Bin for LinkBin {
    fn merge(&mut self, next: LinkBin) {
        self.bytes += next.bytes;
        self.longest = self.longest.max(next.longest);
    }
}

/// Delivered bytes and the longest delay per bin; 64 kB per link.
#[derive(Clone, Debug)]
pub(super) struct LinkBins(paceline_measure::Bins<LinkBin>);

impl Default for LinkBins {
    fn default() -> LinkBins {
        LinkBins(paceline_measure::Bins::with_capacity(MOST_BINS))
    }
}

impl LinkBins {
    /// Notes that bytes departed at `time` after `delay`.
    #[inline]
    pub(super) fn push(&mut self, time: Time, bytes: u64, delay: Span) {
        if let Some(bin) = self.0.at(time) {
            bin.bytes += bytes;
            bin.longest = bin.longest.max(Some(delay));
        }
    }

    /// Returns the series until `end`, with the capacity of the link. The last bin may be shorter.
    pub(super) fn series(&self, service: &Service, end: Time) -> TimeSeries {
        let (length, bins) = self.0.until(end);
        let mut series = TimeSeries { bin_s: length.as_secs_f64(), ..TimeSeries::default() };
        for (from, to, LinkBin { bytes, longest }) in bins {
            let mbps = |bytes: u64| bytes as f64 * 8.0 / 1e6 / to.since(from).as_secs_f64();
            series.capacity_mbps.push(mbps(service.offered_in(from..to)));
            series.throughput_mbps.push(mbps(bytes));
            series.queue_delay_ms.push(longest.map_or(f64::NAN, Span::as_millis_f64));
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Rate;

    #[test]
    fn long_runs_have_longer_bins() {
        let mut bins = LinkBins::default();
        let hour = 3_600_000u64;
        for ms in (0..hour).step_by(10) {
            bins.push(Time::from_millis(ms), 15_000, Span::from_millis(ms / 1000));
        }
        let service = Service::constant(Rate::from_mbps(24.0));
        let series = bins.series(&service, Time::from_millis(hour));
        assert_eq!(series.bin_s, 1.6);
        assert_eq!(series.throughput_mbps.len(), 2250);
        assert!(series.throughput_mbps.iter().all(|mbps| (mbps - 12.0).abs() < 1e-9));
        assert!(series.capacity_mbps.iter().all(|mbps| (mbps - 24.0).abs() < 1e-9));
        assert_eq!(series.queue_delay_ms.last(), Some(&3599.0));
    }

    #[test]
    fn a_silent_end_is_shown() {
        let mut bins = LinkBins::default();
        bins.push(Time::from_millis(50), 12_500, Span::ZERO);
        let service = Service::constant(Rate::from_mbps(1.0));
        let series = bins.series(&service, Time::from_millis(250));
        assert_eq!(
            series.throughput_mbps.iter().map(|mbps| mbps.round()).collect::<Vec<_>>(),
            [1.0, 0.0, 0.0]
        );
        assert!((series.capacity_mbps[2] - 1.0).abs() < 1e-9);
        assert!(series.queue_delay_ms[1].is_nan());
    }
}

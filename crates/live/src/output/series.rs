//! A link over time, in bins whose number is bounded.

use paceline_cc::{Capacity as _, Span, Time};
use paceline_path::Service;
use paceline_report::TimeSeries;

/// The length of the first bins, and how many there may be before two become one: enough for any
/// plot, at 64 kB per link.
const SHORTEST: Span = Span::from_millis(100);
const MOST: usize = 4096;

/// Delivered bytes and the longest delay per bin.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    length: Span,
    bins: Vec<(u64, Option<Span>)>,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { length: SHORTEST, bins: Vec::with_capacity(MOST) }
    }
}

impl Bins {
    /// Bytes departed at `time` after `delay`.
    #[inline]
    pub(super) fn push(&mut self, time: Time, bytes: u64, delay: Span) {
        let mut at = self.place(time);
        while at >= MOST {
            self.merge();
            at = self.place(time);
        }
        if self.bins.len() <= at {
            self.bins.resize(at + 1, (0, None));
        }
        if let Some((sum, longest)) = self.bins.get_mut(at) {
            *sum += bytes;
            *longest = Some(longest.map_or(delay, |longest| longest.max(delay)));
        }
    }

    fn place(&self, time: Time) -> usize {
        (time.as_nanos() / self.length.as_nanos()) as usize
    }

    fn merge(&mut self) {
        let half = self.bins.len().div_ceil(2);
        for at in 0..half {
            let (mut bytes, mut longest) = self.bins[2 * at];
            if let Some((more, other)) = self.bins.get(2 * at + 1) {
                bytes += more;
                longest = longest.max(*other);
            }
            self.bins[at] = (bytes, longest);
        }
        self.bins.truncate(half);
        self.length = self.length * 2;
    }

    /// The series until `end`, with the capacity of the link. The last bin may be shorter.
    pub(super) fn series(&self, service: &Service, end: Time) -> TimeSeries {
        let mut bins = self.clone();
        while bins.place(end) > MOST {
            bins.merge();
        }
        let mut series = TimeSeries { bin_s: bins.length.as_secs_f64(), ..TimeSeries::default() };
        let count = end.as_nanos().div_ceil(bins.length.as_nanos());
        for at in 0..count {
            let from = Time::ZERO + bins.length * at;
            let to = (from + bins.length).min(end);
            let mbps = |bytes: u64| bytes as f64 * 8.0 / 1e6 / to.since(from).as_secs_f64();
            let (bytes, longest) = bins.bins.get(at as usize).copied().unwrap_or_default();
            series.capacity_mbps.push(mbps(service.offered(from, to)));
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
        let mut bins = Bins::default();
        let hour = 3_600_000u64;
        for ms in (0..hour).step_by(10) {
            bins.push(Time::from_millis(ms), 15_000, Span::from_millis(ms / 1000));
        }
        assert!(bins.bins.len() <= MOST && bins.bins.capacity() == MOST);
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
        let mut bins = Bins::default();
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

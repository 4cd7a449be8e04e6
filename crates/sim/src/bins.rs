//! A link's time series while it is being recorded.

use paceline_cc::{Capacity, Span, Time};

use crate::metrics::mbps;
use crate::outcome::LinkSeries;

/// Bytes delivered and the longest queueing delay, for each bin of a given length since time zero.
#[derive(Clone, Debug)]
pub struct LinkBins {
    bin: Span,
    bins: Vec<(u64, Option<Span>)>,
}

impl LinkBins {
    /// No departures yet; `bin` is the length of a bin.
    pub fn new(bin: Span) -> LinkBins {
        LinkBins { bin: bin.max(Span::from_nanos(1)), bins: Vec::new() }
    }

    /// Notes that so many bytes left the link at `at`, after they had spent `sojourn` there.
    pub fn on_departure(&mut self, at: Time, bytes: u64, sojourn: Span) {
        let index = (at.as_nanos() / self.bin.as_nanos()) as usize;
        if self.bins.len() <= index {
            self.bins.resize(index + 1, (0, None));
        }
        let (sum, longest) = &mut self.bins[index];
        *sum += bytes;
        *longest = Some(longest.map_or(sojourn, |longest| longest.max(sojourn)));
    }

    /// The series until `end`, beside what `link` offered meanwhile.
    pub fn series(&self, end: Time, link: &dyn Capacity) -> LinkSeries {
        let mut series = LinkSeries { bin_s: self.bin.as_secs_f64(), ..LinkSeries::default() };
        for at in 0..end.as_nanos().div_ceil(self.bin.as_nanos()) {
            let from = Time::ZERO + self.bin * at;
            let to = (from + self.bin).min(end);
            let (bytes, longest) = self.bins.get(at as usize).copied().unwrap_or_default();
            series.capacity_mbps.push(mbps(link.offered(from, to), to.since(from)));
            series.throughput_mbps.push(mbps(bytes, to.since(from)));
            series.queue_delay_ms.push(longest.map_or(f64::NAN, Span::as_millis_f64));
        }
        series
    }
}

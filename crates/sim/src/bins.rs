//! A link's time series while it is being recorded.

use std::ops::Range;

use paceline_cc::{Span, Time};
use paceline_path::Service;

use crate::metrics::mbps;
use crate::outcome::LinkSeries;

/// Returns the bins until `end`. The first begins at time zero, each includes its start and
/// excludes its end, and the last one ends at `end` even if it is then shorter than `bin`.
pub(crate) fn intervals(bin: Span, end: Time) -> impl Iterator<Item = Range<Time>> {
    (0..end.as_nanos().div_ceil(bin.as_nanos())).map(move |at| {
        let start = Time::ZERO + bin * at;
        start..(start + bin).min(end)
    })
}

/// Delivered bytes and maximum queueing delay of a link, per bin since time zero.
#[derive(Clone, Debug)]
pub struct LinkBins {
    bin: Span,
    bins: Vec<(u64, Option<Span>)>,
    /// The bin of the last departure, and its time.
    current: usize,
    open: Range<Time>,
}

impl LinkBins {
    /// Creates empty bins of length `bin`.
    pub fn new(bin: Span) -> LinkBins {
        LinkBins {
            bin: bin.max(Span::from_nanos(1)),
            bins: Vec::new(),
            current: 0,
            open: Time::ZERO..Time::ZERO,
        }
    }

    /// Notes that `bytes` bytes left the link at `at`, after a sojourn time of `sojourn`.
    #[inline]
    pub fn on_departure(&mut self, at: Time, bytes: u64, sojourn: Span) {
        if !self.open.contains(&at) {
            self.open_bin(at);
        }
        let (sum, longest) = &mut self.bins[self.current];
        *sum += bytes;
        *longest = (*longest).max(Some(sojourn));
    }

    /// Opens the bin in which `at` lies.
    #[cold]
    fn open_bin(&mut self, at: Time) {
        self.current = (at.as_nanos() / self.bin.as_nanos()) as usize;
        let start = Time::ZERO + self.bin * self.current as u64;
        self.open = start..start + self.bin;
        if self.bins.len() <= self.current {
            self.bins.resize(self.current + 1, (0, None));
        }
    }

    /// Returns the series until `end`, with the bytes that the link's `service` offered in each
    /// bin.
    pub fn series(&self, end: Time, service: &Service) -> LinkSeries {
        let mut series = LinkSeries { bin_s: self.bin.as_secs_f64(), ..LinkSeries::default() };
        for (at, bin) in intervals(self.bin, end).enumerate() {
            let length = bin.end.since(bin.start);
            let (bytes, longest) = self.bins.get(at).copied().unwrap_or_default();
            series.capacity_mbps.push(mbps(service.offered_in(bin), length));
            series.throughput_mbps.push(mbps(bytes, length));
            series.queue_delay_ms.push(longest.map_or(f64::NAN, Span::as_millis_f64));
        }
        series
    }
}

//! A link's time series while it is being recorded.

use std::ops::Range;

use paceline_cc::{Span, Time};
use paceline_path::Service;
use paceline_wifi::Turn;

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
    /// Bytes of a station's turns, and their time, per bin: a turn's bytes are spread evenly over its
    /// time.
    turns: Vec<(f64, Span)>,
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
            turns: Vec::new(),
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

    /// Adds a turn of a station.
    pub(crate) fn on_turn(&mut self, turn: &Turn) {
        let length = turn.end.since(turn.start).as_nanos();
        if length == 0 {
            return;
        }
        let bytes_per_nano = turn.bytes as f64 / length as f64;
        let mut from = turn.start;
        while from < turn.end {
            let at = (from.as_nanos() / self.bin.as_nanos()) as usize;
            let to = (Time::ZERO + self.bin * (at as u64 + 1)).min(turn.end);
            if self.turns.len() <= at {
                self.turns.resize(at + 1, (0.0, Span::ZERO));
            }
            let (bytes, busy) = &mut self.turns[at];
            *bytes += bytes_per_nano * to.since(from).as_nanos() as f64;
            *busy += to.since(from);
            from = to;
        }
    }

    /// Returns the series until `end`, with the bytes that the link's `service` offered in each
    /// bin.
    pub fn series(&self, end: Time, service: &Service) -> LinkSeries {
        self.series_with(end, |_, bin| {
            mbps(service.offered_in(bin.clone()), bin.end.since(bin.start))
        })
    }

    /// Returns the series of a station until `end`, with the rate that it carried in each bin while
    /// it had packets to send. `open` is the beginning of its present turn.
    pub(crate) fn station_series(&self, end: Time, open: Option<Time>) -> LinkSeries {
        self.series_with(end, |at, bin| {
            let (bytes, busy) = self.turns.get(at).copied().unwrap_or_default();
            let waits = open.map_or(Span::ZERO, |open| bin.end.since(open.max(bin.start)));
            let seconds = (busy + waits).as_secs_f64();
            if seconds == 0.0 {
                return f64::NAN;
            }
            // Deliveries count at their ends, so that a bin can have those of a turn that is mostly
            // in the bin before.
            let delivered = self.bins.get(at).map_or(0, |(delivered, _)| *delivered);
            (bytes * 8.0 / 1e6 / seconds).max(mbps(delivered, bin.end.since(bin.start)))
        })
    }

    fn series_with(
        &self,
        end: Time,
        capacity_mbps: impl Fn(usize, Range<Time>) -> f64,
    ) -> LinkSeries {
        let mut series = LinkSeries { bin_s: self.bin.as_secs_f64(), ..LinkSeries::default() };
        for (at, bin) in intervals(self.bin, end).enumerate() {
            let length = bin.end.since(bin.start);
            let (bytes, longest) = self.bins.get(at).copied().unwrap_or_default();
            series.capacity_mbps.push(capacity_mbps(at, bin));
            series.throughput_mbps.push(mbps(bytes, length));
            series.queue_delay_ms.push(longest.map_or(f64::NAN, Span::as_millis_f64));
        }
        series
    }
}

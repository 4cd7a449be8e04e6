//! Measured runs: the input of the views.

pub use paceline_measure::Quantiles;

use crate::inner::InnerValues;
use crate::table::Cell;

/// Quantities over time, in bins of equal length that start at time zero. NaN marks a bin without a
/// measurement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// Capacity of the link in each bin, in Mbit/s.
    pub capacity_mbps: Vec<f64>,
    /// Throughput in each bin, in Mbit/s.
    pub throughput_mbps: Vec<f64>,
    /// The largest (or the 95th percentile) queueing delay within each bin, in ms.
    pub queue_delay_ms: Vec<f64>,
    /// The congestion window in packets, if it is known.
    pub window_packets: Option<Vec<f64>>,
}

/// One of the runs behind a view of several runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunPoint {
    /// Number of the run, from 1 on.
    pub run: u32,
    /// Offset in the recording at which it began, in ms.
    pub start_ms: f64,
    /// Its seed.
    pub seed: u64,
    /// Throughput of all flows together, in Mbit/s.
    pub throughput_mbps: f64,
    /// Throughput over capacity, from 0 to 1.
    pub utilization: f64,
    /// 95th percentile of the queueing delay in ms.
    pub p95_ms: f64,
    /// Digest of all events.
    pub digest: String,
}

/// A lower and an upper value in each bin of a time series; NaN in a bin without values.
pub type Band = [Vec<f64>; 2];

/// The runs of a view that has their medians, and the ranges of 90 % of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunsView {
    /// The runs.
    pub points: Vec<RunPoint>,
    /// Range of the throughput in Mbit/s.
    pub throughput_mbps: [f64; 2],
    /// Range of the utilization, from 0 to 1.
    pub utilization: [f64; 2],
    /// Range of the 95th percentile of the queueing delay in ms.
    pub p95_ms: [f64; 2],
    /// Range of the throughput over time.
    pub throughput_band: Band,
    /// Range of the queueing delay over time.
    pub queue_delay_band: Band,
}

/// A figure of a table of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableFigure {
    /// Heading of its column. Figures of several runs with one heading stand in one column.
    pub heading: String,
    /// Explanation of the heading.
    pub explanation: String,
    /// The figure; NaN if it was not measured.
    pub value: f64,
    /// Range of 90 % of the runs, if the figure is a median of several.
    pub range: Option<[f64; 2]>,
    /// Number of decimals that are shown.
    pub decimals: usize,
}

impl TableFigure {
    /// A figure of one run.
    pub fn new(heading: &str, explanation: &str, value: f64, decimals: usize) -> TableFigure {
        let (heading, explanation) = (heading.into(), explanation.into());
        TableFigure { heading, explanation, value, range: None, decimals }
    }

    /// Gives the figure a range.
    pub fn with_range(self, range: Option<[f64; 2]>) -> TableFigure {
        TableFigure { range, ..self }
    }

    /// Returns the figure as a cell: its value, and its range if the ends differ.
    pub(crate) fn cell(&self) -> Cell {
        let number = Cell::number(self.value, self.decimals);
        match self.range {
            Some([low, high]) if low < high => number.with_range(low, high, self.decimals),
            _ => number,
        }
    }
}

/// Setting of a run in a sweep over round-trip times and buffers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunSetting {
    /// Name of the trace alone.
    pub trace: String,
    /// Round-trip propagation delay in ms.
    pub rtt_ms: f64,
    /// Round-trip propagation delay as written.
    pub rtt: String,
    /// Limit of the link's queue as written.
    pub buffer: String,
}

/// One scheme over one trace: a run, or the medians of several.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunView {
    /// Name of the trace for readers; in a sweep, of the trace with its RTT and buffer.
    pub trace: String,
    /// The parts of this name; `None` without a sweep.
    pub setting: Option<RunSetting>,
    /// Scheme as written on the command line: `abc`, `cubic+codel[target=50ms]`.
    pub scheme: String,
    /// The mean capacity of the link in Mbit/s.
    pub capacity_mbps: f64,
    /// Throughput of all flows together, in Mbit/s.
    pub throughput_mbps: f64,
    /// Throughput over capacity, from 0 to 1.
    pub utilization: f64,
    /// The queueing delay per packet in ms.
    pub queue_delay_ms: Quantiles,
    /// Figures that the table shows and charts do not.
    pub figures: Vec<TableFigure>,
    /// The run over time.
    pub series: TimeSeries,
    /// Inner values of the first flow's controller over time, in the bins of the series; of several runs, of run 1.
    pub state: InnerValues,
    /// Digest of all events, which identifies a run.
    pub digest: String,
    /// Note for readers: how the scheme was set, or why its figures are bad.
    pub note: Option<String>,
    /// Whether it is not a scheme but a bound on all schemes, which is shown but not compared.
    pub bound: bool,
    /// The runs, if the figures are medians of several.
    pub runs: Option<RunsView>,
}

/// Returns the distinct values of a key, in order of appearance.
pub(crate) fn distinct<'a>(
    runs: &'a [RunView],
    key: impl Fn(&'a RunView) -> &'a str,
) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for run in runs {
        let value = key(run);
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

//! What a caller measured: the input of the views.

/// The distribution of a quantity over packets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quantiles {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// Quantities over time, in bins of equal length that start at time zero. NaN means that nothing
/// was measured in a bin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// What the link could have carried in each bin, in Mbit/s.
    pub capacity_mbps: Vec<f64>,
    /// What arrived in each bin, in Mbit/s.
    pub throughput_mbps: Vec<f64>,
    /// The largest (or the 95th percentile) queueing delay within each bin, in ms.
    pub queue_delay_ms: Vec<f64>,
    /// The congestion window in packets, if it is known.
    pub window_packets: Option<Vec<f64>>,
}

/// One of the runs behind a view of several.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunPoint {
    /// Number of the run, from 1 on.
    pub run: u32,
    /// How much later in the recording it began, in ms.
    pub start_ms: f64,
    /// Its seed.
    pub seed: u64,
    /// What all flows received together, in Mbit/s.
    pub throughput_mbps: f64,
    /// Throughput over capacity, from 0 to 1.
    pub utilization: f64,
    /// 95th percentile of the queueing delay in ms.
    pub p95_ms: f64,
    /// The digest of all events.
    pub digest: String,
}

/// A lower and an upper value in each bin of a time series; NaN where there is none.
pub type Band = [Vec<f64>; 2];

/// Several runs, of which a view has the medians: the runs themselves, and ranges of 90 % of them.
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
    /// The throughput over time.
    pub throughput_band: Band,
    /// The queueing delay over time.
    pub queue_delay_band: Band,
}

/// One scheme over one trace: a run, or the medians of several.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunView {
    /// The trace, as the reader should see it.
    pub trace: String,
    /// The scheme, as written on the command line: `abc`, `cubic+codel[target=50ms]`.
    pub scheme: String,
    /// The mean capacity of the link in Mbit/s.
    pub capacity_mbps: f64,
    /// What all flows received together, in Mbit/s.
    pub throughput_mbps: f64,
    /// Throughput over capacity, from 0 to 1.
    pub utilization: f64,
    /// The queueing delay per packet in ms.
    pub queue_delay_ms: Quantiles,
    /// The part of the packets that were lost, from 0 to 1, if it was counted.
    pub loss: Option<f64>,
    /// How many packets were sent again, if it was counted.
    pub retransmits: Option<u64>,
    /// Jain's fairness index over the flows, when there are several.
    pub jain: Option<f64>,
    /// The run over time.
    pub series: TimeSeries,
    /// The digest of all events, by which a run is recognised.
    pub digest: String,
    /// What a reader should know of this run: how its scheme was set, or why it does badly.
    pub note: Option<String>,
    /// It is no scheme but a bound on all of them: shown, but not compared with.
    pub bound: bool,
    /// The runs, if the figures are medians of several.
    pub runs: Option<RunsView>,
}

/// The distinct values of a key, in order of appearance.
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

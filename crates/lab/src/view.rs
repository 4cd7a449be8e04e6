//! From rows of the table of `compare` to the charts of the report.

use paceline_report::{Quantiles, RunView, TimeSeries};
use paceline_sim::Names;

use crate::compare::{CompareRow, OMNISCIENT};

/// A scheme as labels have it: without the parameters that have their defaults anyway.
pub fn label(scheme: &str, names: &Names) -> String {
    let spec = names.check_scheme(scheme).map(|spec| names.without_defaults(&spec).to_string());
    spec.unwrap_or_else(|_| scheme.to_string())
}

/// A run as the charts want it.
pub fn view(row: &CompareRow, names: &Names) -> RunView {
    let delay = row.queue_delay_ms;
    let series = row.series.clone().unwrap_or_default();
    RunView {
        trace: row.trace.clone(),
        scheme: label(&row.scheme, names),
        capacity_mbps: row.capacity_mbps,
        throughput_mbps: row.throughput_mbps,
        utilization: row.utilization,
        queue_delay_ms: quantiles(delay),
        loss: None,
        retransmits: Some(row.retransmits),
        jain: (row.flows > 1).then_some(row.jain),
        series: TimeSeries {
            bin_s: series.bin_s,
            capacity_mbps: series.capacity_mbps,
            throughput_mbps: series.throughput_mbps,
            queue_delay_ms: series.queue_delay_ms,
            window_packets: None,
        },
        digest: row.digest.clone(),
        note: row.note.clone(),
        bound: row.scheme == OMNISCIENT,
    }
}

/// Quantiles as the charts want them.
pub fn quantiles(of: paceline_sim::metrics::Quantiles) -> Quantiles {
    let paceline_sim::metrics::Quantiles { mean, p50, p95, p99, max } = of;
    Quantiles { mean, p50, p95, p99, max }
}

//! Several runs as medians and ranges: rows of the tables, and ratios of schemes run by run.

use paceline_sim::metrics::Distribution;
use serde::Serialize;

pub use crate::columns::rows::SummaryRow;
use crate::compare::{CompareRow, OMNISCIENT};

/// One scheme compared with another one on one trace, run by run: runs with equal numbers have
/// equal starts and seeds.
#[derive(Clone, Debug, Serialize)]
pub struct RatioRow {
    /// Name of the trace.
    pub trace: String,
    /// Round-trip propagation delay; only in a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<String>,
    /// Limit of the link's queue; only in a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<String>,
    /// Scheme whose figures are divided.
    pub scheme: String,
    /// Scheme by whose figures they are divided.
    pub over: String,
    /// Number of pairs of runs.
    pub runs: usize,
    /// Ratio of the utilizations; `None` if all are zero.
    pub utilization: Option<Distribution>,
    /// Ratio of the throughputs.
    pub throughput_mbps: Option<Distribution>,
    /// Ratio of the queueing delays.
    pub queue_delay_ms: RatioP95,
}

/// Ratio of 95th percentiles.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct RatioP95 {
    /// Ratio of the 95th percentiles; `None` if all are zero.
    pub p95: Option<Distribution>,
}

/// Groups the rows by scheme, trace, RTT and buffer, in order of first appearance.
pub fn groups(rows: &[CompareRow]) -> Vec<Vec<&CompareRow>> {
    let mut groups: Vec<Vec<&CompareRow>> = Vec::new();
    for row in rows {
        // Rows of a group are neighbours, so search for the last group from the end.
        let same = |group: &&mut Vec<&CompareRow>| {
            let first = group[0];
            // A scheme that is named twice has two groups, each with one run 1.
            let is_new = group.iter().all(|known| known.run != row.run);
            first.is_on_link_of(row) && first.scheme == row.scheme && is_new
        };
        match groups.iter_mut().rev().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Returns a row for each scheme on each trace.
pub fn summary(rows: &[CompareRow]) -> Vec<SummaryRow> {
    groups(rows).iter().map(|runs| summary_row(runs)).collect()
}

/// Summarizes the runs of one scheme on one trace, of which there is at least one.
pub fn summary_row(runs: &[&CompareRow]) -> SummaryRow {
    SummaryRow::of(runs)
}

/// Returns, for each trace, the first scheme divided by each of the others, and each of the others
/// divided by the first. Leaves out the omniscient protocol.
pub fn ratios(rows: &[CompareRow]) -> Vec<RatioRow> {
    let mut groups = groups(rows);
    groups.retain(|group| group[0].scheme != OMNISCIENT);
    let mut all = Vec::new();
    while let Some(first) = groups.first().cloned() {
        let others = || groups.iter().skip(1).filter(|other| other[0].is_on_link_of(first[0]));
        all.extend(others().map(|other| ratio(&first, other)));
        all.extend(others().map(|other| ratio(other, &first)));
        groups.retain(|group| !group[0].is_on_link_of(first[0]));
    }
    all
}

/// Divides one scheme by another, run by run.
fn ratio(runs: &[&CompareRow], over: &[&CompareRow]) -> RatioRow {
    let pairs: Vec<(&CompareRow, &CompareRow)> = runs
        .iter()
        .filter_map(|run| Some((*run, *over.iter().find(|other| other.run == run.run)?)))
        .collect();
    let of = |figure: &dyn Fn(&CompareRow) -> f64| {
        // 0/0 and x/0 have no meaning; `Distribution::of` leaves them out.
        Distribution::of(pairs.iter().map(|(run, other)| figure(run) / figure(other)))
    };
    RatioRow {
        trace: runs[0].trace.clone(),
        rtt: runs[0].rtt.clone(),
        buffer: runs[0].buffer.clone(),
        scheme: runs[0].scheme.clone(),
        over: over[0].scheme.clone(),
        runs: pairs.len(),
        utilization: of(&|run| run.utilization),
        throughput_mbps: of(&|run| run.throughput_mbps),
        queue_delay_ms: RatioP95 { p95: of(&|run| run.queue_delay_ms.p95) },
    }
}

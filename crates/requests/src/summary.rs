//! Several runs as medians and ranges: rows of the tables, and ratios of schemes run by run.

use paceline_sim::metrics::{Distribution, P95, Quantiles};
use serde::Serialize;

use crate::compare::{CompareRow, OMNISCIENT};

/// Figures of a delay, each with its distribution over the runs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelayDistributions {
    /// Mean of each run.
    pub mean: Distribution,
    /// Median of each run.
    pub p50: Distribution,
    /// 95th percentile of each run.
    pub p95: Distribution,
    /// 99th percentile of each run.
    pub p99: Distribution,
}

/// The runs of one scheme on one trace.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryRow {
    /// Name of the trace.
    pub trace: String,
    /// The scheme as written.
    pub scheme: String,
    /// Number of runs.
    pub runs: usize,
    /// Whether there are several runs with one digest.
    pub equal: bool,
    /// Number of flows.
    pub flows: u32,
    /// Bytes that the link could deliver, as a rate.
    pub capacity_mbps: Distribution,
    /// Bytes that the link delivered, as a rate.
    pub throughput_mbps: Distribution,
    /// Delivered bytes divided by deliverable bytes.
    pub utilization: Distribution,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: Distribution,
    /// Delay of a packet from its arrival at the queue until it has left the link.
    pub queue_delay_ms: DelayDistributions,
    /// 95 % end-to-end delay; `None` if no packet arrived in any run.
    pub end_to_end_delay_ms: Option<P95Distribution>,
    /// 95 % self-inflicted delay; `None` if no run has one.
    pub self_inflicted_delay_ms: Option<P95Distribution>,
    /// Packets dropped by the link's queue.
    pub drops: Distribution,
    /// Packets marked by the link.
    pub marks: Distribution,
    /// Packets retransmitted.
    pub retransmits: Distribution,
    /// Jain's index of the flows' goodputs.
    pub jain: Distribution,
}

/// Distribution of a 95th percentile over the runs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct P95Distribution {
    /// 95th percentile in milliseconds.
    pub p95: Distribution,
}

/// One scheme compared with another one on one trace, run by run: runs with equal numbers have
/// equal starts and seeds.
#[derive(Clone, Debug, Serialize)]
pub struct RatioRow {
    /// Name of the trace.
    pub trace: String,
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

/// Groups the rows by scheme and trace, in order of first appearance.
pub fn groups(rows: &[CompareRow]) -> Vec<Vec<&CompareRow>> {
    let mut groups: Vec<Vec<&CompareRow>> = Vec::new();
    for row in rows {
        // Rows of a group are neighbours, so search for the last group from the end.
        let same = |group: &&mut Vec<&CompareRow>| {
            let first = group[0];
            // A scheme that is named twice has two groups, each with one run 1.
            let is_new = group.iter().all(|known| known.run != row.run);
            first.trace == row.trace && first.scheme == row.scheme && is_new
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
    let p95 = |figure: &dyn Fn(&CompareRow) -> Option<P95>| {
        let values = runs.iter().filter_map(|run| Some(figure(run)?.p95));
        Distribution::of(values).map(|p95| P95Distribution { p95 })
    };
    let first = runs[0];
    let same = |run: &&CompareRow| !run.digest.is_empty() && run.digest == first.digest;
    SummaryRow {
        trace: first.trace.clone(),
        scheme: first.scheme.clone(),
        runs: runs.len(),
        equal: runs.len() > 1 && runs.iter().all(same),
        flows: first.flows,
        capacity_mbps: over(runs, |run| run.capacity_mbps),
        throughput_mbps: over(runs, |run| run.throughput_mbps),
        utilization: over(runs, |run| run.utilization),
        goodput_mbps: over(runs, |run| run.goodput_mbps),
        queue_delay_ms: delays(runs, |run| run.queue_delay_ms),
        end_to_end_delay_ms: p95(&|run| run.end_to_end_delay_ms),
        self_inflicted_delay_ms: p95(&|run| run.self_inflicted_delay_ms),
        drops: over(runs, |run| run.drops as f64),
        marks: over(runs, |run| run.marks as f64),
        retransmits: over(runs, |run| run.retransmits as f64),
        jain: over(runs, |run| run.jain),
    }
}

/// Returns the distribution of a figure over runs; zeros if no run has a finite value.
pub(crate) fn over<T>(runs: &[&T], figure: impl Fn(&T) -> f64) -> Distribution {
    Distribution::of(runs.iter().map(|run| figure(run))).unwrap_or_default()
}

/// Returns the distributions of a delay's figures over runs.
pub(crate) fn delays<T>(runs: &[&T], of: impl Fn(&T) -> Quantiles) -> DelayDistributions {
    DelayDistributions {
        mean: over(runs, |run| of(run).mean),
        p50: over(runs, |run| of(run).p50),
        p95: over(runs, |run| of(run).p95),
        p99: over(runs, |run| of(run).p99),
    }
}

/// Returns, for each trace, the first scheme divided by each of the others, and each of the others
/// divided by the first. Leaves out the omniscient protocol.
pub fn ratios(rows: &[CompareRow]) -> Vec<RatioRow> {
    let mut groups = groups(rows);
    groups.retain(|group| group[0].scheme != OMNISCIENT);
    let mut all = Vec::new();
    while let Some(first) = groups.first().cloned() {
        let others = || groups.iter().skip(1).filter(|other| other[0].trace == first[0].trace);
        all.extend(others().map(|other| ratio(&first, other)));
        all.extend(others().map(|other| ratio(other, &first)));
        groups.retain(|group| group[0].trace != first[0].trace);
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
        scheme: runs[0].scheme.clone(),
        over: over[0].scheme.clone(),
        runs: pairs.len(),
        utilization: of(&|run| run.utilization),
        throughput_mbps: of(&|run| run.throughput_mbps),
        queue_delay_ms: RatioP95 { p95: of(&|run| run.queue_delay_ms.p95) },
    }
}

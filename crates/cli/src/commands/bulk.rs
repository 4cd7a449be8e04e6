//! `paceline send --bulk`: measurements like iperf3's, over one or several connections, in either
//! direction.

use clap::Args;
use paceline_cc::Span;
use paceline_sim::metrics::jain;
use paceline_transfer::udp::{
    ClientOptions, Delays, Interval, MOST_FLOWS, SentSeries, TransferResult, measure,
};
use serde::Serialize;

use crate::args;
use crate::output::{self, Error};
use crate::table::Grid;

/// Options of a measurement.
#[derive(Args)]
pub(super) struct BulkOptions {
    /// With --bulk: the receiver sends to this end. It has to be `paceline recv --measure`
    #[arg(short = 'R', long, requires = "bulk")]
    pub(super) reverse: bool,
    /// With --bulk: how many connections at once, each with a scheme of its own; 1 to 64
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, requires = "bulk",
        value_parser = clap::value_parser!(u8).range(1..=MOST_FLOWS as i64))]
    pub(super) parallel: u8,
    /// With --bulk: the time between two lines of figures on standard error while it runs; 0s for none
    #[arg(short, long, value_name = "TIME", default_value = "1s", requires = "bulk",
        value_parser = args::span)]
    pub(super) interval: Span,
}

/// One of several connections, with the fields of the row that contains it.
#[derive(Serialize)]
pub(super) struct FlowRow {
    duration_s: f64,
    throughput_mbps: f64,
    goodput_mbps: f64,
    queue_delay_ms: Delays,
    rtt_ms: Delays,
    retransmits: u64,
    timeouts: u64,
    packets: u64,
    sent: u64,
    lost: u64,
    marks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<SentSeries>,
}

impl FlowRow {
    fn new(finished: &TransferResult) -> FlowRow {
        let TransferResult { summary, sent, duration, rtt_ms, series, .. } = finished;
        let seconds = duration.as_secs_f64().max(1e-9);
        FlowRow {
            duration_s: seconds,
            throughput_mbps: summary.bytes as f64 * 8e-6 / seconds,
            goodput_mbps: summary.goodput as f64 * 8e-6 / seconds,
            queue_delay_ms: summary.queue_delay_ms,
            rtt_ms: *rtt_ms,
            retransmits: sent.retransmits,
            timeouts: sent.timeouts,
            packets: summary.packets,
            sent: sent.sent,
            lost: sent.lost,
            marks: summary.ce_packets,
            series: series.clone(),
        }
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let share = self.lost as f64 * 100.0 / self.sent.max(1) as f64;
        let mut cells = vec![name.to_string()];
        cells.extend([self.sent, self.packets, self.retransmits].map(|count| count.to_string()));
        cells.push(format!("{share:.2} %"));
        cells.extend([self.throughput_mbps, self.goodput_mbps].map(|rate| format!("{rate:.2}")));
        let delays =
            [self.rtt_ms.p50, self.rtt_ms.p95, self.queue_delay_ms.p50, self.queue_delay_ms.p95];
        cells.extend(delays.map(|delay| format!("{delay:.1}")));
        cells
    }
}

/// Returns the largest of several flows' delays; means are weighted by each flow's packets.
fn largest(all: &[(Delays, u64)]) -> Delays {
    let packets = all.iter().map(|(_, packets)| *packets).sum::<u64>().max(1) as f64;
    let most =
        |part: fn(&Delays) -> f64| all.iter().map(|(delays, _)| part(delays)).fold(0.0, f64::max);
    Delays {
        mean: all.iter().map(|(delays, count)| delays.mean * *count as f64).sum::<f64>() / packets,
        p50: most(|delays| delays.p50),
        p95: most(|delays| delays.p95),
        p99: most(|delays| delays.p99),
        max: most(|delays| delays.max),
    }
}

/// Sums a measurement's connections: adds counters and bytes, and takes the largest delays.
fn sum(all: &[TransferResult]) -> Option<TransferResult> {
    let (first, others) = all.split_first()?;
    let mut sum = first.clone();
    for one in others {
        sum.duration = sum.duration.max(one.duration);
        sum.least_rtt = sum.least_rtt.min(one.least_rtt);
        sum.mtu = sum.mtu.min(one.mtu);
        sum.acknowledged += one.acknowledged;
        let (to, from) = (&mut sum.sent, &one.sent);
        to.sent += from.sent;
        to.retransmits += from.retransmits;
        to.lost += from.lost;
        to.timeouts += from.timeouts;
        let (to, from) = (&mut sum.summary, &one.summary);
        to.packets += from.packets;
        to.bytes += from.bytes;
        to.goodput += from.goodput;
        to.ce_packets += from.ce_packets;
        to.duration_s = to.duration_s.max(from.duration_s);
        to.age_p95_ms = to.age_p95_ms.into_iter().chain(from.age_p95_ms).reduce(f64::max);
        if let (Some(to), Some(from)) = (&mut sum.video, &one.video) {
            to.made += from.made;
            to.skipped += from.skipped;
        }
        sum.unlogged = sum.unlogged.take().or_else(|| one.unlogged.clone());
    }
    if !others.is_empty() {
        sum.series = None;
        let weigh = |part: fn(&TransferResult) -> Delays| {
            largest(&all.iter().map(|one| (part(one), one.summary.packets)).collect::<Vec<_>>())
        };
        sum.rtt_ms = weigh(|one| one.rtt_ms);
        sum.summary.queue_delay_ms = weigh(|one| one.summary.queue_delay_ms);
    }
    Some(sum)
}

/// A measurement that is over.
pub(super) struct Measured {
    /// Result of each connection.
    pub(super) all: Vec<TransferResult>,
    /// Sum over all connections.
    pub(super) sum: TransferResult,
}

impl Measured {
    pub(super) fn rows(&self) -> Vec<FlowRow> {
        self.all.iter().map(FlowRow::new).collect()
    }

    /// Returns Jain's index of the goodputs.
    pub(super) fn jain(&self) -> f64 {
        let rates: Vec<f64> = self.all.iter().map(|one| one.summary.goodput as f64).collect();
        jain(&rates)
    }

    /// Returns both ends' counts and measurements as a table.
    pub(super) fn table(&self, scheme: &str, reverse: bool) -> String {
        let rows = self.rows();
        let headings = [
            "flow",
            "sent",
            "arrived",
            "sent again",
            "lost",
            "Mbit/s",
            "goodput",
            "RTT p50",
            "p95",
            "queues p50",
            "p95",
        ];
        let mut grid = Grid::numbers(&headings);
        for (number, row) in (1..).zip(&rows) {
            grid.row(row.cells(&format!("{number}")));
        }
        if rows.len() > 1 {
            grid.row(FlowRow::new(&self.sum).cells("sum"));
        }
        let jain = match rows.len() {
            1 => String::new(),
            _ => format!("Jain's index of the goodputs: {:.3}\n", self.jain()),
        };
        let address = self.sum.address;
        let way = if reverse { format!("from {address}") } else { format!("to {address}") };
        format!(
            "{scheme} {way}, {:.2} s; packets, Mbit/s, ms\n\n{}{jain}",
            self.sum.duration.as_secs_f64(),
            grid.text()
        )
    }
}

impl BulkOptions {
    /// Refuses options that the receiving end does not have.
    pub(super) fn check(&self, has_workload: bool, has_logs: bool) -> Result<(), Error> {
        match (self.reverse, has_workload, has_logs) {
            (true, true, _) => Err(Error::Usage(
                "--reverse and --workload: the receiver sends bulk data; leave one of them out".into(),
            )),
            (true, _, true) => Err(Error::Usage(
                "--reverse: this end sends no data, and has no -o and no --qlog of it; `paceline recv` has --qlog".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Measures. If `shows`, writes lines of figures to standard error meanwhile.
    pub(super) fn run(&self, options: &ClientOptions, shows: bool) -> Result<Measured, Error> {
        let interval =
            (shows && !self.interval.is_zero()).then(|| args::wall(self.interval.as_secs_f64()));
        let mut tell = |interval: &Interval| output::note(&lines(interval, self.reverse));
        let all = measure(options, usize::from(self.parallel), interval, &mut tell)
            .map_err(|error| Error::Message(error.to_string()))?;
        let sum = sum(&all).ok_or_else(|| Error::Message("nothing was measured".into()))?;
        Ok(Measured { all, sum })
    }
}

/// Returns a line for each flow, and for several flows a line of their sum.
fn lines(interval: &Interval, reverse: bool) -> String {
    let seconds = (interval.to - interval.from).as_secs_f64().max(1e-9);
    let (from, to) = (interval.from.as_secs_f64(), interval.to.as_secs_f64());
    let line = |name: &str, bytes: u64, (lost, repeated): (u64, u64), rtt_ms: f64, window: u64| {
        let mbps = bytes as f64 * 8e-6 / seconds;
        let time = format!("{from:.2}-{to:.2} s");
        let mut line = format!("[{name:>3}] {time:>16}  {mbps:9.2} Mbit/s");
        if !reverse {
            line += &format!(
                "  {lost:5} lost  {repeated:5} sent again  RTT {rtt_ms:7.1} ms  window {:.1} kB",
                window as f64 / 1e3
            );
        }
        line
    };
    let mut text = Vec::new();
    let (mut bytes, mut lost, mut repeated, mut window, mut rtt) = (0, 0, 0, 0, 0.0f64);
    for (number, (before, after)) in (1..).zip(&interval.flows) {
        let since = |part: fn(&paceline_transfer::udp::Snapshot) -> u64| {
            part(after).saturating_sub(part(before))
        };
        let counts = (since(|seen| seen.lost), since(|seen| seen.retransmits));
        let rtt_ms = after.rtt_nanos as f64 / 1e6;
        text.push(line(
            &format!("{number}"),
            since(|seen| seen.bytes),
            counts,
            rtt_ms,
            after.window,
        ));
        bytes += since(|seen| seen.bytes);
        (lost, repeated) = (lost + counts.0, repeated + counts.1);
        (window, rtt) = (window + after.window, rtt.max(rtt_ms));
    }
    if interval.flows.len() > 1 {
        text.push(line("SUM", bytes, (lost, repeated), rtt, window));
    }
    text.join("\n")
}

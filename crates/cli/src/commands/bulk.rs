//! `paceline send --duration`: measurements like iperf3's, over one or several connections, in either
//! direction.

use clap::Args;
use paceline_cc::Span;
use paceline_requests::numbers::fixed;
use paceline_transfer::udp::{ClientOptions, FlowRow, Interval, MOST_FLOWS, Measured, measure};

use crate::args;
use crate::output::{self, Error};
use crate::table::Grid;

/// Options of a measurement.
#[derive(Args)]
#[command(next_help_heading = "Measurements")]
pub(super) struct BulkOptions {
    /// With --duration: the receiver sends to this end. It has to be `paceline recv --measure`
    #[arg(short = 'R', long, requires = "duration")]
    pub(super) reverse: bool,
    /// With --duration: how many connections at once, each with a scheme of its own; 1 to 64
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, requires = "duration",
        value_parser = clap::value_parser!(u8).range(1..=MOST_FLOWS as i64))]
    pub(super) parallel: u8,
    /// With --duration: the time between two lines of figures on standard error while it runs; 0s for none
    #[arg(short, long, value_name = "TIME", default_value = "1s", requires = "duration",
        value_parser = args::span)]
    pub(super) interval: Span,
}

/// Returns the cells of a connection in the table.
fn cells(row: &FlowRow, name: &str) -> Vec<String> {
    let share = row.lost as f64 * 100.0 / row.sent.max(1) as f64;
    let mut cells = vec![name.to_string()];
    cells.extend([row.sent, row.packets, row.retransmits].map(|count| count.to_string()));
    cells.push(format!("{share:.2} %"));
    cells.extend([row.throughput_mbps, row.goodput_mbps].map(|rate| format!("{rate:.2}")));
    let delays = [row.rtt_ms.p50, row.rtt_ms.p95, row.queue_delay_ms.p50, row.queue_delay_ms.p95];
    cells.extend(delays.map(|delay| fixed(delay, 1)));
    cells
}

/// Returns both ends' counts and measurements as a table.
pub(super) fn table(measured: &Measured, scheme: &str, reverse: bool) -> String {
    let rows = measured.all.iter().map(FlowRow::of).collect::<Vec<FlowRow>>();
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
        grid.row(cells(row, &format!("{number}")));
    }
    if rows.len() > 1 {
        grid.row(cells(&FlowRow::of(&measured.sum), "sum"));
    }
    let jain = match rows.len() {
        1 => String::new(),
        _ => format!("Jain's index of the goodputs: {}\n", fixed(measured.jain(), 3)),
    };
    let address = measured.sum.address;
    let way = if reverse { format!("from {address}") } else { format!("to {address}") };
    format!(
        "{scheme} {way}, {:.2} s; packets, Mbit/s, ms\n\n{}{jain}",
        measured.sum.duration.as_secs_f64(),
        grid.text()
    )
}

impl BulkOptions {
    /// Refuses files of this end if the other end sends.
    pub(super) fn check(&self, has_logs: bool) -> Result<(), Error> {
        match self.reverse && has_logs {
            true => Err(Error::Usage(
                "--reverse: this end sends no data, and has no -o and no --qlog of it; `paceline recv` has --qlog".into(),
            )),
            false => Ok(()),
        }
    }

    /// Measures. If `shows`, writes lines of figures to standard error meanwhile.
    pub(super) fn run(&self, options: &ClientOptions, shows: bool) -> Result<Measured, Error> {
        let interval =
            (shows && !self.interval.is_zero()).then(|| args::wall(self.interval.as_secs_f64()));
        let mut tell = |interval: &Interval| output::note(&lines(interval, self.reverse));
        let all = measure(options, usize::from(self.parallel), interval, &mut tell)
            .map_err(|error| Error::Message(error.to_string()))?;
        Measured::of(all).ok_or_else(|| Error::Message("nothing was measured".into()))
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

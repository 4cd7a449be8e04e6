//! `paceline log`: prints and plots the logs of links, Mahimahi's or Paceline's.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_cc::Span;
use paceline_emulator::output::LogGraph;
use paceline_requests::numbers::{figure, fixed};
use serde::Serialize;

use crate::args;
use crate::figure::FigureArgs;
use crate::made::Made;
use crate::output::{self, Error};
use crate::results::{self, Kind};
use crate::table::Grid;

/// Read the logs of links, ours or Mahimahi's: print rates and delays, or plot them
///
/// Prints capacity, throughput and delays of each log, and plots one of them over time.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline link --up 12Mbps --down lte-driving --log run -- iperf3 -c server -R
  paceline log run.up run.down
  paceline log run.down --bin 200ms -o run.down.pdf --width 3.5in")]
pub(crate) struct Log {
    /// Logs of mm-link or of `paceline link --log`; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    logs: Vec<PathBuf>,
    /// The length of a bin in the plot
    #[arg(long, default_value = "500ms", value_parser = args::bin)]
    bin: Span,
    /// Write the result; the name says what: .pdf, .svg or .png for the throughput and delay of one log over time, .csv or
    /// .parquet for the table, .json; `-` is an SVG drawing on standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a row for each log into this CSV or Parquet file; - for standard output, instead of tables
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Do not show the names of written files
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    look: FigureArgs,
}

/// Figures of a log: a row of the table.
#[derive(Serialize)]
struct LogRow {
    log: String,
    duration_s: f64,
    capacity_mbps: Option<f64>,
    throughput_mbps: Option<f64>,
    utilization: Option<f64>,
    queue_delay_ms: LogDelay,
    signal_delay_ms: LogDelay,
    packets: u64,
    drops: u64,
}

#[derive(Serialize)]
struct LogDelay {
    p50: Option<u64>,
    p95: Option<u64>,
}

#[derive(Serialize)]
struct LogRows<'a> {
    logs: &'a [LogRow],
}

impl LogRow {
    fn of(log: &Path, graph: &LogGraph) -> LogRow {
        let of =
            |delay: &dyn Fn(f64) -> Option<u64>| LogDelay { p50: delay(0.5), p95: delay(0.95) };
        LogRow {
            log: log.display().to_string(),
            duration_s: graph.duration_s(),
            capacity_mbps: graph.capacity_mbps(),
            throughput_mbps: graph.throughput_mbps(),
            utilization: graph.utilization(),
            queue_delay_ms: of(&|share| graph.delay_ms(share)),
            signal_delay_ms: of(&|share| graph.signal_delay_ms(share)),
            packets: graph.packets(),
            drops: graph.drops(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or("-".into(), figure);
        let ms = |delay: Option<u64>| delay.map_or("-".into(), |delay| delay.to_string());
        vec![
            self.log.clone(),
            figure(self.duration_s),
            number(self.capacity_mbps),
            number(self.throughput_mbps),
            number(self.utilization.map(|share| 100.0 * share)),
            ms(self.queue_delay_ms.p50),
            ms(self.queue_delay_ms.p95),
            ms(self.signal_delay_ms.p95),
            self.packets.to_string(),
            self.drops.to_string(),
        ]
    }
}

/// Reads one log, with bins of `bin_ms` milliseconds.
pub(crate) fn read(path: &Path, bin_ms: u64) -> Result<LogGraph, Error> {
    let file: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false if path.is_dir() => {
            return Err(Error::Usage(format!(
                "{0}: a folder; name the logs of `paceline link --log {0}/run`, which are {0}/run.up and \
                 {0}/run.down",
                path.display()
            )));
        }
        false => Box::new(File::open(path).map_err(|error| {
            let remedy = "`paceline link --log NAME` writes logs, NAME.up and NAME.down";
            Error::Usage(format!("{}: cannot be read: {error}; {remedy}", path.display()))
        })?),
    };
    LogGraph::read(BufReader::new(file), bin_ms)
        .map_err(|error| Error::Usage(format!("{}: {error}", path.display())))
}

/// Returns the lines that Mahimahi's scripts print on standard error.
pub(crate) fn summary_lines(graph: &LogGraph) -> [String; 4] {
    let ms = |delay: Option<u64>| delay.map_or("-".into(), |delay| delay.to_string());
    let number = |value: Option<f64>, decimals| fixed(value.unwrap_or(f64::NAN), decimals);
    let used = number(graph.utilization().map(|share| 100.0 * share), 1);
    [
        format!("Average capacity: {} Mbits/s", number(graph.capacity_mbps(), 2)),
        format!(
            "Average throughput: {} Mbits/s ({used}% utilization)",
            number(graph.throughput_mbps(), 2)
        ),
        format!("95th percentile per-packet queueing delay: {} ms", ms(graph.delay_ms(0.95))),
        format!("95th percentile signal delay: {} ms", ms(graph.signal_delay_ms(0.95))),
    ]
}

/// Headings of the table.
const HEADINGS: [&str; 10] = [
    "log",
    "length s",
    "capacity Mbit/s",
    "throughput Mbit/s",
    "utilization %",
    "delay p50 ms",
    "p95 ms",
    "signal p95 ms",
    "packets",
    "drops",
];

impl Log {
    pub(crate) fn run(self) -> Result<(), Error> {
        let bin_ms = self.bin.as_nanos() / 1_000_000;
        let output = self.output.as_deref();
        let is_printed = output.is_some_and(|path| path.as_os_str() == "-");
        let wanted = match is_printed {
            true => None,
            false => results::prepare(output, &[Kind::Figure, Kind::Table, Kind::Json])?,
        };
        results::prepare_table("--csv", self.csv.as_deref())?;
        let printed = [("-o", output), ("--csv", self.csv.as_deref())];
        let is_csv = results::replaces_tables(self.json, &printed)?;
        if is_printed || matches!(wanted, Some((_, Kind::Figure))) {
            return self.plot(wanted.map(|(path, _)| path), bin_ms);
        }
        let mut rows = Vec::new();
        for log in &self.logs {
            rows.push(LogRow::of(log, &read(log, bin_ms)?));
        }
        let document = LogRows { logs: &rows };
        results::write_both(wanted, self.csv.as_deref(), &rows, (&document, None), self.quiet)?;
        if self.json {
            return output::print_json(&document);
        }
        if is_csv {
            return Ok(());
        }
        let mut grid = Grid::numbers(&HEADINGS);
        rows.iter().for_each(|row| grid.row(row.cells()));
        output::print(&grid.text())
    }

    /// Draws one log into a file, or as SVG on standard output.
    fn plot(&self, path: Option<&Path>, bin_ms: u64) -> Result<(), Error> {
        let [log] = &self.logs[..] else {
            return Err(Error::Usage("-o plots one log; name a single FILE".into()));
        };
        path.map_or(Ok(()), |path| self.look.check(path))?;
        let (graph, name) = (read(log, bin_ms)?, log.display().to_string());
        if !self.quiet {
            summary_lines(&graph).iter().for_each(|line| output::note(line));
        }
        match path {
            None => output::print(&graph.svg(&name).map_err(Error::Message)?),
            Some(path) => {
                let figure = graph.figure(&name, &self.look.layout()?).map_err(Error::Message)?;
                self.look.write(&figure, &Made::now(None).sentence(), path, self.quiet)
            }
        }
    }
}

//! `paceline log`: prints and plots the logs of links, Mahimahi's or Paceline's.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_cc::Span;
use paceline_emulator::output::LogGraph;
use paceline_requests::numbers::figure;
use serde_json::json;

use crate::args;
use crate::output::{self, Error};
use crate::table::Grid;

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline link --up 12Mbps --down lte-driving --log run -- iperf3 -c server -R
  paceline log run.up run.down
  paceline log run.down --bin 200ms -o run.down.svg")]
pub(crate) struct Log {
    /// Logs of mm-link or of `paceline link --log`; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    logs: Vec<PathBuf>,
    /// The length of a bin in the plot
    #[arg(long, default_value = "500ms", value_parser = args::bin)]
    bin: Span,
    /// Plot throughput and delay of one log over time into this SVG file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "output")]
    json: bool,
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
            Error::Usage(format!("{}: cannot be read: {error}", path.display()))
        })?),
    };
    LogGraph::read(BufReader::new(file), bin_ms)
        .map_err(|error| Error::Usage(format!("{}: {error}", path.display())))
}

/// Returns the lines that Mahimahi's scripts print on standard error.
pub(crate) fn summary_lines(graph: &LogGraph) -> [String; 4] {
    let ms = |delay: Option<u64>| delay.map_or("-".into(), |delay| delay.to_string());
    [
        format!("Average capacity: {:.2} Mbits/s", graph.capacity_mbps()),
        format!(
            "Average throughput: {:.2} Mbits/s ({:.1}% utilization)",
            graph.throughput_mbps(),
            100.0 * graph.utilization()
        ),
        format!("95th percentile per-packet queueing delay: {} ms", ms(graph.delay_ms(0.95))),
        format!("95th percentile signal delay: {} ms", ms(graph.signal_delay_ms(0.95))),
    ]
}

impl Log {
    pub(crate) fn run(self) -> Result<(), Error> {
        let bin_ms = self.bin.as_nanos() / 1_000_000;
        if let Some(output) = &self.output {
            output::is_svg_name(output)?;
            let [log] = &self.logs[..] else {
                return Err(Error::Usage("-o plots one log; name a single FILE".into()));
            };
            let graph = read(log, bin_ms)?;
            let svg = graph.svg(&log.display().to_string()).map_err(Error::Message)?;
            summary_lines(&graph).iter().for_each(|line| output::note(line));
            if output.as_os_str() == "-" {
                return output::print(&svg);
            }
            return output::write_named(output, svg.as_bytes());
        }
        let headings = [
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
        let mut grid = Grid::numbers(&headings);
        let mut listing = Vec::new();
        for log in &self.logs {
            let graph = read(log, bin_ms)?;
            let name = log.display().to_string();
            let ms = |delay: Option<u64>| delay.map_or("-".into(), |delay| delay.to_string());
            grid.row(vec![
                name.clone(),
                figure(graph.duration_s()),
                figure(graph.capacity_mbps()),
                figure(graph.throughput_mbps()),
                figure(100.0 * graph.utilization()),
                ms(graph.delay_ms(0.5)),
                ms(graph.delay_ms(0.95)),
                ms(graph.signal_delay_ms(0.95)),
                graph.packets().to_string(),
                graph.drops().to_string(),
            ]);
            listing.push(json!({
                "log": name,
                "duration_s": graph.duration_s(),
                "capacity_mbps": graph.capacity_mbps(),
                "throughput_mbps": graph.throughput_mbps(),
                "utilization": graph.utilization(),
                "queue_delay_ms": { "p50": graph.delay_ms(0.5), "p95": graph.delay_ms(0.95) },
                "signal_delay_ms": { "p50": graph.signal_delay_ms(0.5), "p95": graph.signal_delay_ms(0.95) },
                "packets": graph.packets(),
                "drops": graph.drops(),
            }));
        }
        if self.json {
            output::print_json(&json!({ "logs": listing }))
        } else {
            output::print(&grid.text())
        }
    }
}

//! `paceline compare`: schemes side by side over one or more links.

mod pool;
mod tables;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ArgPredicate;
use paceline_cc::Span;
use paceline_path::BufferSize;
use paceline_report::{PageInfo, RunView};
use paceline_requests::CompareFields;
use paceline_requests::compare::{CompareRow, Comparison};
use paceline_requests::summary::groups;
use paceline_requests::view::compare_views;
use paceline_sim::runs::Runs;
use paceline_sim::scenario::Capacity;

use crate::args;
use crate::linux_hosts::{self, LinuxArgs};
use crate::names::{command_line, file_names};
use crate::output::{self, Error};
use crate::runs::RunsArgs;
use pool::{MOST_RUNS, Pool};

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline compare
  paceline compare --schemes 'abc,cubic+codel[target=50ms]' -o out
  paceline compare --schemes all --omniscient
  paceline compare --trace 12Mbps --schemes newreno,cubic --flows 4 --warmup 10s --json")]
pub(crate) struct Compare {
    /// A built-in trace, a trace file, or a rate such as 12Mbps; may be repeated
    #[arg(long = "trace", value_name = "NAME|FILE|RATE", default_value = "lte-driving")]
    traces: Vec<String>,
    /// The link back, which acknowledgements pass; without it they meet no queue
    #[arg(long, value_name = "NAME|FILE|RATE")]
    reverse_trace: Option<String>,
    /// Schemes, separated by commas. `all` is every scheme; those that need a queue that marks get
    /// one, and a note says so. linux:cubic is the cubic of a Linux kernel (docs/linux-guest.md)
    #[arg(long, value_name = "LIST", default_value = "abc,cubic,cubic+codel", value_parser = linux_hosts::compared)]
    schemes: args::ComparedSchemes,
    /// Add a row for each trace: what a sender would reach that knows the future of the link
    #[arg(long)]
    omniscient: bool,
    /// Round-trip propagation delay, half of it each way; with --delay-trace it is added to the
    /// recorded delay
    #[arg(long, default_value = "100ms", default_value_if("delay_trace", ArgPredicate::IsPresent, "0ms"),
        value_parser = args::rtt, allow_hyphen_values = true)]
    rtt: Span,
    /// A recording of the one-way delay, which both directions follow: a line for each 10 ms, or a
    /// .csv file of time_ms,delay_ms. Packets do not overtake each other
    #[arg(long, value_name = "FILE", conflicts_with = "omniscient")]
    delay_trace: Option<String>,
    /// The mean of an additional random delay of acknowledgements (exponential)
    #[arg(long, default_value = "0s", value_parser = args::span, allow_hyphen_values = true)]
    jitter: Span,
    /// The link's buffer: packets, or 64kB, 50ms (at its mean rate), 1bdp, inf, sojourn=50ms (the longest wait)
    #[arg(long, default_value = "250", value_parser = args::buffer, allow_hyphen_values = true)]
    buffer: BufferSize,
    /// How long to run
    #[arg(long, default_value = "60s", value_parser = args::length, allow_hyphen_values = true)]
    duration: Span,
    /// Do not measure this long at the beginning
    #[arg(long, default_value = "0s", value_parser = args::span, allow_hyphen_values = true)]
    warmup: Span,
    /// How many flows each scheme has
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    flows: u32,
    /// The seed of the first run, from which the seeds and starts of the others are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    runs: RunsArgs,
    #[command(flatten)]
    linux: LinuxArgs,
    /// Go on beyond --runs, up to 200 runs, until on every row half the 95 % interval of the median is
    /// below this share of the median, in utilization and p95 delay
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    until: Option<f64>,
    /// How many runs at the same time; 0 for one per core
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
    /// The length of a bin in plots over time
    #[arg(long, default_value = "100ms", value_parser = args::bin, allow_hyphen_values = true)]
    bin: Span,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Fail if no packet arrives in a run
    #[arg(long)]
    strict: bool,
    /// Do not show progress or the names of written files
    #[arg(short, long)]
    quiet: bool,
    /// Write a page, plots and JSON into this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The most bins that a plot over time is made of.
const MOST_BINS: u64 = 1_000_000;

impl Compare {
    pub(crate) fn run(self) -> Result<(), Error> {
        if self.warmup >= self.duration {
            return Err(Error::Usage(format!(
                "--warmup {} leaves nothing of --duration {} to measure; make it shorter",
                self.warmup, self.duration
            )));
        }
        let runs = self.runs();
        let bins = self.duration.as_nanos().div_ceil(self.bin.as_nanos());
        let most = if self.until.is_some() { MOST_RUNS.max(runs.count) } else { runs.count };
        if self.output.is_some() && bins.saturating_mul(most.into()) > MOST_BINS {
            return Err(Error::Usage(format!(
                "--bin {} makes {bins} bins of --duration {} in each of {most} runs; {MOST_BINS} are \
                 the most in all runs of a scheme, make them longer",
                self.bin, self.duration
            )));
        }
        if let Some(folder) = &self.output {
            // Better now than after all runs.
            output::make_folder(folder)?;
        }
        let guest = self.linux.find(self.schemes.0.iter().map(|(scheme, _)| scheme))?;
        let guest = guest.map(|guest| guest.describe());
        let comparisons = self.comparisons()?;
        let schemes = self.schemes.0.len().max(1);
        let mut pool = Pool::new(&comparisons, self.threads.into(), self.quiet)?;
        pool.run(1..=runs.count)?;
        if let Some(until) = self.until {
            pool.run_until(schemes, until)?;
        }
        let best = self.omniscient.then(|| pool.omniscient(schemes)).transpose()?;
        let mut rows = Vec::new();
        for (at, mut runs) in pool.rows.into_iter().enumerate() {
            let (scheme, note) = &self.schemes.0[at % schemes];
            let note = if linux_hosts::is_linux(scheme) { &guest } else { note };
            for row in &mut runs {
                row.note = note.clone().or_else(|| row.note.take());
            }
            rows.extend(runs);
            if let Some(best) = best.as_ref().filter(|_| (at + 1) % schemes == 0) {
                rows.extend(best[at / schemes].iter().cloned());
            }
        }
        let warnings = silent(&rows);
        let printed = if self.json {
            output::print_json(&CompareFields::of(&rows))
        } else {
            output::print(&tables::tables(&rows))
        };
        // A reader that has seen enough of the table still wants the files.
        let written = match &self.output {
            Some(folder) => self.write(folder, &rows),
            None => Ok(()),
        };
        written.and(printed).and(output::warn(&warnings, self.strict))
    }

    /// Runs of each scheme and their starts; ten runs by default.
    fn runs(&self) -> Runs {
        self.runs.or(Runs::new(10))
    }

    fn comparisons(&self) -> Result<Vec<Comparison>, Error> {
        let capacity = |text: &str| args::capacity(text).map_err(Error::Usage);
        let reverse = self.reverse_trace.as_deref().map(capacity).transpose()?;
        let delays = self.delay_trace.as_deref().map(args::delays).transpose();
        let delays = delays.map_err(Error::Usage)?;
        let mut comparisons = Vec::new();
        for written in &self.traces {
            let (name, capacity) = capacity(written)?;
            for (scheme, _) in &self.schemes.0 {
                comparisons.push(Comparison {
                    reverse: reverse
                        .as_ref()
                        .map(|(_, capacity): &(String, Capacity)| capacity.clone()),
                    flows: self.flows,
                    rtt: self.rtt,
                    delays: delays.clone(),
                    jitter: self.jitter,
                    buffer: self.buffer,
                    duration: self.duration,
                    warmup: self.warmup,
                    seed: self.seed,
                    runs: self.runs(),
                    bin: self.output.as_ref().map(|_| self.bin),
                    ..Comparison::new(&name, capacity.clone(), scheme.clone())
                });
            }
        }
        Ok(comparisons)
    }

    fn write(&self, folder: &Path, rows: &[CompareRow]) -> Result<(), Error> {
        let names = paceline_remy::names();
        let views = compare_views(rows, &names);
        let info = PageInfo {
            title: "Schemes compared".into(),
            explanation: format!(
                "Each scheme ran with {} for {} over a link whose buffer holds {}. The round-trip \
                 propagation delay was {}{}.{} Queueing delay is the time from a packet's arrival at \
                 the queue until it has left the link.",
                if self.flows == 1 { "one flow".into() } else { format!("{} flows", self.flows) },
                self.duration,
                buffer_words(self.buffer),
                self.rtt,
                match &self.delay_trace {
                    Some(name) => format!(" and twice that of {name}"),
                    None => String::new(),
                },
                match rows.iter().map(|row| row.run).max() {
                    Some(runs @ 2..) => format!(
                        " It ran {runs} times, with other seeds and other places of the recording at \
                         which the flows began."
                    ),
                    _ => String::new(),
                }
            ),
            command: command_line(std::env::args_os().skip(1)),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: Some(self.seed),
            ..PageInfo::default()
        };
        let mut written = vec![
            output::write(folder, "compare.html", &paceline_report::compare_page(&info, &views))?,
            output::write(folder, "scatter.svg", &paceline_report::scatter_svg(&views))?,
            output::write(folder, "compare.json", &output::to_json(&CompareFields::of(rows))?)?,
        ];
        let traces = traces(rows);
        for (trace, name) in traces.iter().zip(file_names(&traces)) {
            let of_trace: Vec<RunView> =
                views.iter().filter(|view| view.trace == *trace).cloned().collect();
            let name = format!("timeseries-{name}.svg");
            written.push(output::write(
                folder,
                &name,
                &paceline_report::time_series_svg(&of_trace),
            )?);
        }
        let list: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        if !self.quiet {
            output::note(&format!("wrote {}", list.join(", ")));
        }
        Ok(())
    }
}

/// Rows in whose runs no packet arrived, in words.
fn silent(rows: &[CompareRow]) -> Vec<String> {
    let mut warnings = Vec::new();
    for runs in groups(rows) {
        let count = runs.iter().filter(|run| run.packets == 0).count();
        let of = if runs.len() > 1 {
            format!(" in {count} of {} runs", runs.len())
        } else {
            String::new()
        };
        if count > 0 {
            warnings
                .push(format!("{} on {}: no packet arrived{of}", runs[0].scheme, runs[0].trace));
        }
    }
    warnings
}

/// A share in per cent, with or without its sign: `2%`.
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let share = number.filter(|percent| (0.01..=100.0).contains(percent));
    share.map(|percent| percent / 100.0).ok_or_else(|| "expected 0.01% to 100%".into())
}

/// The names of the traces, each once, in order.
fn traces(rows: &[CompareRow]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.trace.as_str()) {
            names.push(&row.trace);
        }
    }
    names
}

/// A buffer size in words.
fn buffer_words(buffer: BufferSize) -> String {
    match buffer {
        BufferSize::Packets(packets) => format!("{packets} packets"),
        BufferSize::Bdp(products) => format!("{products} bandwidth-delay products"),
        BufferSize::Unlimited => "any number of packets".into(),
        BufferSize::Bytes(_) => buffer.to_string(),
        BufferSize::Time(time) => format!("{time} at the link's mean rate"),
        BufferSize::Sojourn(longest) => format!("packets for at most {longest}"),
    }
}

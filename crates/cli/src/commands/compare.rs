//! `paceline compare`: schemes side by side over one or more links.

mod pool;
mod tables;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ArgPredicate;
use paceline_cc::Span;
use paceline_path::BufferSize;
use paceline_report::{PageInfo, RunView, compare_figures, with_description};
use paceline_requests::CompareFields;
use paceline_requests::compare::{
    CompareLimits, CompareRequest, CompareRow, Comparison, MOST_RUNS,
};
use paceline_requests::summary::groups;
use paceline_requests::view::compare_views;
use paceline_requests::written;
use paceline_sim::runs::Runs;
use paceline_sim::scenario::{Record, Workload};

use crate::args;
use crate::commands::plot::SERIES_FILE;
use crate::figure::FigureArgs;
use crate::linux_hosts::{self, LinuxArgs};
use crate::made::Made;
use crate::names::{command_line, file_names};
use crate::output::{self, Error};
use crate::registries;
use crate::results::{self, Kind};
use crate::runs::{ONE_SCHEME, RunsArgs};
use crate::series;
use crate::sheet::Sheet;
use crate::threads::ThreadsArgs;
use pool::Pool;

/// How the description of a plot begins that a command has written.
const MADE: &str = "<desc>Made with: ";

/// Simulate several schemes over the same links and compare them: table, page, JSON
///
/// Simulates each scheme alone on each link, several times with other seeds and starts, and prints medians with ranges of 90 %
/// of the runs, and ratios between the first scheme and the others. A minute takes milliseconds. docs/metrics.md defines the figures.
#[derive(Args)]
#[command(mut_arg("runs", RunsArgs::stated("", "10")))]
#[command(mut_arg("spread", RunsArgs::stated(ONE_SCHEME, "1s")))]
#[command(after_help = "\
Examples:
  paceline compare
  paceline compare --schemes 'abc,cubic+codel[target=50ms]' -o out
  paceline compare --schemes all --omniscient
  paceline compare -o tradeoff.pdf --csv runs.csv
  paceline compare --runs 1 --series series.parquet
  paceline compare --rtt 20ms,50ms,100ms --buffer 0.5bdp,2bdp -o sweep
  paceline compare --trace 3Mbps --schemes gcc,cubic --workload video
  paceline compare --trace 12Mbps --schemes newreno,cubic --flows 4 --warmup 10s --json")]
pub(crate) struct Compare {
    /// Built-in traces, trace files, or rates such as 12Mbps, separated by commas; may be repeated
    #[arg(
        long = "trace",
        value_name = "NAME|FILE|RATE",
        default_value = "lte-driving",
        help_heading = "Links"
    )]
    traces: Vec<String>,
    /// The link in the reverse direction, which carries acknowledgements; without it they meet no
    /// queue
    #[arg(long, value_name = "NAME|FILE|RATE", help_heading = "Links")]
    reverse_trace: Option<String>,
    /// Schemes, separated by commas. `all` is every scheme; those that need a queue that marks get
    /// one, and a note says so. linux:cubic is the cubic of a Linux kernel (docs/linux-guest.md).
    /// ./mine.py, ./mine.py:Class and module:Class are controllers in Python, with the Python package
    #[arg(long, value_name = "LIST", default_value = "abc,cubic,cubic+codel", value_parser = args::compared, help_heading = "Senders")]
    schemes: args::ComparedSchemes,
    /// Add a row for each trace: the result of a sender that knows the future of the link
    #[arg(long, help_heading = "Senders")]
    omniscient: bool,
    /// Round-trip propagation delay, half of it each way; with --delay-trace it is added to the
    /// recorded delay. A list such as 20ms,50ms compares on each link with each RTT
    #[arg(long, value_name = "TIME,...", default_values_t = [Comparison::RTT],
        default_value_if("delay_trace", ArgPredicate::IsPresent, "0ms"),
        value_delimiter = ',', value_parser = args::rtt, allow_hyphen_values = true, help_heading = "Links")]
    rtt: Vec<Span>,
    /// A recording of the one-way delay, which both directions follow: a line for each 10 ms, or a
    /// .csv file of time_ms,delay_ms. Packets do not overtake each other
    #[arg(long, value_name = "FILE", conflicts_with = "omniscient", help_heading = "Links")]
    delay_trace: Option<String>,
    /// The mean of an additional random delay of acknowledgements (exponential)
    #[arg(long, default_value = "0s", value_parser = args::span, allow_hyphen_values = true, help_heading = "Links")]
    jitter: Span,
    /// The link's buffer: packets, or 64kB, 50ms (at its mean rate), 1bdp, inf, sojourn=50ms (the longest wait). A list
    /// such as 0.5bdp,2bdp compares on each link with each buffer
    #[arg(long, value_name = "SIZE,...", default_values_t = [Comparison::BUFFER], value_delimiter = ',',
        value_parser = args::buffer, allow_hyphen_values = true, help_heading = "Links")]
    buffer: Vec<BufferSize>,
    /// How long to run
    #[arg(long, default_value_t = Comparison::DURATION, value_parser = args::length, allow_hyphen_values = true, help_heading = "Runs")]
    duration: Span,
    /// Measure only after this time at the beginning
    #[arg(long, default_value = "0s", value_parser = args::span, allow_hyphen_values = true, help_heading = "Runs")]
    warmup: Span,
    /// How many flows each scheme has
    #[arg(long, default_value_t = 1, help_heading = "Senders")]
    flows: u32,
    /// What the application of each flow sends, as in scenario files, instead of bulk data: `video`,
    /// `video = { max = "4Mbps" }`, `limited = { rate = "1Mbps" }`
    #[arg(long, value_name = "KEY = VALUE", value_parser = written::workload, help_heading = "Senders")]
    workload: Option<Workload>,
    /// The seed of the first run, from which the seeds and starts of the others are drawn
    #[arg(long, value_parser = args::seed, default_value_t = 1, help_heading = "Runs")]
    seed: u64,
    #[command(flatten)]
    runs: RunsArgs,
    #[command(flatten)]
    linux: LinuxArgs,
    /// Go on beyond --runs, up to 200 runs, until in every row half the 95 % interval of the
    /// median, for utilization and p95 delay, is below this share of the median: 2% or 0.02
    #[arg(long, value_name = "SHARE", value_parser = until, help_heading = "Runs")]
    until: Option<f64>,
    #[command(flatten)]
    threads: ThreadsArgs,
    /// The length of a bin in plots over time
    #[arg(long, default_value_t = Record::BIN, value_parser = args::bin, allow_hyphen_values = true, help_heading = "Outputs")]
    bin: Span,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Fail if no packet arrives in a run
    #[arg(long, help_heading = "Outputs")]
    strict: bool,
    /// Do not show progress or the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
    /// Write results; the name says what: a folder for a page, plots, JSON and series; .pdf, .svg or .png for one
    /// figure, the trade-off, or with a list of RTTs or buffers the sweep (`paceline plot` makes all figures, in any size);
    /// .csv or .parquet for the table; .json
    #[arg(short, long, value_name = "PATH", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Write a row for each run into this CSV or Parquet file, with the fields of JSON as columns; - for standard
    /// output, instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    csv: Option<PathBuf>,
    /// Write the links over time, a row for each bin of each run, into this CSV or Parquet file; - for standard output,
    /// instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    series: Option<PathBuf>,
}

impl Compare {
    pub(crate) fn run(self) -> Result<(), Error> {
        let mut request = self.request()?;
        let guest = self.linux.find(request.schemes.iter().map(|(scheme, _)| scheme))?;
        for (scheme, note) in &mut request.schemes {
            if let Some(guest) = guest.as_ref().filter(|_| linux_hosts::is_linux(scheme)) {
                *note = Some(linux_hosts::describe(guest, [&*scheme])?);
            }
        }
        let runs = request.plan(&CompareLimits::default())?;
        // Fails now rather than after all runs.
        let wanted = results::prepare(self.output.as_deref(), &Kind::ALL)?;
        results::prepare_table("--csv", self.csv.as_deref())?;
        results::prepare_table("--series", self.series.as_deref())?;
        let printed = [("--csv", self.csv.as_deref()), ("--series", self.series.as_deref())];
        let is_csv = results::replaces_tables(self.json, &printed)?;
        let mut pool = Pool::new(runs, self.threads.start()?, self.quiet);
        pool.run()?;
        if let Some(until) = self.until {
            pool.run_until(until)?;
        }
        let rows = pool.runs.rows();
        let warnings = silent(&rows);
        let printed = if self.json {
            output::print_json(&CompareFields::of(&rows))
        } else if is_csv {
            Ok(())
        } else {
            output::print(&tables::tables(&rows))
        };
        // If the reader of the table closes the pipe, the files are still written.
        let document = CompareFields::of(&rows);
        let csv = self.csv.as_deref();
        let table =
            results::write_both(wanted, csv, &rows, (&document, Some(self.seed)), self.quiet);
        let series = match &self.series {
            Some(path) => {
                let table = series::of_compare(&rows).unwrap_or_default();
                results::write_sheet(path, &Sheet::of_table(table), self.quiet)
            }
            None => Ok(()),
        };
        let written = match wanted {
            Some((path, Kind::Figure)) => self.write_figure(path, &rows),
            Some((folder, Kind::Folder)) => {
                self.write(folder, request.page_info(pool.runs.runs_made()), &rows)
            }
            Some((_, Kind::Table | Kind::Json)) | None => Ok(()),
        };
        written.and(table).and(series).and(printed).and(output::warn(&warnings, self.strict))
    }

    /// Returns the request that the options describe.
    fn request(&self) -> Result<CompareRequest, Error> {
        let capacity = |text: &str| match text.is_empty() {
            true => Err(Error::Usage(
                "--trace: a link is missing beside a comma; write --trace 12Mbps,24Mbps".into(),
            )),
            false => args::capacity(text).map_err(Error::Usage),
        };
        let traces = self.traces.iter().flat_map(|text| args::listed(text));
        let links = traces.map(capacity).collect::<Result<_, _>>()?;
        let reverse = self.reverse_trace.as_deref().map(capacity).transpose()?;
        let has_series =
            self.series.is_some() || self.output.as_deref().is_some_and(Kind::is_folder);
        let recorded = |name: &String| Ok((name.clone(), args::delays(name)?));
        Ok(CompareRequest {
            omniscient: self.omniscient,
            reverse_trace: reverse.map(|(_, capacity)| capacity),
            delay_trace: self
                .delay_trace
                .as_ref()
                .map(recorded)
                .transpose()
                .map_err(Error::Usage)?,
            rtts: self.rtt.clone(),
            jitter: self.jitter,
            buffers: self.buffer.clone(),
            duration: self.duration,
            warmup: self.warmup,
            flows: self.flows,
            workload: self.workload.clone().unwrap_or(Workload::Bulk),
            seed: self.seed,
            runs: self.runs.or(Runs::new(CompareRequest::RUNS)),
            most_runs: self.until.map(|_| MOST_RUNS),
            bin: has_series.then_some(self.bin),
            ..CompareRequest::new(links, self.schemes.0.clone())
        })
    }

    /// Writes the first figure: the trade-off, or the sweep.
    fn write_figure(&self, path: &Path, rows: &[CompareRow]) -> Result<(), Error> {
        let look = FigureArgs::default();
        let views = compare_views(rows, registries::names());
        match compare_figures(&views, &look.layout()?).first() {
            Some((_, figure)) => {
                look.write(figure, &Made::now(Some(self.seed)).sentence(), path, self.quiet)
            }
            None => Ok(()),
        }
    }

    fn write(&self, folder: &Path, info: PageInfo, rows: &[CompareRow]) -> Result<(), Error> {
        let views = compare_views(rows, registries::names());
        let info = PageInfo { command: command_line(), ..info };
        let made = Made::now(Some(self.seed));
        let former = results::former(&folder.join("compare.json"));
        let described = |svg: String| with_description(&svg, &made.sentence());
        let mut written = vec![
            output::write(folder, "compare.html", &paceline_report::compare_page(&info, &views))?,
            output::write(folder, "scatter.svg", &described(paceline_report::scatter_svg(&views)))?,
            output::write(
                folder,
                "compare.json",
                &output::to_saved_json(&CompareFields::of(rows), Some(self.seed))?,
            )?,
        ];
        if let Some(table) = series::of_compare(rows) {
            let text = Sheet::of_table(table).to_csv();
            written.push(output::write(folder, SERIES_FILE, &text)?);
        }
        let links = links(rows);
        let names: Vec<&str> = links.iter().map(String::as_str).collect();
        for (link, name) in links.iter().zip(file_names(&names)) {
            let of_link: Vec<RunView> =
                views.iter().filter(|view| view.trace == *link).cloned().collect();
            let name = format!("timeseries-{name}.svg");
            written.push(output::write(
                folder,
                &name,
                &described(paceline_report::time_series_svg(&of_link)),
            )?);
        }
        let list: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        if let Some(former) = &former {
            remove_other_series(folder, &written)?;
            if !self.quiet && *former != made {
                output::note(&format!("replaced the results of `{}`", former.command()));
            }
        }
        if !self.quiet {
            output::note(&format!("wrote {}", list.join(", ")));
        }
        Ok(())
    }
}

/// Removes the plots over time that an earlier comparison wrote into `folder`: those that say how they were made and are
/// not among the `written` files.
fn remove_other_series(folder: &Path, written: &[PathBuf]) -> Result<(), Error> {
    let failed = |path: &Path, source| Error::Io { path: Some(path.to_path_buf()), source };
    for entry in folder.read_dir().map_err(|source| failed(folder, source))? {
        let path = entry.map_err(|source| failed(folder, source))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_series = name.starts_with("timeseries-") && name.ends_with(".svg");
        let is_former = || std::fs::read_to_string(&path).is_ok_and(|svg| svg.contains(MADE));
        if is_series && !written.contains(&path) && is_former() {
            std::fs::remove_file(&path).map_err(|source| failed(&path, source))?;
        }
    }
    Ok(())
}

/// Returns a warning for each row in which no packet arrived in some run.
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
            warnings.push(format!(
                "{} on {}: no packet arrived{of}",
                runs[0].scheme,
                runs[0].link()
            ));
        }
    }
    warnings
}

/// Reads a share of the median: `2%` or `0.02`. Refuses `2`, and shares below 0.01 %, which 200 runs do not reach.
fn until(text: &str) -> Result<f64, String> {
    let share = args::share(text, "a share")?;
    if share < 1e-4 { Err("expected 0.01% to 100%".into()) } else { Ok(share) }
}

/// Returns the names of the links, each once, in order: traces, in a sweep with their RTTs and buffers.
fn links(rows: &[CompareRow]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let link = row.link();
        if !names.contains(&link) {
            names.push(link);
        }
    }
    names
}

/// Returns the names of the traces, each once, in order.
fn traces(rows: &[CompareRow]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.trace.as_str()) {
            names.push(&row.trace);
        }
    }
    names
}

//! `paceline trace`: traces of link capacity.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use paceline_cc::{Rate, Span};
use paceline_requests::numbers::figure;
use paceline_trace::{DelayStats, Stats, Trace, TraceError};
use serde_json::{Map, Value, json};

use crate::args;
use crate::figure::FigureArgs;
use crate::made::Made;
use crate::output::{self, Error};
use crate::results;
use crate::table::Grid;

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline trace list
  paceline trace info ride.csv
  paceline trace generate lte-driving -o lte.trace
  paceline trace plot lte-driving -o lte.pdf")]
pub(crate) enum TraceCommand {
    /// Print statistics of traces; for built-in traces beside those of the recording that they
    /// model
    Info(Info),
    /// List the built-in traces
    List(List),
    /// Make a trace: built-in, constant or square wave
    Generate(Generate),
    /// Convert between Mahimahi's format and CSV (time_ms,mbps)
    Convert(Convert),
    /// Plot capacity over time
    Plot(Plot),
}

impl TraceCommand {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            TraceCommand::Info(command) => command.run(),
            TraceCommand::List(command) => command.run(),
            TraceCommand::Generate(command) => command.run(),
            TraceCommand::Convert(command) => command.run(),
            TraceCommand::Plot(command) => command.run(),
        }
    }
}

fn load(name: &str) -> Result<Trace, Error> {
    paceline_trace::load(name).map_err(tell)
}

fn tell(error: TraceError) -> Error {
    Error::Usage(error.to_string())
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline trace info lte-driving
  paceline trace info ride.csv --json
  paceline trace info --delays starlink.delay")]
pub(crate) struct Info {
    /// Built-in traces or files
    #[arg(required = true, value_name = "NAME|FILE")]
    traces: Vec<String>,
    /// The files are recordings of the one-way delay: a line for each 10 ms, or a .csv file of
    /// time_ms,delay_ms
    #[arg(long)]
    delays: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

impl Info {
    fn run(self) -> Result<(), Error> {
        if self.delays {
            return self.run_delays();
        }
        let mut listing = Vec::new();
        for name in &self.traces {
            let trace = load(name)?;
            if let Some(warning) = paceline_trace::warning(&trace) {
                output::note(&format!("warning: {warning}"));
            }
            let stats = Stats::of(&trace);
            let target = paceline_trace::target(trace.name());
            if self.json {
                let mut entry = columns(&stats);
                entry.insert("trace".into(), json!(trace.name()));
                if let Some(target) = &target {
                    entry.insert("target".into(), json!(columns(&target.stats)));
                    entry.insert("target_source".into(), json!(target.source));
                    entry.insert("target_recorded".into(), json!(target.recorded));
                }
                listing.push(Value::Object(entry));
                continue;
            }
            let mut headings = vec![trace.name().to_string(), String::new()];
            if target.is_some() {
                headings.extend(["target".into(), "difference".into()]);
            }
            let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
            let mut grid = Grid::numbers(&headings);
            let targets = target.as_ref().map(|target| target.stats.columns());
            for (at, (column, value)) in stats.columns().into_iter().enumerate() {
                let mut row = vec![column.to_string(), show(value)];
                if let Some(targets) = &targets {
                    let (_, wanted) = targets[at];
                    row.push(show(wanted));
                    let comparable = !matches!(column, "length_s" | "opportunities" | "first_ms");
                    let difference = 100.0 * (value / wanted - 1.0);
                    let known = comparable && difference.is_finite();
                    row.push(if known { format!("{difference:+.0} %") } else { "-".into() });
                }
                grid.row(row);
            }
            output::print(&grid.text())?;
            if let Some(target) = target {
                let kind =
                    if target.recorded { "a recording" } else { "plausible figures of our own" };
                output::print(&format!("target: {kind}, {}\n", target.source))?;
            }
            output::print("\n")?;
        }
        if self.json { output::print_json(&json!({ "traces": listing })) } else { Ok(()) }
    }
}

impl Info {
    fn run_delays(&self) -> Result<(), Error> {
        let mut listing = Vec::new();
        for name in &self.traces {
            let delays = paceline_trace::load_delays(name).map_err(tell)?;
            let target = paceline_trace::delay_target(name);
            let stats = delay_columns(&delays.stats());
            if self.json {
                let map = |columns: &[(&str, f64)]| -> Map<String, Value> {
                    columns.iter().map(|(name, value)| (name.to_string(), json!(value))).collect()
                };
                let mut entry = map(&stats);
                entry.insert("trace".into(), json!(delays.name()));
                entry.insert("length_s".into(), json!(delays.period().as_secs_f64()));
                if let Some(target) = &target {
                    entry.insert("target".into(), json!(map(&delay_columns(target))));
                }
                listing.push(Value::Object(entry));
                continue;
            }
            let mut headings = vec![delays.name(), ""];
            headings.extend(target.iter().flat_map(|_| ["target", "difference"]));
            let mut grid = Grid::numbers(&headings);
            let targets = target.map(|target| delay_columns(&target));
            for (at, (column, value)) in stats.iter().enumerate() {
                let mut row = vec![column.to_string(), show(*value)];
                if let Some((_, wanted)) = targets.and_then(|targets| targets.get(at).copied()) {
                    let difference = 100.0 * (value / wanted - 1.0);
                    row.extend([show(wanted), format!("{difference:+.0} %")]);
                }
                grid.row(row);
            }
            output::print(&format!("{}\n", grid.text()))?;
        }
        if self.json { output::print_json(&json!({ "traces": listing })) } else { Ok(()) }
    }
}

fn delay_columns(stats: &DelayStats) -> [(&'static str, f64); 8] {
    let DelayStats { mean, sd, min, p5, p50, p95, max, step } = *stats;
    [
        ("mean_ms", mean),
        ("sd_ms", sd),
        ("min_ms", min),
        ("p5_ms", p5),
        ("p50_ms", p50),
        ("p95_ms", p95),
        ("max_ms", max),
        ("step_ms", step),
    ]
}

fn columns(stats: &Stats) -> Map<String, Value> {
    stats.columns().into_iter().map(|(name, value)| (name.to_string(), json!(value))).collect()
}

fn show(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_string()
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline trace list
  paceline trace list --json")]
pub(crate) struct List {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl List {
    fn run(self) -> Result<(), Error> {
        let mut grid = Grid::after(2, &["trace", "modelled on", "length s", "mean Mbit/s"]);
        let mut listing = Vec::new();
        for name in paceline_trace::names() {
            let Some(target) = paceline_trace::target(name) else { continue };
            let length = paceline_trace::default_length(name).unwrap_or(Span::ZERO).as_secs_f64();
            let mean = paceline_trace::load(name).map(|trace| trace.mean_mbps());
            let mean = mean.map_err(|error| Error::Message(error.to_string()))?;
            let source = target.source.to_string();
            listing.push(json!({
                "trace": name, "length_s": length, "mean_mbps": mean, "target_source": source,
                "target_recorded": target.recorded,
            }));
            grid.row(vec![name.into(), source, figure(length), figure(mean)]);
        }
        if self.json {
            output::print_json(&json!({ "traces": listing }))
        } else {
            output::print(&grid.text())
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline trace generate lte-driving --seed 7 --duration 10min -o lte.trace
  paceline trace generate constant --rate 12Mbps -o 12.trace
  paceline trace generate square --low 12Mbps --high 24Mbps --half-period 500ms -o square.trace")]
pub(crate) struct Generate {
    /// A built-in trace, `constant` or `square`
    name: String,
    /// The seed of a built-in trace [default: 1]
    #[arg(long, value_parser = args::seed)]
    seed: Option<u64>,
    /// The duration. By default the usual duration of a built-in trace, 140 s for `square`, and the
    /// shortest possible for `constant`
    #[arg(long, value_parser = args::length, allow_hyphen_values = true)]
    duration: Option<Span>,
    /// The rate of `constant` [default: 12Mbps]
    #[arg(long, value_parser = args::rate)]
    rate: Option<Rate>,
    /// The lower rate of `square` [default: 12Mbps]
    #[arg(long, value_parser = args::rate)]
    low: Option<Rate>,
    /// The higher rate of `square` [default: 24Mbps]
    #[arg(long, value_parser = args::rate)]
    high: Option<Rate>,
    /// Half the period of `square` [default: 500ms]
    #[arg(long, value_parser = args::length)]
    half_period: Option<Span>,
    /// Write to this file instead of standard output (`-`)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Generate {
    fn run(self) -> Result<(), Error> {
        file(self.output.as_deref())
            .map_or(Ok(Format::Csv), |path| Format::to_write(path, None))?;
        self.check_options()?;
        let trace = match self.name.as_str() {
            "constant" => {
                let rate = self.rate.unwrap_or(Rate::from_mbps(12.0));
                match self.duration {
                    // A constant rate repeats, so the shortest trace will do.
                    None => paceline_trace::constant(rate),
                    Some(length) => {
                        paceline_trace::steps(&format!("constant {rate}"), &[(length, rate)])
                    }
                }
            }
            "square" => paceline_trace::square_wave(
                self.low.unwrap_or(Rate::from_mbps(12.0)),
                self.high.unwrap_or(Rate::from_mbps(24.0)),
                self.half_period.unwrap_or(Span::from_millis(500)),
                self.duration.unwrap_or(Span::from_secs(140)),
            ),
            name => {
                let length = self.duration.or(paceline_trace::default_length(name));
                let seed = self.seed.unwrap_or(paceline_trace::DEFAULT_SEED);
                paceline_trace::synthetic(name, seed, length.unwrap_or(Span::from_secs(140)))
            }
        };
        let trace = trace.map_err(|mut error| {
            let known = ["constant", "square"].contains(&self.name.as_str());
            if !known && paceline_trace::default_length(&self.name).is_none() {
                error.remedy += "; or constant, square";
            }
            tell(error)
        })?;
        save(&trace, self.output.as_deref(), None, Span::from_millis(100))
    }

    /// Returns an error if an option is given that a trace of this name does not use.
    fn check_options(&self) -> Result<(), Error> {
        let uses = match self.name.as_str() {
            "constant" => ["--rate"].as_slice(),
            "square" => &["--low", "--high", "--half-period"],
            name if paceline_trace::default_length(name).is_some() => &["--seed"],
            // The name is unknown: its error says more.
            _ => return Ok(()),
        };
        let given = [
            ("--seed", self.seed.is_some()),
            ("--rate", self.rate.is_some()),
            ("--low", self.low.is_some()),
            ("--high", self.high.is_some()),
            ("--half-period", self.half_period.is_some()),
        ];
        match given.into_iter().find(|(option, is_given)| *is_given && !uses.contains(option)) {
            None => Ok(()),
            Some((option, _)) => Err(Error::Usage(format!(
                "{option}: the trace `{}` has no such option; it has {} and --duration",
                self.name,
                uses.join(", ")
            ))),
        }
    }
}

/// The formats of trace files.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each delivery opportunity, with its time in milliseconds
    Mahimahi,
    /// Rows time_ms,mbps. A first line such as time_s,kbps says the units of a file that is read
    Csv,
}

impl Format {
    fn of(path: &Path) -> Format {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
            Format::Csv
        } else {
            Format::Mahimahi
        }
    }

    /// Returns the format in which a file is written: the one in which a file of this name is read.
    fn to_write(path: &Path, wanted: Option<Format>) -> Result<Format, Error> {
        let wrong = |problem: &str| Err(Error::Usage(format!("{}: {problem}", path.display())));
        match (wanted, Format::of(path)) {
            (Some(Format::Mahimahi), Format::Csv) => wrong(
                "a file of this name is read as CSV: leave --to out, or name it .down, .up or .trace",
            ),
            (Some(Format::Csv), Format::Mahimahi) if path.extension().is_some() => wrong(
                "a file of this name is read in Mahimahi's format: give it a name that ends with .csv",
            ),
            (Some(format), _) => Ok(format),
            (None, Format::Csv) => Ok(Format::Csv),
            (None, Format::Mahimahi) => {
                let endings = ["csv", "down, .up or .trace (Mahimahi's format)"];
                results::check_name(path, "-o", "a trace", &endings)?;
                Ok(Format::Mahimahi)
            }
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline trace convert verizon.down -o verizon.csv --bin 1s
  paceline trace convert drive.csv -o drive.down
  paceline trace convert lte-driving --to csv -o -")]
pub(crate) struct Convert {
    /// The trace to read: a file or a built-in trace
    input: String,
    /// The file to write; `-` for standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "file")]
    output: Option<PathBuf>,
    /// The file to write, as -o
    #[arg(value_name = "OUTPUT", conflicts_with = "output", hide = true)]
    file: Option<PathBuf>,
    /// The format of the input, if its name does not end in .csv
    #[arg(long)]
    from: Option<Format>,
    /// The format of the output, if its name does not end in .csv
    #[arg(long)]
    to: Option<Format>,
    /// The length of a bin in CSV
    #[arg(long, default_value = "100ms", value_parser = args::length)]
    bin: Span,
}

impl Convert {
    fn run(self) -> Result<(), Error> {
        let trace = match self.from {
            None => load(&self.input)?,
            Some(format) => {
                let bytes = output::read(Path::new(&self.input), LARGEST)?;
                match format {
                    Format::Mahimahi => paceline_trace::mahimahi::parse(&self.input, &bytes),
                    Format::Csv => paceline_trace::csv::parse(&self.input, &bytes),
                }
                .map_err(tell)?
            }
        };
        save(&trace, self.output.or(self.file).as_deref(), self.to, self.bin)
    }
}

/// Largest trace file in bytes: a line of eleven digits for each of the most opportunities.
const LARGEST: u64 = 12 * paceline_trace::MAX_OPPORTUNITIES as u64;

/// Returns the file to write, or `None` for standard output.
fn file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| path.as_os_str() != "-")
}

/// Writes a trace to a file or to standard output.
fn save(
    trace: &Trace,
    path: Option<&Path>,
    format: Option<Format>,
    bin: Span,
) -> Result<(), Error> {
    let path = file(path);
    let format = match path {
        Some(path) => Format::to_write(path, format)?,
        None => format.unwrap_or(Format::Mahimahi),
    };
    let text = match format {
        Format::Mahimahi => paceline_trace::mahimahi::write(trace),
        Format::Csv => paceline_trace::csv::write(trace, bin),
    };
    match path {
        None => output::print(&text),
        Some(path) => output::write_named(path, text.as_bytes()),
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline trace plot lte-driving -o lte.pdf --width 3.5in
  paceline trace plot ride.csv --bin 1s -o ride.svg")]
pub(crate) struct Plot {
    /// A built-in trace or a file
    trace: String,
    /// Write the figure to this file, whose name ends with .pdf, .svg or .png; without it an SVG drawing goes to
    /// standard output (`-`)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The length of a bin [default: 100ms]. Of more than 600 bins, neighbours are drawn as one
    #[arg(long, value_parser = args::length)]
    bin: Option<Span>,
    #[command(flatten)]
    look: FigureArgs,
}

impl Plot {
    fn run(self) -> Result<(), Error> {
        let path = file(self.output.as_deref());
        path.map_or(Ok(()), |path| self.look.check(path))?;
        let trace = load(&self.trace)?;
        let bin = self.bin.unwrap_or(Span::from_millis(100)).max(Span::from_millis(1));
        let rates = paceline_trace::rates(&trace, bin);
        let drawn = bin * paceline_report::bins_drawn_as_one(rates.len()) as u64;
        if self.bin.is_some() && drawn != bin {
            output::note(&format!(
                "{}: {} bins of {bin} are more than a figure has: drawn in bins of {drawn}",
                self.trace,
                rates.len()
            ));
        }
        let (name, bin_s) = (trace.name(), bin.as_secs_f64());
        match path {
            None => output::print(&paceline_report::capacity_svg(name, bin_s, rates)),
            Some(path) => {
                let layout = self.look.layout()?;
                let figure = paceline_report::capacity_figure(name, bin_s, rates, &layout);
                let figure = figure.with_caption(&format!(
                    "The link's capacity over time: each value is the mean rate of a bin of {drawn}."
                ));
                self.look.write(&figure, &Made::now(None).sentence(), path, false)
            }
        }
    }
}

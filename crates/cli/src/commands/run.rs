//! `paceline run`: runs a scenario file.

mod several;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::iter;
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_cc::Span;
use paceline_report::{scenario_figures, with_description};
use paceline_requests::columns::{TableRow, TextTable, cells, headings};
use paceline_requests::numbers::{figure, fixed, percent};
use paceline_requests::{RunFields, ScenarioChanges, ScenarioRuns};
use paceline_sim::runs::Run as SimulatedRun;
use paceline_sim::scenario::{
    self, Capacity, FlowSpec, Record, Scenario, ScenarioError, SchemeChoice,
};
use paceline_sim::{CustomTransport, LinkOutcome, Outcome};
use paceline_trace::FileKind;
use serde::Serialize;

use crate::args;
use crate::capture::{CaptureArgs, CaptureFile, NO_BYTES};
use crate::connection_logs::{LogArgs, LogFiles, is_folder};
use crate::figure::FigureArgs;
use crate::host;
use crate::kinds;
use crate::linux_hosts::{self, LinuxArgs};
use crate::made::Made;
use crate::mistake::Mistake;
use crate::names::{command_line, file_names};
use crate::output::{self, Error};
use crate::registries;
use crate::results::{self, Kind};
use crate::runs::{RunsArgs, SCENARIO};
use crate::series;
use crate::sheet::Sheet;
use crate::table::{Grid, grid_of};
use crate::tcp_probe::{ProbeArgs, ProbeTable};

/// Largest scenario file in bytes.
const LARGEST: u64 = 16 << 20;

/// Simulate a scenario file: any topology, flows and workloads
///
/// The file describes links, shared 802.11 channels and flows (docs/scenarios.md). Prints a table of the links and one of the flows.
/// The digest at the end is equal wherever the scenario and the seed are, except with quinn:own-bbr and noq:own-bbr3. `paceline scenario list` lists examples.
#[derive(Args)]
#[command(mut_arg("runs", RunsArgs::stated("", "those of the scenario file, or 1")))]
#[command(mut_arg("spread", RunsArgs::stated(SCENARIO, "that of the scenario file, or 1s")))]
#[command(after_help = "\
Examples:
  paceline run scenarios/fairness.toml
  paceline run scenarios/wifi.toml -o out
  paceline run scenarios/fairness.toml -o link.pdf --csv flows.csv
  paceline run scenarios/fairness.toml --series series.parquet")]
pub(crate) struct Run {
    /// The scenario file (TOML): see docs/scenarios.md
    file: PathBuf,
    /// Simulate this long, instead of the duration in the file
    #[arg(long, value_parser = args::length, allow_hyphen_values = true, help_heading = "Runs")]
    duration: Option<Span>,
    /// Use this seed, instead of the one in the file
    #[arg(long, value_parser = args::seed, help_heading = "Runs")]
    seed: Option<u64>,
    #[command(flatten)]
    runs: RunsArgs,
    #[command(flatten)]
    linux: LinuxArgs,
    #[command(flatten)]
    capture: CaptureArgs,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    probe: ProbeArgs,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Fail if no packet of some flow arrives
    #[arg(long, help_heading = "Outputs")]
    strict: bool,
    /// Do not show the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
    /// Write results; the name says what: a folder for a page, plots and JSON, time series included; .pdf, .svg or
    /// .png for one figure, the first link over time (`paceline plot` makes all figures, in any size); .csv or .parquet
    /// for the table; .json
    #[arg(short, long, value_name = "PATH", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Write a row for each link and flow into this CSV or Parquet file, with the fields of JSON as columns; - for
    /// standard output, instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    csv: Option<PathBuf>,
    /// Write links and flows over time, with inner values of controllers, into this CSV or Parquet file: a row for each
    /// bin; - for standard output, instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    series: Option<PathBuf>,
}

impl Run {
    pub(crate) fn run(self) -> Result<(), Error> {
        let mut scenario = read_scenario(&self.file)?;
        let flows = scenario.arrivals.iter().map(|arrivals| &arrivals.flow).chain(&scenario.flows);
        let schemes = flows.map(|flow| &flow.scheme);
        let warnings = scenario.links.iter().filter_map(|link| match &link.capacity {
            Capacity::Trace { trace, .. } => paceline_trace::warning(trace),
            _ => None,
        });
        // Several links may have one trace.
        for warning in warnings.collect::<BTreeSet<String>>() {
            output::note(&format!("warning: {warning}"));
        }
        let guest = self.linux.find(schemes.clone())?;
        let guest = guest.map(|guest| linux_hosts::describe(&guest, schemes)).transpose()?;
        let changes = ScenarioChanges {
            duration: self.duration,
            seed: self.seed,
            runs: self.runs.runs,
            spread: self.runs.spread,
            ..ScenarioChanges::default()
        };
        let wrong = |error: &dyn Display| Error::Usage(format!("{}: {error}", self.file.display()));
        let changed = changes.make(&mut scenario);
        changed.map_err(|error| wrong(&format!("{}: {}", error.option(), error.problem)))?;
        if let Some(path) = self.capture.path() {
            check_capture(path, &scenario)?;
        }
        if let Some(path) = self.log.path() {
            check_log(path, &scenario)?;
        }
        if let Some(path) = self.probe.path() {
            check_probe(path, &scenario)?;
        }
        // Plots over time need bins; JSON without a page has the series that the file asks for.
        let wants_series = self.output.is_some() || self.series.is_some();
        if let (true, Record::Metrics) = (wants_series, scenario.record) {
            scenario.record = Record::Series(Record::BIN);
        }
        // Fails now rather than after the run.
        let wanted = results::prepare(self.output.as_deref(), &Kind::ALL)?;
        results::prepare_table("--csv", self.csv.as_deref())?;
        results::prepare_table("--series", self.series.as_deref())?;
        let printed = [
            ("--csv", self.csv.as_deref()),
            ("--series", self.series.as_deref()),
            ("--probe", self.probe.path()),
        ];
        let is_csv = results::replaces_tables(self.json, &printed)?;
        let capture = self.capture.open()?;
        scenario.capture = capture.as_ref().map(CaptureFile::capture);
        let logs = self.log.open()?;
        scenario.log = logs.as_ref().map(LogFiles::log);
        let probe = self.probe.open()?;
        scenario.probe = probe.as_ref().map(ProbeTable::probe);
        let runs = several::run_all(&scenario).map_err(|error| wrong(&error));
        // The packets before an error are kept, since they may show its cause.
        let captured = capture.map_or(Ok(()), |file| file.finish());
        let logged = logs.map_or(Ok(()), |files| files.finish());
        let probed = probe.map_or(Ok(()), |table| table.finish(self.quiet));
        let runs = runs?;
        if !host::go_on() {
            return Err(Error::Message("the runs were ended".into()));
        }
        let silent = |name: &str| {
            let end = scenario.duration;
            let is_of = |flow: &FlowSpec| {
                let copy =
                    name.strip_prefix(flow.name.as_str()).and_then(|it| it.strip_prefix('-'));
                let is_copy = copy.is_some_and(|number| number.parse::<u32>().is_ok());
                flow.name == name || (flow.count > 1 && is_copy)
            };
            let is_late = |flow: &&FlowSpec| is_of(flow) && flow.start >= end;
            let cause = scenario.flows.iter().find(is_late).map_or_else(String::new, |flow| {
                format!("; it starts at {}, after the end of the run at {end}", flow.start)
            });
            format!("flow {name}: nothing arrived{cause}")
        };
        let csv = self.csv.as_deref();
        let rows = several::csv_rows(&runs);
        let seed = Some(scenario.seed);
        let write = |json: &dyn Fn(&Path) -> Result<(), Error>| match wanted {
            Some((path, Kind::Json)) => json(path),
            Some((path, Kind::Table)) => results::write_rows(path, &rows, self.quiet),
            Some((path, Kind::Figure)) => self.write_figure(path, &scenario, &runs),
            Some((folder, Kind::Folder)) => self.write(folder, &scenario, &runs, &guest),
            None => Ok(()),
        };
        let table = csv.map_or(Ok(()), |path| results::write_rows(path, &rows, self.quiet));
        let series = self.series.as_deref().map_or(Ok(()), |path| {
            results::write_sheet(path, &Sheet::of_table(series::of_runs(&runs)), self.quiet)
        });
        let (printed, warnings): (_, Vec<String>) = match &runs[..] {
            [(_, outcome)] => {
                let flows = outcome.flows.iter().filter(|flow| flow.goodput_mbps == 0.0);
                let fields = RunFields::of(outcome);
                let fields = of_guest(&fields, &guest);
                let written = write(&|path| results::write_json(path, &fields, seed, self.quiet));
                let printed = match self.json {
                    true => output::print_json(&fields),
                    false if is_csv => Ok(()),
                    false => output::print(&(tables(outcome) + &guest_line(&guest))),
                };
                (written.and(printed), flows.map(|flow| silent(&flow.name)).collect())
            }
            _ => {
                let Some(all) = ScenarioRuns::of(&runs) else { return Ok(()) };
                let flows = all.flows.iter().filter(|flow| flow.goodput_mbps.median == 0.0);
                let warnings = flows.map(|flow| silent(flow.name)).collect();
                let fields = of_guest(&all, &guest);
                let written = write(&|path| results::write_json(path, &fields, seed, self.quiet));
                let printed = match self.json {
                    true => output::print_json(&fields),
                    false if is_csv => Ok(()),
                    false => output::print(&(several::tables(&all) + &guest_line(&guest))),
                };
                (written.and(printed), warnings)
            }
        };
        table
            .and(series)
            .and(captured)
            .and(logged)
            .and(probed)
            .and(printed)
            .and(output::warn(&warnings, self.strict))
    }

    /// Writes the first figure.
    fn write_figure(
        &self,
        path: &Path,
        scenario: &Scenario,
        runs: &[(SimulatedRun, Outcome)],
    ) -> Result<(), Error> {
        let look = FigureArgs::default();
        let (links, flows) = match runs {
            [(_, outcome)] => paceline_requests::view::views(scenario, outcome),
            _ => paceline_requests::view::views_of_runs(scenario, runs),
        };
        match scenario_figures(&links, &flows, &look.layout()?).first() {
            Some((_, figure)) => {
                look.write(figure, &Made::now(Some(scenario.seed)).sentence(), path, self.quiet)
            }
            None => Err(Error::Message(format!(
                "{}: the scenario has neither a link nor a flow to draw",
                path.display()
            ))),
        }
    }

    /// Writes the page, plots and JSON of these runs. There is at least one run.
    fn write(
        &self,
        folder: &Path,
        scenario: &Scenario,
        runs: &[(SimulatedRun, Outcome)],
        guest: &Option<String>,
    ) -> Result<(), Error> {
        let outcome = &runs[0].1;
        let several = if runs.len() > 1 { ScenarioRuns::of(runs) } else { None };
        let (links, flows) = match several {
            Some(_) => paceline_requests::view::views_of_runs(scenario, runs),
            None => paceline_requests::view::views(scenario, outcome),
        };
        let seed = Some(scenario.seed);
        let json = match &several {
            Some(all) => output::to_saved_json(&of_guest(all, guest), seed)?,
            None => output::to_saved_json(&of_guest(&RunFields::of(outcome), guest), seed)?,
        };
        let mut info = paceline_requests::run_page_info(scenario, runs);
        info.command = command_line();
        info.facts.extend(guest.as_ref().map(|guest| ("Linux guest".into(), guest.clone())));
        let page = paceline_report::scenario_page(&info, &links, &flows);
        let mut written = vec![
            output::write(folder, "run.html", &page)?,
            output::write(folder, "run.json", &json)?,
        ];
        let names: Vec<&str> = links.iter().map(|link| link.trace.as_str()).collect();
        for (link, name) in links.iter().zip(file_names(&names)) {
            let svg = paceline_report::time_series_svg(std::slice::from_ref(link));
            let svg = with_description(&svg, &Made::now(seed).sentence());
            written.push(output::write(folder, &format!("link-{name}.svg"), &svg)?);
        }
        let list: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        if !self.quiet {
            output::note(&format!("wrote {}", list.join(", ")));
        }
        Ok(())
    }
}

/// Checks that a scenario has packets for a capture in the file `path`. Names the flows whose packets will not be
/// in it.
///
/// # Errors
/// No flow has packets with bytes, or there are several runs.
fn check_capture(path: &Path, scenario: &Scenario) -> Result<(), Error> {
    let (captured, simulated) = flows_by(scenario, CustomTransport::has_bytes);
    let path = path.display();
    if captured.is_empty() {
        return Err(Error::Usage(format!("--pcap {path}: {NO_BYTES}")));
    }
    if scenario.runs.count > 1 {
        let runs = scenario.runs.count;
        return Err(Error::Usage(format!(
            "--pcap {path}: the scenario has {runs} runs, and a file takes the packets of one: add --runs 1"
        )));
    }
    if !simulated.is_empty() {
        let names: Vec<&str> = simulated.iter().map(|flow| flow.name.as_str()).collect();
        output::note(&format!(
            "{path} will not have the packets of simulated flows, which have no bytes: {}",
            names.join(", ")
        ));
    }
    Ok(())
}

/// Checks that a scenario has flows for logs in `path`.
///
/// # Errors
/// No flow keeps a log, there are several runs, or several flows for one file.
fn check_log(path: &Path, scenario: &Scenario) -> Result<(), Error> {
    let (logged, _) = flows_by(scenario, CustomTransport::keeps_log);
    let is_file = !is_folder(path);
    let path = path.display();
    let problem = match (&logged[..], scenario.runs.count) {
        ([], _) => {
            "no flow is of a QUIC stack: take one, such as the scheme quinn:own-cubic or noq:bbr3"
                .into()
        }
        (_, runs) if runs > 1 => {
            format!("the scenario has {runs} runs, and logs take the events of one: add --runs 1")
        }
        ([_, ..], _) if is_file && (logged.len() > 1 || !scenario.arrivals.is_empty()) => {
            format!(
                "several flows are of QUIC stacks, and a file takes one: name a folder, as --qlog {path}/"
            )
        }
        _ => return Ok(()),
    };
    Err(Error::Usage(format!("--qlog {path}: {problem}")))
}

/// Checks that a scenario has Linux hosts, whose events are written to the file `path`.
///
/// # Errors
/// It has none, or there are several runs.
fn check_probe(path: &Path, scenario: &Scenario) -> Result<(), Error> {
    let (probed, _) = flows_by(scenario, CustomTransport::has_probe);
    let problem = match (&probed[..], scenario.runs.count) {
        ([], _) => {
            "no flow has Linux hosts, whose kernels report events: take host = \"linux\", or the scheme linux:cubic. \
             --series has inner values of the simulator's schemes"
                .into()
        }
        (_, runs) if runs > 1 => {
            format!("the scenario has {runs} runs, and a file takes the events of one: add --runs 1")
        }
        _ => return Ok(()),
    };
    Err(Error::Usage(format!("--probe {}: {problem}", path.display())))
}

/// Returns the flows whose transports are of a kind, and the others.
fn flows_by(
    scenario: &Scenario,
    is_of_kind: impl Fn(&CustomTransport) -> bool,
) -> (Vec<&FlowSpec>, Vec<&FlowSpec>) {
    let arrivals = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
    arrivals
        .chain(&scenario.flows)
        .partition(|flow| matches!(&flow.scheme, SchemeChoice::Transport(made) if is_of_kind(made)))
}

/// A result as JSON, with the Linux guest that took part, if one did.
#[derive(Serialize)]
struct OfGuest<'a, T> {
    #[serde(flatten)]
    result: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    linux_guest: Option<&'a str>,
}

fn of_guest<'a, T>(result: &'a T, guest: &'a Option<String>) -> OfGuest<'a, T> {
    OfGuest { result, linux_guest: guest.as_deref() }
}

/// Returns the last line of the tables, which names the Linux guest that took part.
fn guest_line(guest: &Option<String>) -> String {
    guest.as_ref().map_or_else(String::new, |guest| format!("\nLinux guest: {guest}\n"))
}

/// Reads a scenario file. The error shows the line that has a mistake.
pub(crate) fn read_scenario(file: &Path) -> Result<Scenario, Error> {
    let name = file.display().to_string();
    let text =
        output::read(file, LARGEST).map_err(|error| super::scenario::with_example(error, file))?;
    let text = String::from_utf8(text).map_err(|error| {
        let unreadable =
            || Error::Usage(format!("{name}: cannot be read: a scenario is text in UTF-8"));
        kinds::instead_of(FileKind::Scenario, file, error.as_bytes()).unwrap_or_else(unreadable)
    })?;
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Usage(format!(
            "{name}: this is a trace of a link, not a scenario: `paceline compare --trace {name}`, or trace = \
             \"{name}\" below [[link]] of a scenario"
        )));
    }
    scenario::parse_with(&name, &text, file.parent(), registries::names()).map_err(|error| {
        let other = kinds::instead_of(FileKind::Scenario, file, text.as_bytes());
        other.unwrap_or_else(|| diagnostic(&error, &text))
    })
}

/// Returns an error for a mistake, with its place if it has one.
fn diagnostic(error: &ScenarioError, text: &str) -> Error {
    let Some(span) = error.span.clone() else {
        return Error::Diagnostic(format!("error: {error}"));
    };
    let (message, help) = (error.message.as_str(), error.help.as_deref());
    Mistake { file: &error.file, text, span, message, help }.error()
}

/// Returns a table for the stations of each shared medium.
fn media(outcome: &Outcome) -> String {
    let mut text = String::new();
    for medium in &outcome.media {
        let cells = cells::<LinkOutcome>(TextTable::Stations, &[]);
        let columns = headings(&cells);
        let columns = columns.iter().map(String::as_str);
        let own = ["frames", "collided %", "airtime %"];
        let all: Vec<&str> = iter::once("sender").chain(columns).chain(own).collect();
        let mut grid = Grid::numbers(&all);
        for station in &medium.stations {
            let link = &station.link;
            let collided = station.collisions as f64 / station.transmissions.max(1) as f64;
            let mut row = vec![link.name.clone()];
            row.extend(cells.iter().map(|cell| link.text(cell)));
            row.extend([
                station.transmissions.to_string(),
                percent(collided),
                percent(station.airtime),
            ]);
            grid.row(row);
        }
        text += &grid.text();
        text.push('\n');
    }
    text
}

/// The table of links, or an empty text without any.
fn links<R: TableRow>(table: TextTable, rows: &[R], name: impl Fn(&R) -> &str) -> String {
    match rows.is_empty() {
        true => String::new(),
        false => {
            let cells = cells(table, rows);
            grid_of(&["link"], &cells, rows, |row| vec![name(row).into()]) + "\n"
        }
    }
}

/// The table of flows, or an empty text without any. `names` has a flow's name and scheme.
fn flows<R: TableRow>(table: TextTable, rows: &[R], names: impl Fn(&R) -> [&str; 2]) -> String {
    match rows.is_empty() {
        true => String::new(),
        false => grid_of(&["flow", "scheme"], &cells(table, rows), rows, |row| {
            names(row).map(str::to_string).to_vec()
        }),
    }
}

fn tables(outcome: &Outcome) -> String {
    let mut text = format!("{}, {} s\n\n", outcome.name, figure(outcome.duration_s));
    text += &links(TextTable::Links, &outcome.links, |link| &link.name);
    text += &media(outcome);
    text += &flows(TextTable::Flows, &outcome.flows, |flow| [&flow.name, &flow.scheme]);
    if outcome.flows.len() > 1 {
        text += &format!("\nJain's index {}\n", fixed(outcome.jain(), 3));
    }
    if let Some(arrivals) = &outcome.arrivals {
        let times = arrivals.completion_ms.map_or_else(String::new, |times| {
            let (mean, p95) = (figure(times.mean), figure(times.p95));
            format!("; completion time mean {mean} ms, p95 {p95} ms")
        });
        text += &format!(
            "\n{} of {} short flows finished, {} Mbit/s{times}\n",
            arrivals.finished,
            arrivals.arrived,
            figure(arrivals.goodput_mbps),
        );
    }
    text += &format!("\ndigest {}\n", outcome.digest);
    if outcome.system_random {
        text += "a congestion control draws random numbers from the system: the next run has another digest\n";
    } else if !outcome.seed_used {
        text += "nothing was drawn at random: other seeds give the same run\n";
    }
    text
}

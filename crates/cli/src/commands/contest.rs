//! `paceline contest`: ranks many entries on a training trace and on a secret one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use paceline_cc::spec::split_list;
use paceline_cc::{SchemeSpec, Span};
use paceline_emulator::shell::ServerPort;
use paceline_lab::contest::expand;
use paceline_lab::standings::{Attempt, Attempts, OverRuns, RunFigures, rank};
use paceline_path::BufferSize;
use paceline_report::{PageInfo, Quantiles, RunView, compare_page};
use paceline_requests::compare::Comparison;
use paceline_requests::numbers::{figure, range};
use paceline_sim::runs::Runs;
use paceline_sim::scenario::Capacity;
use paceline_tasks::{Record, Store, Task};
use rayon::prelude::*;

use crate::args;
use crate::host;
use crate::names::command_line;
use crate::output::{self, Error};
use crate::registries;
use crate::results::{self, Kind};
use crate::runs::{ONE_SCHEME, RunsArgs};
use crate::table::Grid;
use crate::temporary::Folder;

/// Hold a contest of protocols: a leaderboard by power on a training trace and on a secret one
///
/// Winstein's thesis, section 2.5. Power is throughput over the 95th percentile of the one-way delay.
#[derive(Args)]
#[command(mut_arg("runs", RunsArgs::stated("", "1")))]
#[command(mut_arg("spread", RunsArgs::stated(ONE_SCHEME, "1s")))]
#[command(after_help = "\
Examples:
  paceline contest --entries 'cubic[beta=0.5..0.9/9],copa[delta=0.1..1.0],sprout,bbr'
  paceline contest --entries sprout,abc --training verizon.down --secret att.down -o out
  paceline contest --command 'tcp=iperf3 -c $PACELINE_BASE -t 70' \\
    --outside 'iperf3 -s' --wait-for 5201")]
pub(crate) struct Contest {
    /// Schemes, separated by commas; ./mine.py is a controller in Python. A parameter may be a range such as
    /// 0.5..0.9/5 or a list such as a|b; the entry then stands for one scheme per value
    #[arg(
        long,
        value_name = "LIST",
        default_value = "sprout,cubic,bbr,copa[delta=0.1..1.0/4]",
        help_heading = "Entries"
    )]
    entries: String,
    /// A program that sends through the emulated link, in real time, for longer than --duration, after which it gets SIGTERM;
    /// may be given several times
    #[arg(long = "command", value_name = "NAME=COMMAND", value_parser = command, help_heading = "Entries")]
    commands: Vec<(String, String)>,
    /// A command that runs outside the emulated link beside the programs of --command, such as a
    /// server
    #[arg(long, value_name = "COMMAND", requires = "commands", help_heading = "Entries")]
    outside: Option<String>,
    /// Start each program when a server listens at this port outside: 5201, or 4433/udp. Fails if none does within 30 s,
    /// or if the command of --outside fails
    #[arg(long, value_name = "PORT", requires = "commands", help_heading = "Entries")]
    wait_for: Option<ServerPort>,
    /// The trace that entries are made for
    #[arg(
        long,
        value_name = "NAME|FILE|RATE",
        default_value = "lte-driving",
        help_heading = "Links"
    )]
    training: String,
    /// The trace that decides
    #[arg(
        long,
        value_name = "NAME|FILE|RATE",
        default_value = "lte-walking",
        help_heading = "Links"
    )]
    secret: String,
    /// Round-trip propagation delay
    #[arg(long, default_value = "40ms", value_parser = args::rtt, help_heading = "Links")]
    rtt: Span,
    /// The link's buffer: packets, or 64kB, 50ms (at its mean rate), 1bdp, inf, sojourn=50ms (the longest wait)
    #[arg(long, default_value = "inf", value_parser = args::buffer, help_heading = "Links")]
    buffer: BufferSize,
    /// How long each entry runs on each trace
    #[arg(long, default_value = "60s", value_parser = args::length, help_heading = "Runs")]
    duration: Span,
    /// The seed of all random streams
    #[arg(long, value_parser = args::seed, default_value_t = 1, help_heading = "Runs")]
    seed: u64,
    #[command(flatten)]
    runs: RunsArgs,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Do not show progress or the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
    /// Write results; the name says what: a folder for a page and JSON, where finished runs are kept, too; .csv or
    /// .parquet for the table; .json
    #[arg(short, long, value_name = "PATH", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Write a row for each attempt into this CSV or Parquet file, with the fields of JSON as columns; - for standard output,
    /// instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    csv: Option<PathBuf>,
}

fn command(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && !command.is_empty() => {
            Ok((name.into(), command.into()))
        }
        _ => Err("expected NAME=COMMAND, as tcp='iperf3 -c $PACELINE_BASE'".into()),
    }
}

/// Kinds of results that -o writes.
const WRITTEN: [Kind; 3] = [Kind::Folder, Kind::Table, Kind::Json];

/// A participant.
enum Entry {
    Scheme(String, SchemeSpec),
    Command(String, String),
}

impl Contest {
    pub(crate) fn run(self) -> Result<(), Error> {
        let entries = self.entries()?;
        let wanted = results::prepare(self.output.as_deref(), &WRITTEN)?;
        results::prepare_table("--csv", self.csv.as_deref())?;
        let is_csv = results::replaces_tables(self.json, &[("--csv", self.csv.as_deref())])?;
        let store = match wanted {
            Some((folder, Kind::Folder)) => {
                let runs = folder.join("runs");
                let fail = |source| Error::Io { path: Some(runs.clone()), source };
                Store::open_with(&runs, host::salt()).map_err(fail)?
            }
            Some(_) | None => Store::disabled(),
        };
        let (mut attempts, unkept) = (Vec::new(), Mutex::new(Vec::new()));
        for (round, trace) in [("training", &self.training), ("secret", &self.secret)] {
            attempts.extend(self.round(round, trace, &entries, (&store, &unkept))?);
        }
        let printed = match self.json {
            true => output::print_json(&Attempts { attempts: &attempts }),
            false if is_csv => Ok(()),
            false => output::print(&tables(&attempts)),
        };
        // Prints and writes as many results as possible, also if some could not be kept.
        let unkept = unkept.into_inner().unwrap_or_default();
        let mut unwritten: Vec<String> = output::unkept(&unkept).into_iter().collect();
        if let Some((folder, Kind::Folder)) = wanted {
            unwritten.extend(self.write(folder, &attempts));
        }
        let document = Attempts { attempts: &attempts };
        let csv = self.csv.as_deref();
        let tables =
            results::write_both(wanted, csv, &attempts, (&document, Some(self.seed)), self.quiet);
        let warnings: Vec<String> = attempts.iter().filter_map(Attempt::warning).collect();
        output::all_of(&unwritten).and(tables).and(printed).and(output::warn(&warnings, false))
    }

    fn entries(&self) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let parts = split_list(&self.entries).map_err(|error| Error::Usage(error.to_string()))?;
        for part in parts {
            for written in expand(part).map_err(Error::Usage)? {
                for name in registries::names().expand(&written) {
                    let specs = args::schemes(&name).map_err(Error::Usage)?.0;
                    for spec in specs {
                        if entries
                            .iter()
                            .any(|entry| matches!(entry, Entry::Scheme(_, known) if *known == spec))
                        {
                            return Err(Error::Usage(format!(
                                "--entries: {spec} stands in the list twice"
                            )));
                        }
                        entries.push(Entry::Scheme(spec.to_string(), spec));
                    }
                }
            }
        }
        if !self.commands.is_empty() && host::has_controllers() {
            return Err(Error::Usage(
                "--command: programs and controllers in Python need contests of their own; give both the same traces, \
                 --duration and --rtt"
                    .into(),
            ));
        }
        let commands = self.commands.iter().cloned();
        entries.extend(commands.map(|(name, command)| Entry::Command(name, command)));
        Ok(entries)
    }

    /// Runs all entries on one trace.
    fn round(
        &self,
        round: &'static str,
        written: &str,
        entries: &[Entry],
        store: (&Store, &Unkept),
    ) -> Result<Vec<Attempt>, Error> {
        let (trace, capacity) = args::capacity(written).map_err(Error::Usage)?;
        let names = Arc::new(registries::names().clone());
        let is_command = |entry: &&Entry| matches!(entry, Entry::Command(..));
        let commands = entries.iter().filter(is_command).count();
        let runs_of_each = self.runs.or(Runs::default()).count as usize;
        let all_runs = (entries.len() - commands) * runs_of_each + commands;
        let bar = output::progress(self.quiet, all_runs);
        let simulated = |name: &String, spec: &SchemeSpec| {
            let comparison = self.comparison(&trace, &capacity, spec);
            let one = |number: u32| {
                let task = Task::scenario_with(
                    name.clone(),
                    comparison.run_number(number).1,
                    names.clone(),
                );
                let found = kept(store, &task)?;
                bar.inc(1);
                bar.set_message(name.clone());
                Ok(RunFigures {
                    throughput_mbps: found.number("link.link.throughput"),
                    delay_ms: found.number("all.owd.p95"),
                    capacity_mbps: found.number("link.link.capacity"),
                })
            };
            let runs = 1..=comparison.runs.count;
            let runs = runs.into_par_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
            Ok(Attempt::of_runs((name, "scheme"), (round, &trace), &runs))
        };
        let mut attempts = entries
            .par_iter()
            .filter_map(|entry| match entry {
                Entry::Scheme(name, spec) => Some(simulated(name, spec)),
                Entry::Command(..) => None,
            })
            .collect::<Result<Vec<Attempt>, Error>>()?;
        // Programs run in real time, one after the other, so that they do not disturb each other.
        for entry in entries {
            let Entry::Command(name, command) = entry else { continue };
            bar.set_message(name.clone());
            let task = self.emulated(name, command, written);
            let found = kept(store, &task)?;
            bar.inc(1);
            let figures = RunFigures {
                throughput_mbps: found.number("throughput"),
                delay_ms: found.number("delay"),
                capacity_mbps: found.number("capacity"),
            };
            attempts.push(Attempt::of_runs((name, "command"), (round, &trace), &[figures]));
        }
        bar.finish_and_clear();
        rank(&mut attempts);
        let any = args::schemes("cubic").map_err(Error::Usage)?.0.remove(0);
        let comparison = self.comparison(&trace, &capacity, &any);
        let runs = 1..=comparison.runs.count;
        let best = runs.map(|number| comparison.omniscient(number)).collect::<Result<Vec<_>, _>>();
        let best = best.map_err(|error| Error::Message(format!("{trace}: {error}")))?;
        attempts.push(Attempt::of_bound((round, &trace), &best));
        Ok(attempts)
    }

    fn comparison(&self, trace: &str, capacity: &Capacity, scheme: &SchemeSpec) -> Comparison {
        Comparison {
            rtt: self.rtt,
            buffer: self.buffer,
            duration: self.duration,
            seed: self.seed,
            runs: self.runs.or(Runs::default()),
            ..Comparison::new(trace, capacity.clone(), scheme.clone())
        }
    }

    /// Returns the task that runs a program inside the emulated link. The trace is the uplink's;
    /// the downlink is fast.
    fn emulated(&self, name: &str, command: &str, trace: &str) -> Task {
        let Contest { rtt, buffer, duration, outside, wait_for, .. } = self;
        let (rtt, buffer, duration) = (*rtt, buffer.to_string(), *duration);
        let key = format!("{command} / {outside:?} / {trace} / {rtt} / {buffer} / {duration}");
        let (command, trace) = (command.to_string(), trace.to_string());
        let (name, outside) = (name.to_string(), outside.clone().map(|it| (it, *wait_for)));
        Task::other(name, key, duration.as_secs_f64(), move || {
            emulate(&command, outside.as_ref(), &trace, rtt, &buffer, duration)
        })
    }

    /// Writes the page and the JSON. Returns an error text for each file that could not be written.
    fn write(&self, folder: &Path, attempts: &[Attempt]) -> Vec<String> {
        let half = self.rtt.as_millis_f64() / 2.0;
        let view = |attempt: &Attempt| RunView {
            trace: format!("{} ({})", attempt.trace, attempt.round),
            scheme: attempt.entry.clone(),
            capacity_mbps: attempt.capacity_mbps,
            throughput_mbps: attempt.throughput_mbps,
            utilization: attempt.utilization,
            queue_delay_ms: Quantiles { p95: attempt.delay_ms - half, ..Quantiles::default() },
            bound: attempt.kind == "bound",
            ..RunView::default()
        };
        let views: Vec<RunView> = attempts.iter().map(view).collect();
        let info = PageInfo {
            title: "Contest".into(),
            explanation: format!(
                "Each entry for {} on the training trace and on the secret one; the round-trip \
                 propagation delay is {}. Delays are those of queues. The leaderboard by power is in \
                 contest.json.",
                self.duration, self.rtt
            ),
            command: command_line(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: Some(self.seed),
            facts: leaders(attempts),
        };
        let json = output::to_saved_json(&Attempts { attempts }, Some(self.seed));
        let files = [("contest.html", Ok(compare_page(&info, &views))), ("contest.json", json)];
        output::write_each(folder, files, self.quiet)
    }
}

/// Returns the first of each round, for the page's end.
fn leaders(attempts: &[Attempt]) -> Vec<(String, String)> {
    let first = attempts.iter().filter(|attempt| attempt.place == Some(1));
    let text = |attempt: &Attempt| {
        format!("{}, power {}", attempt.entry, figure(attempt.power.unwrap_or(f64::NAN)))
    };
    first.map(|attempt| (format!("first, {}", attempt.round), text(attempt))).collect()
}

/// Errors of keeping results.
type Unkept = Mutex<Vec<String>>;

/// Returns the result of a run, from the store if it was made before.
fn kept((store, unkept): (&Store, &Unkept), task: &Task) -> Result<Record, Error> {
    if let Some(found) = store.find(task) {
        return Ok(found);
    }
    let stopped = || Error::Message(format!("{}: stopped", task.name));
    if !host::go_on() {
        return Err(stopped());
    }
    let made = task.run().map_err(|error| Error::Message(format!("{}: {error}", task.name)))?;
    // The run of a controller that has failed is no result.
    if !host::go_on() {
        return Err(stopped());
    }
    if let (Err(error), Ok(mut unkept)) = (store.keep(task, &made), unkept.lock()) {
        unkept.push(error.to_string());
    }
    Ok(made)
}

/// Runs a program behind the emulated link, and reads the link's summary.
fn emulate(
    command: &str,
    outside: Option<&(String, Option<ServerPort>)>,
    trace: &str,
    rtt: Span,
    buffer: &str,
    duration: Span,
) -> Result<Record, String> {
    let program = crate::host::program()?;
    // A private folder, in which no other user can have put a file of this name.
    let folder = Folder::make("contest").map_err(|error| error.to_string())?;
    let file = folder.file("summary.json");
    let half = (rtt / 2).to_string();
    let mut run = Command::new(&program);
    run.args(["delay", "-q"]);
    if let Some((outside, server)) = outside {
        run.args(["--outside", outside]);
        if let Some(server) = server {
            run.args(["--wait-for", &server.written()]);
        }
    }
    run.args([half.as_str(), "--"]).arg(&program).args(["link", "-q", "--up", trace]);
    run.args(["--down", "1Gbps", "--up-buffer", buffer, "--summary"]).arg(&file);
    run.args(["--", "sh", "-c", command]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = run.spawn().map_err(|error| format!("the emulator: {error}"))?;
    run_for(&mut child, duration)?;
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("the link has written no summary: {error}"))?;
    let all: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let up = &all["up"];
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    let queue = number(&up["queue_delay_ms"]["p95"]);
    let mut record = Record::default();
    record.set("throughput", number(&up["throughput_mbps"]));
    record.set("capacity", number(&up["capacity_mbps"]));
    record.set("delay", queue + rtt.as_millis_f64() / 2.0);
    Ok(record)
}

/// Waits until `duration` is over, and ends the emulator, which then ends its program and writes its summary.
///
/// # Errors
/// The program has ended before: it has failed, or has not sent all the time, so that its figures are not those of
/// `duration`.
fn run_for(emulator: &mut Child, duration: Span) -> Result<(), String> {
    let patience = Duration::from_nanos(duration.as_nanos());
    let begun = Instant::now();
    while begun.elapsed() <= patience {
        if let Some(status) = emulator.try_wait().map_err(|error| error.to_string())? {
            let after = figure(begun.elapsed().as_secs_f64());
            return Err(format!(
                "the program has ended after {after} s ({status}); it must send for more than {duration}"
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let id = emulator.id().to_string();
    let _ = Command::new("kill").args(["-TERM", &id]).status();
    emulator.wait().map(drop).map_err(|error| error.to_string())
}

/// Returns a leaderboard for each round.
fn tables(attempts: &[Attempt]) -> String {
    let mut text = String::new();
    for round in ["training", "secret"] {
        let own: Vec<&Attempt> = attempts.iter().filter(|it| it.round == round).collect();
        let Some(first) = own.first() else { continue };
        text += &format!("{round}: {}, {} Mbit/s\n", first.trace, figure(first.capacity_mbps));
        let mut grid =
            Grid::after(2, &["place", "entry", "Mbit/s", "delay ms p95", "power", "front"]);
        for attempt in own {
            let [throughput, delay, power] = match &attempt.over_runs {
                Some(OverRuns { throughput_mbps, delay_ms, power }) => [
                    range(throughput_mbps),
                    range(delay_ms),
                    power.as_ref().map_or("-".into(), range),
                ],
                None => [
                    figure(attempt.throughput_mbps),
                    figure(attempt.delay_ms),
                    attempt.power.map_or("-".into(), figure),
                ],
            };
            grid.row(vec![
                attempt.place.map_or(String::new(), |place| place.to_string()),
                attempt.entry.clone(),
                throughput,
                delay,
                power,
                if attempt.on_front { "*".into() } else { String::new() },
            ]);
        }
        text += &grid.text();
        text.push('\n');
    }
    text
}

//! `paceline remy eval`: measures tables and schemes on a network, or on those of a specification.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_cc::Span;
use paceline_cc::spec::split_list;
use paceline_path::BufferSize;
use paceline_remy::spec::{Specification, Specimen};
use paceline_remy::{Assessment, Estimate, EvalRow, StarvedSender};
use paceline_requests::evaluation::{EvaluationError, EvaluationNetwork, EvaluationRequest};
use paceline_requests::numbers::{figure, range_as};
use paceline_schemes::remy::RemyTables;
use paceline_sim::runs::Spread;
use serde::Serialize;

use crate::args;
use crate::output::{self, Error};
use crate::registries;
use crate::results::TableFiles;
use crate::table::{Grid, counted};

/// Most senders named in a note about senders without arrivals.
const STARVED_NAMED: usize = 5;

#[derive(Args)]
#[command(after_help = "\
Senders begin off, and are on and off for exponentially distributed times. Packets have 1250 bytes.
Throughput is packets over a sender's equal share of the time, as the published program counts it;
the score is the mean over senders of log2(throughput / link) - log2(delay / RTT).

Examples:
  paceline remy eval RemyCC-2014-100x.dna --link 15Mbps --rtt 150ms --senders 2
  paceline remy eval starter --scheme cubic,copa --link 15Mbps --buffer 1000 --json
  paceline remy eval general-delta1 --link 15Mbps --rtt 150ms --jitter 1ms
  paceline remy eval mine.toml other.dna --on scenarios/remy/unseen.toml --seeds 8")]
pub(crate) struct Eval {
    /// Tables: files, or the names of built-in ones
    #[arg(value_name = "TABLE", required_unless_present = "schemes")]
    tables: Vec<String>,
    /// Schemes to measure as well, separated by commas
    #[arg(long = "scheme", value_name = "LIST", help_heading = "Senders")]
    schemes: Vec<String>,
    /// Mean time for which senders are on [default: 5s]; or a specification, a file whose name ends
    /// in .toml, whose networks to use
    #[arg(long, value_name = "TIME|SPEC", value_parser = on, allow_hyphen_values = true, help_heading = "Network")]
    on: Option<OnArgument>,
    #[command(flatten)]
    network: OneNetwork,
    /// How long each run is [default: 1000s, or what the specification says]
    #[arg(long, value_parser = args::length, allow_hyphen_values = true, help_heading = "Runs")]
    duration: Option<Span>,
    /// Let senders of tables send lost data again and count timeouts, as when tables are used;
    /// without this option they behave as in the published simulator, which repairs nothing
    #[arg(long, help_heading = "Senders")]
    repairs: bool,
    /// Number of runs, each with its own seed
    #[arg(long, alias = "runs", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Runs")]
    seeds: u32,
    /// Where in a link's recording the runs start: within a time, or `trace` for anywhere; not with a
    /// specification
    #[arg(long, value_name = "TIME|trace", default_value = "1s", value_parser = paceline_requests::written::spread, help_heading = "Runs")]
    spread: Spread,
    /// The first seed
    #[arg(long, value_parser = args::seed, default_value_t = 1, help_heading = "Runs")]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    #[command(flatten)]
    files: TableFiles,
    /// Do not show the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// Options of the network, unless a specification describes it.
#[derive(Args)]
#[command(next_help_heading = "Network")]
struct OneNetwork {
    /// The link: a rate, a built-in trace, or a trace file [default: 15Mbps]
    #[arg(long, value_name = "RATE|NAME|FILE")]
    link: Option<String>,
    /// The RTT without a queue [default: 150ms]
    #[arg(long, value_parser = args::length, allow_hyphen_values = true)]
    rtt: Option<Span>,
    /// Number of senders [default: 2]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    senders: Option<u32>,
    /// Mean time for which senders are off [default: 5s]
    #[arg(long, value_parser = args::span, allow_hyphen_values = true)]
    off: Option<Span>,
    /// The buffer of the link: packets, or 64kB, 50ms (at its mean rate), 1bdp, inf, sojourn=50ms
    /// (the longest wait) [default: inf]
    #[arg(long, value_parser = args::buffer, allow_hyphen_values = true)]
    buffer: Option<BufferSize>,
    /// Share of packets that are lost behind the link [default: 0]
    #[arg(long, value_parser = share, allow_hyphen_values = true)]
    loss: Option<f64>,
    /// The mean of an additional random delay of acknowledgements (exponential), as of
    /// `compare --jitter` [default: 0s]
    #[arg(long, value_parser = args::span, allow_hyphen_values = true)]
    jitter: Option<Span>,
    /// RTTs that exceed the smallest one by at most this count as the smallest, for senders of
    /// tables [default: that of each table, which is 10ns unless its file says otherwise]
    #[arg(long, value_parser = args::span, allow_hyphen_values = true)]
    resolution: Option<Span>,
}

impl OneNetwork {
    /// Returns the first given option that is meaningless with a specification.
    fn given(&self) -> Option<&'static str> {
        [
            (self.link.is_some(), "--link"),
            (self.rtt.is_some(), "--rtt"),
            (self.senders.is_some(), "--senders"),
            (self.off.is_some(), "--off"),
            (self.buffer.is_some(), "--buffer"),
            (self.loss.is_some(), "--loss"),
            (self.jitter.is_some(), "--jitter"),
            (self.resolution.is_some(), "--resolution"),
        ]
        .into_iter()
        .find_map(|(given, name)| given.then_some(name))
    }
}

/// The value of `--on`.
#[derive(Clone, Debug)]
enum OnArgument {
    Time(Span),
    Specification(PathBuf),
}

/// Reads a time, or the name of a specification's file.
fn on(text: &str) -> Result<OnArgument, String> {
    if text.ends_with(".toml") {
        return Ok(OnArgument::Specification(PathBuf::from(text)));
    }
    args::length(text).map(OnArgument::Time).map_err(|problem| {
        format!("{problem}, or a specification, a file whose name ends in .toml")
    })
}

#[derive(Serialize)]
struct EvalDocument {
    rows: Vec<EvalRow>,
}

/// Reads a probability below 1.
fn share(text: &str) -> Result<f64, String> {
    let share = <f64 as paceline_cc::ParamValue>::read(text)?;
    if (0.0..1.0).contains(&share) {
        Ok(share)
    } else {
        Err("expected a number from 0 to below 1, or a percentage".into())
    }
}

/// JSON of an evaluation on a specification.
#[derive(Serialize)]
struct Assessments {
    seeds: usize,
    networks: usize,
    rows: Vec<Assessment>,
}

impl Eval {
    pub(crate) fn run(self) -> Result<(), Error> {
        self.files.prepare(self.json)?;
        match &self.on {
            Some(OnArgument::Specification(file)) => {
                if let Some(name) = self.network.given() {
                    let file = file.display();
                    return Err(Error::Usage(format!(
                        "--on {file} sets the networks: set {name} in that file"
                    )));
                }
                self.on_specification(specification(file)?)
            }
            Some(OnArgument::Time(on)) => self.on_network(Some(*on)),
            None => self.on_network(None),
        }
    }

    /// Returns the request: tables and schemes, number of runs, and their duration.
    fn request(&self) -> Result<EvaluationRequest, Error> {
        let mut schemes = Vec::new();
        for list in &self.schemes {
            let parts = split_list(list).map_err(|error| Error::Usage(error.to_string()))?;
            schemes.extend(parts.into_iter().map(str::to_string));
        }
        Ok(EvaluationRequest {
            tables: self.tables.clone(),
            schemes,
            duration: self.duration,
            first_seed: self.seed,
            seeds: self.seeds,
            repairs: self.repairs,
        })
    }

    fn on_network(&self, on: Option<Span>) -> Result<(), Error> {
        let network = self.network(on)?;
        let rows =
            self.request()?.on_network(&network, registries::names(), &|| true).map_err(failed)?;
        let document = EvalDocument { rows };
        self.files.write(&document.rows, (&document, Some(self.seed)), self.quiet)?;
        if self.json {
            return output::print_json(&document);
        }
        let rows = document.rows;
        let names = short_names(rows.iter().map(|row| row.table.as_str()));
        let mut grid = Grid::numbers(&[
            "table",
            "senders",
            "throughput, Mbit/s",
            "while on, Mbit/s",
            "delay, ms",
            "score per sender",
            "sd",
            "median (90 % of runs)",
            "simulated s/CPU s",
        ]);
        for (row, name) in rows.iter().zip(&names) {
            grid.row(vec![
                name.clone(),
                row.senders.to_string(),
                figure(row.throughput_mbps),
                figure(row.raw_throughput_mbps),
                figure(row.delay_ms),
                format!("{:.4}", row.normalized_score_per_sender),
                format!("{:.4}", row.score_sd),
                range_as(&row.over_runs.normalized_score_per_sender, " to ", |score| {
                    format!("{score:.3}")
                }),
                format!("{:.0}", row.simulated_s_per_cpu_s),
            ]);
        }
        if !self.files.replaces_tables() {
            output::print(&grid.text())?;
        }
        for (row, name) in rows.iter().zip(&names) {
            self.note_starved(name, &row.starved, |one| format!("seed {}", one.seed));
        }
        Ok(())
    }

    /// Writes a note that names the senders of which no packet arrived.
    fn note_starved(
        &self,
        name: &str,
        starved: &[StarvedSender],
        place: impl Fn(&StarvedSender) -> String,
    ) {
        if starved.is_empty() {
            return;
        }
        let some = starved.iter().take(STARVED_NAMED);
        let some: Vec<String> =
            some.map(|one| format!("sender {} ({})", one.sender + 1, place(one))).collect();
        let more = match starved.len().checked_sub(STARVED_NAMED) {
            None | Some(0) => String::new(),
            Some(more) => format!(" and {more} more"),
        };
        let remedy = match self.repairs || self.tables.is_empty() {
            true => "",
            false => "; tables repair nothing here: --repairs makes them send lost packets again",
        };
        output::note(&format!(
            "{name}: no packet of {} arrived, so that the scores mean little: {}{more}{remedy}",
            counted(starved.len(), "sender"),
            some.join(", ")
        ));
    }

    fn on_specification(&self, mut specification: Specification) -> Result<(), Error> {
        let request = self.request()?;
        let seeds = &request.seed_list()?;
        let rows = request
            .on_specification(&mut specification, registries::names(), &|| true)
            .map_err(failed)?;
        let specimens: Vec<Vec<Specimen>> =
            seeds.iter().map(|&seed| specification.specimens(seed)).collect();
        let networks_of_each = specimens.first().map_or(0, Vec::len);
        let document = Assessments { seeds: seeds.len(), networks: networks_of_each, rows };
        self.files.write(&document.rows, (&document, Some(self.seed)), self.quiet)?;
        if self.json {
            return output::print_json(&document);
        }
        let rows = document.rows;
        let names = short_names(rows.iter().map(|row| row.table.as_str()));
        let each = match specification.is_random() {
            true => drawn(&specification, &rows, &names, seeds.len()),
            false => networks(&rows, &names, &specimens),
        };
        if !self.files.replaces_tables() {
            output::print(&(summary(&rows, &names) + "\n" + &each))?;
        }
        for (row, name) in rows.iter().zip(&names) {
            self.note_starved(name, &row.starved, |one| {
                let seed = seeds.iter().position(|seed| *seed == one.seed).unwrap_or(0);
                format!("{}, seed {}", specimens[seed][one.network].network, one.seed)
            });
        }
        Ok(())
    }

    /// Returns the network that the options describe.
    fn network(&self, on: Option<Span>) -> Result<EvaluationNetwork, Error> {
        let (asked, default) = (&self.network, EvaluationNetwork::default());
        let link = asked.link.as_deref().map(args::capacity).transpose().map_err(Error::Usage)?;
        Ok(EvaluationNetwork {
            link: link.map_or(default.link, |(_, link)| link),
            rtt: asked.rtt.unwrap_or(default.rtt),
            senders: asked.senders.unwrap_or(default.senders),
            on: on.unwrap_or(default.on),
            off: asked.off.unwrap_or(default.off),
            buffer: asked.buffer.unwrap_or(default.buffer),
            loss: asked.loss.unwrap_or(default.loss),
            jitter: asked.jitter.unwrap_or(default.jitter),
            resolution: asked.resolution,
            spread: self.spread,
        })
    }
}

fn failed(error: EvaluationError) -> Error {
    match error {
        EvaluationError::Argument(error) => Error::Usage(error.problem),
        error @ EvaluationError::Build { .. } => Error::Message(error.to_string()),
    }
}

/// Reads a specification.
fn specification(file: &std::path::Path) -> Result<Specification, Error> {
    let name = file.display();
    Specification::load(file).map_err(|error| Error::Usage(format!("{name}: {error}")))
}

/// Returns a mean with its confidence interval.
fn estimate(estimate: &Estimate, digits: usize) -> String {
    match estimate.ci95 {
        Some(reach) => format!("{:.digits$} ± {reach:.digits$}", estimate.mean),
        None => format!("{:.digits$}", estimate.mean),
    }
}

/// Returns names of tables and schemes. Files are named without their folders, unless two files
/// then have the same name.
fn short_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let built_in = RemyTables::builtin();
    let short = |name: &str| match name.contains('[') || built_in.find(name).is_some() {
        true => name.to_string(),
        false => {
            let file = Path::new(name).file_name().unwrap_or_default();
            file.to_string_lossy().into_owned()
        }
    };
    let all: Vec<String> = names.iter().map(|name| short(name)).collect();
    let is_alone = |name: &String| all.iter().filter(|other| *other == name).count() == 1;
    let choose = |(name, short): (&&str, &String)| match is_alone(short) {
        true => short.clone(),
        false => name.to_string(),
    };
    names.iter().zip(&all).map(choose).collect()
}

/// Returns a table with a row for each table or scheme.
fn summary(rows: &[Assessment], names: &[String]) -> String {
    let mut grid = Grid::numbers(&[
        "table",
        "score",
        "per network",
        "over the first",
        "throughput, Mbit/s",
        "delay, ms",
        "simulated s/CPU s",
    ]);
    for (at, (row, name)) in rows.iter().zip(names).enumerate() {
        grid.row(vec![
            name.clone(),
            estimate(&row.score, 3),
            estimate(&row.score_per_network, 4),
            if at == 0 { String::new() } else { estimate(&row.over_first, 3) },
            figure(row.throughput_mbps),
            figure(row.delay_ms),
            format!("{:.0}", row.simulated_s_per_cpu_s),
        ]);
    }
    grid.text()
}

/// Returns a description of the drawn networks, and a row for each table or scheme. The networks
/// have no rows of their own, since each seed draws others.
fn drawn(
    specification: &Specification,
    rows: &[Assessment],
    names: &[String],
    seeds: usize,
) -> String {
    let each = match seeds {
        1 => String::new(),
        seeds => format!(", others with each of {seeds} seeds"),
    };
    let count = counted(specification.networks(), "network");
    let mut text = format!("{count} drawn from {specification}{each}\n\n");
    let mut grid =
        Grid::after(2, &["table", "worst network", "its score", "worst quarter, per network"]);
    for (row, name) in rows.iter().zip(names) {
        let (network, score) = match &row.worst {
            Some(worst) => (worst.description.clone(), format!("{:.3}", worst.network_score)),
            None => (String::new(), String::new()),
        };
        grid.row(vec![name.clone(), network, score, estimate(&row.worst_quarter, 4)]);
    }
    text += &grid.text();
    text
}

/// Returns a table with a row for each network, with the score of each table or scheme.
fn networks(rows: &[Assessment], names: &[String], specimens: &[Vec<Specimen>]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut grid = Grid::numbers(&[&["network"], names.as_slice()].concat());
    for (at, one) in specimens.first().map_or(&[][..], Vec::as_slice).iter().enumerate() {
        let mut row = vec![one.network.to_string()];
        row.extend(rows.iter().map(|each| estimate(&each.specimens[at].score, 3)));
        grid.row(row);
    }
    grid.text()
}

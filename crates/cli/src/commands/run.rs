//! `paceline run`: a scenario file.

use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use clap::Args;
use paceline_cc::Span;
use paceline_sim::Outcome;
use paceline_sim::scenario::{self, Scenario, ScenarioError};

use crate::args;
use crate::output::{self, Error};
use crate::table::{Grid, figure, percent};

/// The most bytes of a scenario.
const LARGEST: u64 = 16 << 20;

#[derive(Args)]
#[command(after_help = "Example: paceline run scenarios/fairness.toml")]
pub(crate) struct Run {
    /// The scenario (TOML)
    file: PathBuf,
    /// Run for so long instead
    #[arg(long, value_parser = args::length, allow_hyphen_values = true)]
    duration: Option<Span>,
    /// Use this seed instead
    #[arg(long)]
    seed: Option<u64>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Write the JSON, time series included, into this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Run {
    pub(crate) fn run(self) -> Result<(), Error> {
        let mut scenario = read_scenario(&self.file)?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.duration = self.duration.unwrap_or(scenario.duration);
        if scenario.warmup >= scenario.duration {
            return Err(Error::Message(format!(
                "the warm-up of {} leaves nothing of {} to measure",
                scenario.warmup, scenario.duration
            )));
        }
        let outcome =
            paceline_lab::run(&scenario).map_err(|error| Error::Message(error.to_string()))?;
        if let Some(folder) = &self.output {
            let path = output::write(folder, "run.json", &output::to_json(&outcome)?)?;
            output::note(&format!("wrote {}", path.display()));
        }
        if self.json { output::print_json(&outcome) } else { output::print(&tables(&outcome)) }
    }
}

/// Reads a scenario file; a mistake is shown with its line.
pub(crate) fn read_scenario(file: &Path) -> Result<Scenario, Error> {
    let name = file.display().to_string();
    let text = output::read(file, LARGEST)?;
    let text = String::from_utf8(text).map_err(|_| {
        Error::Message(format!("{name}: cannot be read: a scenario is text in UTF-8"))
    })?;
    scenario::parse_with(&name, &text, file.parent(), &paceline_remy::names())
        .map_err(|error| Error::Diagnostic(diagnostic(&error, &text)))
}

/// A mistake with the line of the text where it is, as compilers show theirs.
fn diagnostic(error: &ScenarioError, text: &str) -> String {
    let Some(span) = error.span.clone() else { return format!("error: {error}") };
    let start = text.floor_char_boundary(span.start);
    let end = text.ceil_char_boundary(span.end.max(start + 1));
    let mut group = Group::with_title(Level::ERROR.primary_title(&error.message)).element(
        Snippet::source(text)
            .path(&error.file)
            .annotation(AnnotationKind::Primary.span(start..end.min(text.len()))),
    );
    // What the message suggests already need not be said again.
    if let Some(help) = error.help.as_ref().filter(|help| !error.message.contains(help.as_str())) {
        group = group.element(Level::HELP.message(help));
    }
    Renderer::styled().render(&[group]).to_string()
}

/// A table for the stations of shared media, if there are any.
fn media(outcome: &Outcome) -> String {
    let mut text = String::new();
    for medium in &outcome.media {
        let mut grid = Grid::numbers(&[
            "sender",
            "Mbit/s",
            "delay ms mean",
            "p95",
            "drops",
            "marks",
            "frames",
            "collided %",
            "airtime %",
        ]);
        for station in &medium.stations {
            let link = &station.link;
            let collided = station.collisions as f64 / station.transmissions.max(1) as f64;
            grid.row(vec![
                link.name.clone(),
                figure(link.throughput_mbps),
                figure(link.queue_delay_ms.mean),
                figure(link.queue_delay_ms.p95),
                link.drops.to_string(),
                link.marks.to_string(),
                station.transmissions.to_string(),
                percent(collided),
                percent(station.airtime),
            ]);
        }
        text += &grid.text();
        text.push('\n');
    }
    text
}

fn tables(outcome: &Outcome) -> String {
    let mut text = format!("{}, {} s\n\n", outcome.name, figure(outcome.duration_s));
    let mut links = Grid::numbers(&[
        "link",
        "capacity",
        "Mbit/s",
        "used %",
        "delay ms mean",
        "p50",
        "p95",
        "p99",
        "drops",
        "marks",
    ]);
    for link in &outcome.links {
        let delay = link.queue_delay_ms;
        links.row(vec![
            link.name.clone(),
            figure(link.capacity_mbps),
            figure(link.throughput_mbps),
            percent(link.utilization),
            figure(delay.mean),
            figure(delay.p50),
            figure(delay.p95),
            figure(delay.p99),
            link.drops.to_string(),
            link.marks.to_string(),
        ]);
    }
    if !outcome.links.is_empty() {
        text += &links.text();
        text.push('\n');
    }
    text += &media(outcome);
    let mut flows = Grid::after(
        2,
        &[
            "flow",
            "scheme",
            "Mbit/s",
            "RTT ms mean",
            "p95",
            "sent",
            "resent",
            "timeouts",
            "transfers",
        ],
    );
    for flow in &outcome.flows {
        flows.row(vec![
            flow.name.clone(),
            flow.scheme.clone(),
            figure(flow.goodput_mbps),
            figure(flow.rtt_ms.mean),
            figure(flow.rtt_ms.p95),
            flow.sender.sent.to_string(),
            flow.sender.retransmits.to_string(),
            flow.sender.timeouts.to_string(),
            flow.transfers.to_string(),
        ]);
    }
    if !outcome.flows.is_empty() {
        text += &flows.text();
    }
    if outcome.flows.len() > 1 {
        text += &format!("\nJain's index {:.3}\n", outcome.jain());
    }
    if let Some(arrivals) = &outcome.arrivals {
        text += &format!(
            "\n{} of {} short flows finished, {} Mbit/s; completion time mean {} ms, p95 {} ms\n",
            arrivals.finished,
            arrivals.arrived,
            figure(arrivals.goodput_mbps),
            figure(arrivals.completion_ms.mean),
            figure(arrivals.completion_ms.p95)
        );
    }
    text += &format!("\ndigest {}\n", outcome.digest);
    text
}

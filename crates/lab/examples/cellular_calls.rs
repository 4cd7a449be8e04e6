//! Writes `docs/cellular-calls.md`: calls under schemes for media, and under ABC, over recorded cellular links.
//! `cargo run --release -p paceline-lab --example cellular_calls -- docs/cellular-calls.md`.

use std::fmt::Write as _;

use paceline_path::BufferSize;
use paceline_sim::cc::{Rate, Span};
use paceline_sim::metrics::median;
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, Scenario, Video, Workload, check_scheme,
};
use rayon::prelude::*;

const HEAD: &str = include_str!("cellular_calls_head.md");

/// The columns' names, and their schemes with a largest rate of 6 Mbit/s, which the encoder has.
const SCHEMES: [(&str, &str); 5] = [
    ("gcc", "gcc[max_rate=6Mbps]"),
    ("nada", "nada[rmax=6Mbps]"),
    ("scream", "scream[max_rate=6Mbps]"),
    ("scream, queue marks", "scream[max_rate=6Mbps]+dualpi2"),
    ("abc", "abc"),
];
const GCC: usize = 0;
const NADA: usize = 1;
const SCREAM: usize = 2;
const ABC: usize = 4;

const RECORDINGS: [&str; 12] = [
    "ATT-LTE-driving.down",
    "ATT-LTE-driving.up",
    "ATT-LTE-driving-2016.down",
    "ATT-LTE-driving-2016.up",
    "TMobile-LTE-short.down",
    "TMobile-LTE-short.up",
    "TMobile-UMTS-driving.down",
    "TMobile-UMTS-driving.up",
    "Verizon-EVDO-driving.down",
    "Verizon-EVDO-driving.up",
    "Verizon-LTE-short.down",
    "Verizon-LTE-short.up",
];

const SEEDS: u64 = 5;
const SECONDS: u64 = 70;
const WARMUP: u64 = 10;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Median, smallest and largest of several runs.
#[derive(Copy, Clone, Debug)]
struct Spread([f64; 3]);

impl Spread {
    fn of(mut figures: Vec<f64>) -> Spread {
        figures.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        let middle = median(figures.iter().copied()).unwrap_or(f64::NAN);
        Spread([middle, at(0), at(figures.len().saturating_sub(1))])
    }

    fn median(self) -> f64 {
        self.0[0]
    }
}

/// The figures of a call.
#[derive(Copy, Clone, Debug)]
struct Cell {
    /// Goodput in Mbit/s.
    rate: Spread,
    /// 95th percentile of the frames' delay in seconds.
    delay: Spread,
    /// Share of frames that did not arrive: left out by the encoder, or lost.
    missing: Spread,
}

fn call(scheme: &str, recording: &Capacity, seed: u64) -> Result<Scenario, Failure> {
    let mut scenario = Scenario::new("a call");
    scenario.duration = Span::from_secs(SECONDS);
    scenario.warmup = Span::from_secs(WARMUP);
    scenario.seed = seed;
    scenario.mss = 1228;
    let mut link = LinkSpec::new("link", recording.clone());
    link.buffer = BufferSize::Packets(250);
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(check_scheme(scheme)?, &["link"]);
    flow.rtt = Span::from_millis(50);
    let (min, max) = (Rate::from_bps(50_000), Rate::from_mbps(6.0));
    flow.workload = Workload::Video(Video { min, max, ..Video::default() });
    scenario.flows.push(flow);
    Ok(scenario)
}

/// Returns rate, frame delay and share of missing frames of a run.
fn measure(scheme: &str, recording: &Capacity, seed: u64) -> Result<[f64; 3], Failure> {
    let outcome = paceline_sim::run(&call(scheme, recording, seed)?)?;
    let flow = &outcome.flows[0];
    let frames = flow.frames.ok_or("a call has frames")?;
    let all = frames.made + frames.skipped;
    let missing = 1.0 - frames.delivered as f64 / all.max(1) as f64;
    Ok([flow.goodput_mbps, frames.delay_ms.p95 / 1e3, missing.max(0.0)])
}

fn cell(scheme: &str, recording: &Capacity) -> Result<Cell, Failure> {
    let runs: Result<Vec<[f64; 3]>, Failure> =
        (1..=SEEDS).map(|seed| measure(scheme, recording, seed)).collect();
    let runs = runs?;
    let spread = |index: usize| Spread::of(runs.iter().map(|run| run[index]).collect());
    Ok(Cell { rate: spread(0), delay: spread(1), missing: spread(2) })
}

/// Cells by recording and scheme.
type Table = Vec<(&'static str, Vec<Cell>)>;

fn table() -> Result<Table, Failure> {
    let found = RECORDINGS.into_par_iter().map(|name| {
        let path = paceline_testing::recording(name).ok_or(format!("{name} is missing"))?;
        let trace = paceline_trace::load(&path.to_string_lossy())?;
        let recording = Capacity::trace(trace);
        let cells: Result<Vec<Cell>, Failure> =
            SCHEMES.iter().map(|(_, scheme)| cell(scheme, &recording)).collect();
        Ok((name, cells?))
    });
    found.collect()
}

/// An expectation from before the first run, and whether the table meets it.
type Expectation = (&'static str, fn(&Table) -> bool);

/// Counts the recordings for which `holds` is true.
fn count(table: &Table, holds: impl Fn(&[Cell]) -> bool) -> usize {
    table.iter().filter(|(_, cells)| holds(cells)).count()
}

static EXPECTATIONS: [Expectation; 4] = [
    ("abc carries more than gcc on at least nine of the twelve recordings", |table| {
        count(table, |cells| cells[ABC].rate.median() > cells[GCC].rate.median()) >= 9
    }),
    ("abc's frames are earlier than gcc's on at least nine", |table| {
        count(table, |cells| cells[ABC].delay.median() < cells[GCC].delay.median()) >= 9
    }),
    ("nada's frames are earlier than gcc's on at least six", |table| {
        count(table, |cells| cells[NADA].delay.median() < cells[GCC].delay.median()) >= 6
    }),
    ("scream's frames are earlier than gcc's on at least six", |table| {
        count(table, |cells| cells[SCREAM].delay.median() < cells[GCC].delay.median()) >= 6
    }),
];

fn section(
    text: &mut String,
    title: &str,
    table: &Table,
    show: impl Fn(&Cell) -> String,
) -> std::fmt::Result {
    let names: String = SCHEMES.iter().map(|(name, _)| format!(" {name} |")).collect();
    let rule = " --- |".repeat(SCHEMES.len());
    write!(text, "\n## {title}\n\n| recording |{names}\n| --- |{rule}\n")?;
    for (name, cells) in table {
        let cells: String = cells.iter().map(|cell| format!(" {} |", show(cell))).collect();
        writeln!(text, "| {name} |{cells}")?;
    }
    Ok(())
}

fn text(table: &Table) -> Result<String, std::fmt::Error> {
    let mut text = HEAD.to_string();
    let spread = |Spread([median, least, most]): Spread, digits: usize, factor: f64| {
        let [median, least, most] = [median, least, most].map(|figure| factor * figure);
        format!("{median:.digits$} [{least:.digits$}, {most:.digits$}]")
    };
    section(&mut text, "Rate in Mbit/s", table, |cell| spread(cell.rate, 2, 1.0))?;
    section(&mut text, "95th percentile of the frames' delay in ms", table, |cell| {
        spread(cell.delay, 0, 1e3)
    })?;
    section(&mut text, "Frames that did not arrive, in per cent", table, |cell| {
        spread(cell.missing, 1, 100.0)
    })?;
    text += "\n## What was expected, and what came\n\nWritten down before the first run.\n\n";
    for (what, holds) in &EXPECTATIONS {
        let came = if holds(table) { "It is so" } else { "**It is not so**" };
        writeln!(text, "- {what}. {came}.")?;
    }
    Ok(text)
}

fn main() -> Result<(), Failure> {
    let text = text(&table()?)?;
    match std::env::args().nth(1) {
        Some(path) => std::fs::write(path, text)?,
        None => std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?,
    }
    Ok(())
}

//! `paceline validate`: our figures beside those of ns-3, real Linux and the papers.

use std::path::PathBuf;

use clap::Args;
use paceline_lab::validate::{Row, cases};
use rayon::prelude::*;
use serde::Serialize;

use crate::output::{self, Error};
use crate::table::{Grid, figure};

#[derive(Args)]
pub(crate) struct Validate {
    /// The folder of recorded traces, for the figures of real Linux
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Write the table as Markdown to this file as well
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    rows: Vec<Row>,
}

impl Validate {
    pub(crate) fn run(self) -> Result<(), Error> {
        let cases = cases(self.traces.as_deref());
        let rows: Vec<Row> = cases.par_iter().flat_map_iter(|case| (case.run)()).collect();
        if let Some(path) = &self.output {
            std::fs::write(path, markdown(&rows))
                .map_err(|source| Error::Io { path: Some(path.clone()), source })?;
        }
        // A difference whose reason is shown is a result, not a failure.
        let unexplained = |row: &&Row| row.pass == Some(false) && row.reason.is_empty();
        let failed = rows.iter().filter(unexplained).count();
        let report = Report { rows };
        if self.json {
            output::print_json(&report)?;
        } else {
            output::print(&table(&report.rows))?;
        }
        match failed {
            0 => Ok(()),
            1 => Err(Error::Message("1 figure does not agree".into())),
            _ => Err(Error::Message(format!("{failed} figures do not agree"))),
        }
    }
}

fn verdict(row: &Row) -> &'static str {
    match row.pass {
        Some(true) => "agrees",
        Some(false) if !row.reason.is_empty() => "differs, explained",
        Some(false) => "differs",
        None => "not measured",
    }
}

fn measured(row: &Row) -> String {
    row.measured.map_or("-".into(), figure)
}

fn table(rows: &[Row]) -> String {
    let mut grid = Grid::words(&["figure", "peer", "expected", "ours", "tolerance", "verdict"]);
    for row in rows {
        let Row { name, peer, expected, tolerance, .. } = row;
        let verdict = verdict(row).to_string();
        grid.row(vec![
            name.clone(),
            peer.clone(),
            figure(*expected),
            measured(row),
            tolerance.clone(),
            verdict,
        ]);
    }
    let mut text = grid.text();
    for row in rows.iter().filter(|row| !row.reason.is_empty()) {
        text += &format!("{}: {}\n", row.name, row.reason);
    }
    text
}

fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "# Validation\n\nMade by `paceline validate --traces DIR -o docs/validation.md`. Runs on \
         12 Mbit/s have an RTT of 100 ms and a buffer of 250 packets, every packet acknowledged, \
         and are measured from second 10 to 60; delays are counted until transmission starts, as \
         ns-3 does.\n\n| figure | peer | expected | ours | tolerance | verdict |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let Row { name, peer, expected, tolerance, .. } = row;
        let (ours, verdict) = (measured(row), verdict(row));
        let expected = figure(*expected);
        text += &format!("| {name} | {peer} | {expected} | {ours} | {tolerance} | {verdict} |\n");
    }
    for row in rows.iter().filter(|row| !row.reason.is_empty()) {
        text += &format!("\n{}: {}\n", row.name, row.reason);
    }
    text
}

//! Text output of `compare`: a table for each trace, and comparisons of the schemes.

use owo_colors::OwoColorize;
use paceline_requests::columns::{TextTable, cells};
use paceline_requests::compare::CompareRow;
use paceline_requests::numbers::{figure, range, range_as};
use paceline_requests::summary::{RatioRow, ratios, summary};
use paceline_sim::metrics::Distribution;

use super::traces;
use crate::table::{counted, grid_of};

/// Returns a table for each trace, followed by its paired ratios and notes.
pub(super) fn tables(rows: &[CompareRow]) -> String {
    let mut text = String::new();
    for trace in traces(rows) {
        let of_trace: Vec<CompareRow> =
            rows.iter().filter(|row| row.trace == trace).cloned().collect();
        let runs = of_trace.iter().map(|row| row.run).max().unwrap_or(1);
        text += &match runs {
            1 => single_runs(&of_trace),
            _ => several_runs(&of_trace),
        };
        text.push('\n');
    }
    text + &notes(rows)
}

/// Returns the heading of a table: the link, the time, the flows and the runs.
fn heading(rows: &[CompareRow]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let offered = Distribution::of(rows.iter().map(|row| row.capacity_mbps)).unwrap_or_default();
    let runs = rows.iter().map(|row| row.run).max().unwrap_or(1);
    let heading = format!(
        "{}: {} Mbit/s for {} s, {}{}",
        first.trace,
        range(&offered),
        figure(first.duration_s),
        counted(first.flows as usize, "flow"),
        if runs > 1 { format!(", {runs} runs") } else { String::new() },
    );
    format!("{}\n", heading.bold())
}

/// Returns the table for one run of each scheme.
fn single_runs(of_trace: &[CompareRow]) -> String {
    let cells = cells(TextTable::Compare, of_trace);
    heading(of_trace) + &grid_of(&["scheme"], &cells, of_trace, |row| vec![row.scheme.clone()])
}

/// Width of a terminal in columns.
const WIDTH: usize = 100;

/// Returns the table for several runs: medians, and ranges of 90 % of the runs. Drops optional
/// columns, the last first, while the table is wider than a terminal.
fn several_runs(of_trace: &[CompareRow]) -> String {
    let rows = summary(of_trace);
    let mut cells = cells(TextTable::CompareRuns, &rows);
    let grid = loop {
        let text = grid_of(&["scheme"], &cells, &rows, |row| vec![row.scheme.clone()]);
        let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if width <= WIDTH || cells.pop_if(|last| last.is_optional()).is_none() {
            break text;
        }
    };
    heading(of_trace) + &grid + &sentences(of_trace)
}

/// With more ratios than this, only the JSON has them.
const MOST_SENTENCES: usize = 8;

/// Returns sentences that compare the first scheme with each other one, and name the schemes whose
/// runs are all equal.
fn sentences(of_trace: &[CompareRow]) -> String {
    let mut text = String::new();
    let all = ratios(of_trace);
    // The first half is the first scheme over the others, the second half the reverse.
    for ratio in all.iter().take(all.len() / 2).take(MOST_SENTENCES) {
        let RatioRow { scheme, over, .. } = ratio;
        if let Some(carried) = &ratio.throughput_mbps {
            text += &format!("{scheme} carries {} times what {over} carries", words(carried));
            if let Some(delay) = &ratio.queue_delay_ms.p95 {
                text += &format!(",\n  and its p95 delay is {} times as long", words(delay));
            }
            text.push('\n');
        }
    }
    let rows = summary(of_trace);
    let equal: Vec<&str> =
        rows.iter().filter(|row| row.equal).map(|row| row.scheme.as_str()).collect();
    if let Some(count) = rows.iter().find(|row| row.equal).map(|row| row.runs) {
        text += &format!(
            "All {count} runs are equal: nothing depends on the seed or the start ({})\n",
            equal.join(", ")
        );
    }
    text
}

/// Returns a ratio in words: `1.32 (1.29 to 1.34)`.
fn words(ratio: &Distribution) -> String {
    range_as(ratio, " to ", figure)
}

/// Returns the notes of schemes, one line for each scheme that has one.
fn notes(rows: &[CompareRow]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let Some(note) = &row.note else { continue };
        let line = format!("{}: {note}\n", row.scheme);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

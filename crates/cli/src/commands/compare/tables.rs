//! What `compare` prints: a table for each trace, and the schemes against each other.

use owo_colors::OwoColorize;
use paceline_requests::compare::CompareRow;
use paceline_requests::numbers::{figure, percent, range, range_as};
use paceline_requests::summary::{RatioRow, SummaryRow, ratios, summary};
use paceline_sim::metrics::Distribution;

use super::traces;
use crate::table::{Grid, counted};

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

/// What a table is about: the link, the time, the flows and the runs.
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

/// The table of one run of each scheme.
fn single_runs(of_trace: &[CompareRow]) -> String {
    let fair = of_trace.iter().any(|row| row.flows > 1);
    let mut headings = vec![
        "scheme",
        "Mbit/s",
        "used %",
        "delay ms mean",
        "p50",
        "p95",
        "p99",
        "drops",
        "marks",
        "resent",
    ];
    headings.extend(fair.then_some("Jain"));
    let mut grid = Grid::numbers(&headings);
    for row in of_trace {
        let delay = row.queue_delay_ms;
        let mut cells = vec![
            row.scheme.clone(),
            figure(row.throughput_mbps),
            percent(row.utilization),
            figure(delay.mean),
            figure(delay.p50),
            figure(delay.p95),
            figure(delay.p99),
            row.drops.to_string(),
            row.marks.to_string(),
            row.retransmits.to_string(),
        ];
        let jain = || if row.flows > 1 { format!("{:.3}", row.jain) } else { String::new() };
        cells.extend(fair.then(jain));
        grid.row(cells);
    }
    heading(of_trace) + &grid.text()
}

/// Columns of the table of several runs that are left out, the last first, where it gets wider than a
/// terminal.
const OPTIONAL_COLUMNS: [&str; 4] = ["p50", "resent", "drops", "marks"];
/// Width of a terminal.
const WIDTH: usize = 100;

/// The table of several runs: medians, and ranges of 90 % of the runs.
fn several_runs(of_trace: &[CompareRow]) -> String {
    let rows = summary(of_trace);
    let mut columns = OPTIONAL_COLUMNS.len();
    let grid = loop {
        let text = grid(&rows, &OPTIONAL_COLUMNS[..columns]);
        let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if width <= WIDTH || columns == 0 {
            break text;
        }
        columns -= 1;
    };
    heading(of_trace) + &grid + &sentences(of_trace)
}

fn grid(rows: &[SummaryRow], optional: &[&str]) -> String {
    let fair = rows.iter().any(|row| row.flows > 1);
    let mut headings = vec!["scheme", "Mbit/s", "used %", "delay ms p95"];
    headings.extend(fair.then_some("Jain"));
    headings.extend(optional);
    let mut grid = Grid::numbers(&headings);
    for row in rows {
        let mut cells = vec![
            row.scheme.clone(),
            range(&row.throughput_mbps),
            range_as(&row.utilization, "-", percent),
            range(&row.queue_delay_ms.p95),
        ];
        let jain = || match row.flows {
            1 => String::new(),
            _ => range_as(&row.jain, "-", |index| format!("{index:.2}")),
        };
        cells.extend(fair.then(jain));
        cells.extend(optional.iter().map(|column| match *column {
            "p50" => figure(row.queue_delay_ms.p50.median),
            "resent" => figure(row.retransmits.median),
            "drops" => figure(row.drops.median),
            _ => figure(row.marks.median),
        }));
        grid.row(cells);
    }
    grid.text()
}

/// With more schemes than this, the ratios are left to the JSON.
const MOST_SENTENCES: usize = 8;

/// The first scheme against each of the others, and which schemes had nothing random.
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

/// `1.32 (1.29 to 1.34)`.
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

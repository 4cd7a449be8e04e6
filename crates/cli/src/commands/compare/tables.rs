//! Text output of `compare`: a table for each trace, and comparisons of the schemes.

use owo_colors::OwoColorize;
use paceline_requests::columns::{ShownCell, TextTable, cells, headings};
use paceline_requests::compare::CompareRow;
use paceline_requests::numbers::{figure, range, range_as};
use paceline_requests::summary::{RatioRow, SummaryRow, ratios, summary};
use paceline_sim::metrics::Distribution;

use super::traces;
use crate::table::{counted, grid_of, width};

/// Returns a table for each trace, in a sweep with all RTTs and buffers, followed by its paired ratios and notes.
pub(super) fn tables(rows: &[CompareRow]) -> String {
    let mut text = String::new();
    for trace in traces(rows) {
        let of_trace: Vec<CompareRow> =
            rows.iter().filter(|row| row.trace == trace).cloned().collect();
        let runs = of_trace.iter().map(|row| row.run).max().unwrap_or(1);
        text += &match runs {
            1 => single_runs(&of_trace),
            _ => several_runs(&of_trace, usize::from(width())),
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

/// The first columns of a table: the scheme, and in a sweep what differs of RTT and buffer.
struct Names {
    has_rtts: bool,
    has_buffers: bool,
}

impl Names {
    fn of(rows: &[CompareRow]) -> Names {
        let differ = |of: fn(&CompareRow) -> &Option<String>| {
            rows.first().is_some_and(|first| rows.iter().any(|row| of(row) != of(first)))
        };
        Names { has_rtts: differ(|row| &row.rtt), has_buffers: differ(|row| &row.buffer) }
    }

    /// Leaves out the columns that have one value throughout.
    fn kept<T>(&self, [rtt, buffer, scheme]: [T; 3]) -> Vec<T> {
        let columns = [(self.has_rtts, rtt), (self.has_buffers, buffer), (true, scheme)];
        columns.into_iter().filter_map(|(is_shown, column)| is_shown.then_some(column)).collect()
    }

    fn headings(&self) -> Vec<&'static str> {
        self.kept(["RTT", "buffer", "scheme"])
    }

    fn cells(&self, rtt: &Option<String>, buffer: &Option<String>, scheme: &str) -> Vec<String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        self.kept([text(rtt), text(buffer), scheme.to_string()])
    }
}

/// Returns the table for one run of each scheme.
fn single_runs(of_trace: &[CompareRow]) -> String {
    let cells = cells(TextTable::Compare, of_trace);
    let names = Names::of(of_trace);
    let named = |row: &CompareRow| names.cells(&row.rtt, &row.buffer, &row.scheme);
    heading(of_trace) + &grid_of(&names.headings(), &cells, of_trace, named)
}

/// Returns the table for several runs: medians, and ranges of 90 % of the runs. Drops optional
/// columns, the last first, while the table is wider than `most` columns of the terminal, and names
/// them in a line below the table.
fn several_runs(of_trace: &[CompareRow], most: usize) -> String {
    let rows = summary(of_trace);
    let names = Names::of(of_trace);
    let mut cells = cells(TextTable::CompareRuns, &rows);
    let mut dropped: Vec<ShownCell> = Vec::new();
    // The width of the table with all columns.
    let mut full = None;
    let grid = loop {
        let named = |row: &SummaryRow| names.cells(&row.rtt, &row.buffer, &row.scheme);
        let text = grid_of(&names.headings(), &cells, &rows, named);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        full.get_or_insert(widest);
        if widest <= most {
            break text;
        }
        match cells.pop_if(|last| last.is_optional()) {
            Some(cell) => dropped.insert(0, cell),
            None => break text,
        }
    };
    heading(of_trace) + &grid + &not_shown(&dropped, full.unwrap_or(0)) + &sentences(of_trace)
}

/// Returns a line that names the columns for which a table has no room, and the width that has room
/// for all; nothing without any.
fn not_shown(dropped: &[ShownCell], full: usize) -> String {
    if dropped.is_empty() {
        return String::new();
    }
    let names = headings(dropped).join(", ");
    format!("not shown: {names} (COLUMNS={full} for the whole table, or --json)\n")
}

/// With more ratios than this, only the JSON has them.
const MOST_SENTENCES: usize = 8;

/// Returns sentences that compare the first scheme with each other one, and name the schemes whose
/// runs are all equal.
fn sentences(of_trace: &[CompareRow]) -> String {
    let mut text = String::new();
    // The table of a sweep is read by row and column; its ratios are in the JSON.
    let is_sweep = of_trace.iter().any(|row| row.rtt.is_some());
    let all = if is_sweep { Vec::new() } else { ratios(of_trace) };
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
    let mut equal: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.equal) {
        if !equal.contains(&row.scheme.as_str()) {
            equal.push(&row.scheme);
        }
    }
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
        let random = "draws random numbers from the system: the next run has other figures";
        let notes = [row.note.as_deref(), row.system_random.then_some(random)];
        for note in notes.into_iter().flatten() {
            let line = format!("{}: {note}\n", row.scheme);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use paceline_cc::SchemeSpec;
    use paceline_requests::compare::Comparison;
    use paceline_requests::written;

    use super::*;

    #[test]
    fn columns_without_room_are_named() {
        let (name, capacity) = written::capacity("12Mbps").expect("a rate");
        let cubic = SchemeSpec::parse("cubic").expect("a scheme");
        let comparison = Comparison::new(&name, capacity, cubic);
        let outcome = comparison.run().expect("runs");
        let row = |number| comparison.row_of(comparison.run_number(number).0, &outcome);
        let rows = [row(1), row(2)];
        let wide = several_runs(&rows, 200);
        assert!(wide.contains(" drops   marks\n") && !wide.contains("not shown"), "{wide}");
        let last = "marks".len();
        let full = wide.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let narrow = several_runs(&rows, full - last);
        assert!(narrow.contains(&format!("\nnot shown: marks (COLUMNS={full} ")), "{narrow}");
        assert_eq!(several_runs(&rows, full), wide);
        let least = several_runs(&rows, 1);
        assert!(least.contains("\nnot shown: ") && least.contains("drops, marks (COL"), "{least}");
    }
}

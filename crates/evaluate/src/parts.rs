//! The parts of a report, from which the page and the paper are made.

use paceline_report::{Cell, Interval, Intervals, Palette, Table};

use crate::criterion::{Bounds, Kind};
use crate::document::DOCUMENTS;
use crate::evaluation::Evaluation;
use crate::markdown::{beside, cell, criteria, heading};
use crate::row::{Row, Verdict};

/// A part of a report.
pub(crate) enum Part {
    /// Heading of a section.
    Heading(String),
    /// Heading of a criterion: its name.
    Criterion(&'static str),
    /// A paragraph.
    Text(String),
    /// A remark: the rule of a verdict, or what an answer does not cover.
    Note(String),
    /// A table.
    Table(Table),
    /// A figure with its caption.
    Figure(Intervals, &'static str),
}

/// Returns the report's title.
pub(crate) fn title(done: &Evaluation) -> String {
    format!("Evaluation of {}", done.schemes.join(", "))
}

/// Returns the parts: the number of verdicts, a table of all criteria, and then for each criterion its question, a
/// figure, the answers and the rule.
pub(crate) fn parts(done: &Evaluation) -> Vec<Part> {
    let mut parts = vec![Part::Text(
        "Each criterion is a question of a document. Its case, its figure and its rule were stated before the \
         first run; a rule that was changed later says so. Figures are medians over the runs, with the range of 90 % \
         of them. The documents have no thresholds: the bounds of good and poor are this program's."
            .into(),
    )];
    if done.quick {
        let few = "Runs were few (--quick), and cases that take long were left out.";
        parts.push(Part::Text(few.into()));
    }
    parts.push(Part::Heading("Verdicts".into()));
    parts.push(Part::Table(verdicts(done)));
    parts.push(Part::Heading("All criteria".into()));
    parts.push(Part::Table(overview(done)));
    let mut document = "";
    for rows in criteria(&done.rows) {
        let first = &rows[0];
        if first.document != document {
            document = first.document;
            let about = DOCUMENTS.iter().find(|one| one.name == document);
            let title = about.map(|one| format!(", {}", one.title)).unwrap_or_default();
            parts.push(Part::Heading(format!("{document}{title}")));
        }
        parts.push(Part::Criterion(first.id));
        let question = format!("{} §{}: {}", first.document, first.section, first.question);
        parts.push(Part::Text(question));
        if rows.iter().any(|row| row.median.is_some()) {
            parts.push(Part::Figure(intervals(done, rows), first.question));
        }
        for row in rows {
            parts.push(Part::Text(match done.schemes.len() {
                1 => row.answer.clone(),
                _ => format!("{}: {}", row.scheme, row.answer),
            }));
        }
        if !first.rule.is_empty() {
            parts.push(Part::Note(format!("Rule: {}.", first.rule)));
        }
        if !first.cannot_answer.is_empty() && first.figure.is_some() {
            parts.push(Part::Note(format!("Not covered: {}", first.cannot_answer)));
        }
    }
    parts
}

/// Returns the target of links to a criterion.
pub(crate) fn anchor(id: &str) -> String {
    format!("c-{}", id.replace('.', "-"))
}

/// Returns the table of the number of each verdict for each scheme.
fn verdicts(done: &Evaluation) -> Table {
    const ALL: [Verdict; 5] = [
        Verdict::Good,
        Verdict::Mixed,
        Verdict::Poor,
        Verdict::NotAnswerable,
        Verdict::NotMeasured,
    ];
    let mut columns = vec![("scheme".to_string(), String::new())];
    columns.extend(ALL.map(|verdict| (verdict.word().to_string(), String::new())));
    columns.push(("no criterion".into(), "figures without a criterion in the document".into()));
    let row = |scheme: &String| {
        let count = |verdict: Option<Verdict>| {
            let rows = done.rows.iter().filter(|row| row.scheme == *scheme);
            rows.filter(|row| row.verdict == verdict).count() as f64
        };
        let verdicts = ALL.map(Some).into_iter().chain([None]);
        let counts = verdicts.map(|verdict| Cell::number(count(verdict), 0));
        [Cell::text(scheme)].into_iter().chain(counts).collect()
    };
    Table { columns, rows: done.schemes.iter().map(row).collect() }
}

/// Returns the table of all criteria.
fn overview(done: &Evaluation) -> Table {
    let mut columns = vec![
        ("criterion".to_string(), String::new()),
        ("document".to_string(), String::new()),
        ("figure".to_string(), String::new()),
    ];
    columns.extend(done.schemes.iter().map(|scheme| (scheme.clone(), String::new())));
    // Cubic as one of the schemes has its own column.
    let has_cubic = done.schemes.iter().any(|name| name == "cubic");
    if !has_cubic {
        columns.push(("cubic".into(), "the same figure of Cubic".into()));
    }
    let row = |rows: &[Row]| {
        let first = &rows[0];
        let mut cells = vec![
            Cell::text(first.id).with_link(&anchor(first.id)),
            Cell::text(format!("{} §{}", first.document, first.section)),
            Cell::text(heading(first)),
        ];
        cells.extend(rows.iter().map(|row| Cell::text(cell(row))));
        if !has_cubic {
            cells.push(Cell::text(beside(rows)));
        }
        cells
    };
    Table { columns, rows: criteria(&done.rows).map(row).collect() }
}

/// Returns the medians with their ranges for each scheme and Cubic, over the bounds of the rule.
fn intervals(done: &Evaluation, rows: &[Row]) -> Intervals {
    let first = &rows[0];
    let cubic = rows.iter().find_map(|row| row.beside);
    // Cubic as one of the schemes has its own row.
    let shown = cubic.filter(|beside| !done.schemes.iter().any(|name| name == beside.scheme));
    let mut names: Vec<&str> = rows.iter().map(|row| row.scheme.as_str()).collect();
    names.extend(shown.map(|beside| beside.scheme));
    let palette = Palette::new(names.iter().copied());
    let of = |name: &str, values: [Option<f64>; 3]| {
        let [low, median, high] = values.map(|value| value.unwrap_or(f64::NAN));
        Interval { name: name.into(), paint: palette.paint(name), low, median, high }
    };
    let mut intervals: Vec<Interval> =
        rows.iter().map(|row| of(&row.scheme, [row.p5, row.median, row.p95])).collect();
    intervals.extend(shown.map(|one| of(one.scheme, [one.p5, one.median, one.p95].map(Some))));
    let bounds = bounds(first.id).and_then(|bounds| bounds.absolute(cubic.map(|one| one.median)));
    Intervals {
        label: format!("{}: {}", first.id, first.question),
        title: heading(first),
        rows: intervals,
        bounds,
    }
}

/// Returns the bounds of a criterion.
fn bounds(id: &str) -> Option<Bounds> {
    let all = DOCUMENTS.iter().flat_map(|document| (document.criteria)());
    match &all.into_iter().find(|criterion| criterion.id == id)?.kind {
        Kind::Measured(measured) => measured.bounds,
        Kind::NotAnswerable(_) => None,
    }
}

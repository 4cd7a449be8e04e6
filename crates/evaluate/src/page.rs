//! An evaluation as a page.

use paceline_report::{BarPanel, Bars, Cell, Page, Palette, Table};

use crate::evaluation::Evaluation;
use crate::markdown::{beside, cell, criteria, heading};
use crate::row::Row;

/// Returns the page as HTML: a table of all criteria, then for each one its question, a figure, the answers
/// and the rule. `facts` stand at its end.
pub fn page(done: &Evaluation, facts: &[(&str, String)]) -> String {
    let mut page = Page::new(&format!("Evaluation of {}", done.schemes.join(", ")));
    page.paragraph(
        "Each criterion is a question of a document. Its case, its figure and its rule were stated before the \
         first run. Figures are medians over the runs, with the range of 90 % of them.",
    );
    if done.quick {
        page.paragraph("Runs were few (--quick), and cases that take long were left out.");
    }
    page.heading("All criteria");
    page.table(&overview(done));
    let mut document = "";
    for rows in criteria(&done.rows) {
        let first = &rows[0];
        if first.document != document {
            document = first.document;
            page.heading(document);
        }
        page.subheading(&anchor(first.id), first.id);
        page.paragraph(&format!("{} §{}: {}", first.document, first.section, first.question));
        if rows.iter().any(|row| row.median.is_some()) {
            page.figure(&bars(done, rows).figure(), first.question);
        }
        for row in rows {
            page.paragraph(&match done.schemes.len() {
                1 => row.answer.clone(),
                _ => format!("{}: {}", row.scheme, row.answer),
            });
        }
        if !first.rule.is_empty() {
            page.paragraph(&format!("Rule: {}.", first.rule));
        }
        if !first.cannot_answer.is_empty() && first.figure.is_some() {
            page.paragraph(&format!("Not covered: {}", first.cannot_answer));
        }
    }
    for (name, value) in facts {
        page.footer(name, value);
    }
    page.to_html()
}

/// Returns the target of links to a criterion.
fn anchor(id: &str) -> String {
    format!("c-{}", id.replace('.', "-"))
}

/// Returns the table of all criteria.
fn overview(done: &Evaluation) -> Table {
    let mut columns = vec![
        ("criterion".to_string(), String::new()),
        ("document".to_string(), String::new()),
        ("figure".to_string(), String::new()),
    ];
    columns.extend(done.schemes.iter().map(|scheme| (scheme.clone(), String::new())));
    columns.push(("cubic".into(), "the same figure of Cubic".into()));
    let row = |rows: &[Row]| {
        let first = &rows[0];
        let mut cells = vec![
            Cell::text(first.id).with_link(&anchor(first.id)),
            Cell::text(format!("{} §{}", first.document, first.section)),
            Cell::text(heading(first)),
        ];
        cells.extend(rows.iter().map(|row| Cell::text(cell(row))));
        cells.push(Cell::text(beside(rows)));
        cells
    };
    Table { columns, rows: criteria(&done.rows).map(row).collect() }
}

/// Returns a bar of the median, the 5th and the 95th percentile for each scheme and Cubic.
fn bars(done: &Evaluation, rows: &[Row]) -> Bars {
    let cubic = rows.iter().find_map(|row| row.beside);
    // Cubic as one of the schemes has its own bar.
    let cubic = cubic.filter(|beside| !done.schemes.iter().any(|name| name == beside.scheme));
    let mut names: Vec<&str> = rows.iter().map(|row| row.scheme.as_str()).collect();
    names.extend(cubic.map(|beside| beside.scheme));
    let palette = Palette::new(names.iter().copied());
    let values = |own: fn(&Row) -> Option<f64>, of_cubic: Option<f64>| {
        let mut values: Vec<f64> = rows.iter().map(|row| own(row).unwrap_or(f64::NAN)).collect();
        values.extend(of_cubic);
        values
    };
    let first = &rows[0];
    let panel = BarPanel {
        title: heading(first),
        unit: first.unit.to_string(),
        log: false,
        values: vec![
            values(|row| row.median, cubic.map(|beside| beside.median)),
            values(|row| row.p5, cubic.map(|beside| beside.p5)),
            values(|row| row.p95, cubic.map(|beside| beside.p95)),
        ],
    };
    Bars {
        label: format!("{}: {}", first.id, first.question),
        groups: vec!["median".into(), "5th percentile".into(), "95th percentile".into()],
        bars: names.iter().map(|name| (name.to_string(), palette.paint(name))).collect(),
        panels: vec![panel],
    }
}

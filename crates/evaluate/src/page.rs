//! An evaluation as a page, and as sheets of paper.

use paceline_report::{Page, Paper};

use crate::evaluation::Evaluation;
use crate::parts::{Part, anchor, parts, title};

/// Returns the page as HTML: tables of the verdicts and of all criteria, then for each criterion its question, a
/// figure, the answers and the rule. `facts` stand at its end.
pub fn page(done: &Evaluation, facts: &[(&str, String)]) -> String {
    let mut page = Page::new(&title(done));
    for part in parts(done) {
        match part {
            Part::Heading(text) => page.heading(&text),
            Part::Criterion(id) => page.subheading(&anchor(id), id),
            Part::Text(text) | Part::Note(text) => page.paragraph(&text),
            Part::Table(table) => page.table(&table),
            Part::Figure(intervals, caption) => page.figure(&intervals.figure(), caption),
        }
    }
    for (name, value) in facts {
        page.footer(name, value);
    }
    page.to_html()
}

/// Returns the title of the report and its sheets of A4 paper as SVG files, in a family of fonts. They have the
/// content of [`page`]; `facts` stand on the first sheet.
pub fn paper(done: &Evaluation, facts: &[(&str, String)], family: &str) -> (String, Vec<String>) {
    let title = title(done);
    let mut paper = Paper::new(&title);
    for (name, value) in facts {
        paper.note(&format!("{name}: {value}"));
    }
    for part in parts(done) {
        match part {
            Part::Heading(text) => paper.heading(&text),
            Part::Criterion(id) => paper.subheading(id),
            Part::Text(text) => paper.paragraph(&text),
            Part::Note(text) => paper.note(&text),
            Part::Table(table) => paper.table(&table),
            Part::Figure(intervals, _) => paper.intervals(&intervals),
        }
    }
    (title, paper.to_sheets(family))
}

//! An evaluation as Markdown.

use paceline_requests::numbers::figure;

use crate::evaluation::Evaluation;
use crate::row::Row;

/// Returns the report as Markdown: a table of all criteria, then each criterion with its answers.
pub fn markdown(done: &Evaluation, command: &str) -> String {
    let mut text = format!("# Evaluation of {}\n\n", done.schemes.join(", "));
    if !command.is_empty() {
        text += &format!("Made by `{command}`.");
        if done.quick {
            text += " Runs were few (`--quick`).";
        }
        text += "\n\n";
    }
    text += &table(done);
    for rows in criteria(&done.rows) {
        let first = &rows[0];
        text += &format!("\n## {}\n\n{} §{}\n\n", first.id, first.document, first.section);
        text += &format!("**{}**\n\n", first.question);
        for row in rows {
            text += &match done.schemes.len() {
                1 => format!("{}\n\n", row.answer),
                _ => format!("- {}: {}\n", row.scheme, row.answer),
            };
        }
        if done.schemes.len() > 1 {
            text.push('\n');
        }
        if !first.rule.is_empty() {
            text += &format!("Rule: {}.\n\n", first.rule);
        }
        if !first.cannot_answer.is_empty() && first.figure.is_some() {
            text += &format!("Not covered: {}\n\n", first.cannot_answer);
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Returns the table of all criteria.
fn table(done: &Evaluation) -> String {
    let mut text = String::from("| criterion | figure |");
    for scheme in &done.schemes {
        text += &format!(" {scheme} |");
    }
    text += " cubic |\n| --- | --- |";
    text += &" --- |".repeat(done.schemes.len() + 1);
    text.push('\n');
    for rows in criteria(&done.rows) {
        let first = &rows[0];
        text += &format!("| {} | {} |", first.id, heading(first));
        for row in rows {
            text += &format!(" {} |", cell(row));
        }
        text += &format!(" {} |\n", beside(rows));
    }
    text
}

/// Returns the rows criterion by criterion.
pub(crate) fn criteria(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|one, next| one.id == next.id)
}

/// Returns the name of a figure with its unit.
pub(crate) fn heading(row: &Row) -> String {
    match (row.figure, row.unit) {
        (None, _) => String::new(),
        (Some(figure), "") => figure.to_string(),
        (Some(figure), unit) => format!("{figure}, {unit}"),
    }
}

/// Returns a figure with its range and verdict, for tables.
pub(crate) fn cell(row: &Row) -> String {
    let verdict = row.verdict.map(|verdict| verdict.word());
    let Some(median) = row.median else { return verdict.unwrap_or("").to_string() };
    let mut text = figure(median);
    if let (Some(p5), Some(p95)) = (row.p5, row.p95) {
        let (low, high) = (figure(p5), figure(p95));
        if low != high {
            text += &format!(" ({low} to {high})");
        }
    }
    match verdict {
        Some(verdict) => format!("{text}, {verdict}"),
        None => text,
    }
}

/// Returns Cubic's figure of a criterion; empty if it has none.
pub(crate) fn beside(rows: &[Row]) -> String {
    let beside = rows.iter().find_map(|row| row.beside);
    beside.map(|beside| figure(beside.median)).unwrap_or_default()
}

//! A report as sheets of A4 paper: each one is a drawing, and they become the pages of one PDF file.

use crate::intervals::Intervals;
use crate::label::{fitted, text_width};
use crate::layout::Layout;
use crate::markup::{Markup, escape};
use crate::number::coordinate;
use crate::style::Paint;
use crate::table::Table;

/// Size of A4 paper in points (1/72 inch).
const A4: (f64, f64) = (595.28, 841.89);
/// Width of a sheet in its own units, in which the text of figures is 12 high.
const WIDTH: f64 = 720.0;
/// Height of a sheet in its own units.
const HEIGHT: f64 = WIDTH * A4.1 / A4.0;
/// Free space at each side.
const MARGIN: f64 = 54.0;
/// Width of the text.
const TEXT: f64 = WIDTH - 2.0 * MARGIN;
/// Size of body text, and the distance of its lines.
const BODY: (f64, f64) = (11.0, 14.5);
/// Size of the text of tables, and the distance of its lines.
const SMALL: (f64, f64) = (10.0, 13.0);
/// Factor by which text of a condensed family, in which sheets are written, is narrower.
const CONDENSED: f64 = 0.9;
/// Space between the columns of a table.
const GAP: f64 = 8.0;

/// A piece that stays on one sheet: a line, a row of a table, a figure.
#[derive(Debug)]
struct Piece {
    height: f64,
    /// Markup, with its origin at the upper left end of the text.
    markup: String,
}

/// A report under construction. Its parts appear in the order in which they are added.
#[derive(Debug)]
pub struct Paper {
    title: String,
    sheets: Vec<Markup>,
    /// Position below the last piece on the last sheet.
    y: f64,
    /// Pieces that are to stand on one sheet, if they fit.
    block: Vec<Piece>,
    /// Whether the block has more than headings.
    has_body: bool,
}

impl Paper {
    /// Returns sheets with a title on the first one.
    pub fn new(title: &str) -> Paper {
        let mut paper = Paper {
            title: title.into(),
            sheets: Vec::new(),
            y: MARGIN,
            block: Vec::new(),
            has_body: false,
        };
        paper.lines(title, (22.0, 28.0), Paint::INK, true);
        paper.space(8.0);
        paper
    }

    /// Adds a section's heading. It stands on the sheet of what follows it.
    pub fn heading(&mut self, text: &str) {
        self.end_block();
        self.space(14.0);
        self.lines(text, (16.0, 22.0), Paint::INK, true);
    }

    /// Adds a heading inside a section. It stands on one sheet with all parts that follow it up to the next
    /// heading or [`Paper::end_block`], if they fit.
    pub fn subheading(&mut self, text: &str) {
        // A section's heading and its first subheading stay together.
        if self.has_body {
            self.end_block();
        }
        self.space(12.0);
        self.lines(text, (13.0, 17.0), Paint::INK, true);
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.lines(text, BODY, Paint::INK, false);
        self.space(4.0);
        self.has_body = true;
    }

    /// Adds a paragraph in smaller, paler text.
    pub fn note(&mut self, text: &str) {
        self.lines(text, SMALL, Paint::MUTED, false);
        self.space(3.0);
        self.has_body = true;
    }

    /// Adds a figure of intervals.
    pub fn intervals(&mut self, intervals: &Intervals) {
        let layout = Layout { width: TEXT, ..Layout::default() };
        let (height, markup) = intervals.figure_in(&layout).in_width(TEXT);
        self.block.push(Piece { height: height + 6.0, markup });
        self.has_body = true;
    }

    /// Adds a table. Its rows may stand on several sheets; each one begins with the headings of the columns.
    pub fn table(&mut self, table: &Table) {
        let widths = widths(table);
        let headings: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        let head = row(&headings, &widths, true);
        let rows: Vec<Piece> = table
            .rows
            .iter()
            .map(|cells| {
                let texts: Vec<&str> = cells.iter().map(|cell| cell.words()).collect();
                row(&texts, &widths, false)
            })
            .collect();
        self.block.push(Piece { height: head.height, markup: head.markup.clone() });
        let mut rows = rows.into_iter();
        // The headings stand on the sheet of the first row.
        self.block.extend(rows.next());
        self.end_block();
        for piece in rows {
            if self.y + piece.height > HEIGHT - MARGIN {
                self.add_sheet();
                self.put(&head);
            }
            self.put(&piece);
        }
        self.y += 6.0;
    }

    /// Puts the parts since the last heading on the sheet, or on a new one if only that has room for all.
    pub fn end_block(&mut self) {
        let pieces = std::mem::take(&mut self.block);
        self.has_body = false;
        let height: f64 = pieces.iter().map(|piece| piece.height).sum();
        let fits = |y: f64| y + height <= HEIGHT - MARGIN;
        if !fits(self.y) && fits(MARGIN) {
            self.add_sheet();
        }
        for piece in &pieces {
            if self.y + piece.height > HEIGHT - MARGIN {
                self.add_sheet();
            }
            self.put(piece);
        }
    }

    /// Returns the sheets as SVG files of A4 size, with their numbers, in this family of fonts.
    pub fn to_sheets(mut self, family: &str) -> Vec<String> {
        self.end_block();
        let family = escape(&format!("'{}', sans-serif", family.replace('\'', "")));
        let (count, title) = (self.sheets.len(), self.title);
        let sheet = |(i, body): (usize, Markup)| {
            let mut m = Markup::default();
            m.el("rect").n("width", WIDTH).n("height", HEIGHT).fill(Paint::PAPER).end();
            m.raw(&body.finish());
            let number = format!("{} / {count}", i + 1);
            let foot = HEIGHT - MARGIN / 2.0;
            write(
                &mut m,
                (MARGIN, foot),
                SMALL.0,
                Paint::MUTED,
                false,
                &fitted(&title, SMALL.0, 480.0),
            );
            let x = WIDTH - MARGIN - text_width(&number, SMALL.0);
            write(&mut m, (x, foot), SMALL.0, Paint::MUTED, false, &number);
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" \
                 font-family=\"{family}\" font-size=\"12\"><title>{}</title>{}</svg>\n",
                coordinate(WIDTH),
                coordinate(HEIGHT),
                A4.0,
                A4.1,
                escape(&title),
                m.finish()
            )
        };
        self.sheets.into_iter().enumerate().map(sheet).collect()
    }

    /// Adds vertical space to the block; it is left out at the top of a sheet.
    fn space(&mut self, height: f64) {
        self.block.push(Piece { height, markup: String::new() });
    }

    fn lines(&mut self, text: &str, (size, distance): (f64, f64), paint: Paint, bold: bool) {
        for line in broken(text, size, TEXT, bold) {
            let mut m = Markup::default();
            write(&mut m, (0.0, size), size, paint, bold, &line);
            self.block.push(Piece { height: distance, markup: m.finish() });
        }
    }

    fn add_sheet(&mut self) {
        self.sheets.push(Markup::default());
        self.y = MARGIN;
    }

    /// Draws a piece below the last one.
    fn put(&mut self, piece: &Piece) {
        if self.sheets.is_empty() {
            self.add_sheet();
        }
        let is_space = piece.markup.is_empty();
        if is_space && self.y <= MARGIN {
            return;
        }
        if let (Some(sheet), false) = (self.sheets.last_mut(), is_space) {
            let place = format!("translate({} {})", coordinate(MARGIN), coordinate(self.y));
            sheet.el("g").a("transform", &place).open();
            sheet.raw(&piece.markup);
            sheet.close();
        }
        self.y += piece.height;
    }
}

/// Writes a line of text.
fn write(m: &mut Markup, (x, y): (f64, f64), size: f64, paint: Paint, bold: bool, text: &str) {
    let element = m.el("text").n("x", x).n("y", y).n("font-size", size).fill(paint);
    let element = if bold { element.a("font-weight", "bold") } else { element };
    element.text(text);
}

/// Breaks a text into lines of a width: after spaces, and a word that is wider at any letter.
fn broken(text: &str, size: f64, width: f64, bold: bool) -> Vec<String> {
    let factor = if bold { CONDENSED * crate::label::BOLD } else { CONDENSED };
    let fits = |line: &str| factor * text_width(line, size) <= width;
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        if !line.is_empty() && !fits(&(line.clone() + word.trim_end())) {
            lines.push(std::mem::take(&mut line));
        }
        if fits(word.trim_end()) {
            line.push_str(word);
            continue;
        }
        for letter in word.chars() {
            if !line.is_empty() && !fits(&format!("{line}{letter}")) {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}

/// Returns widths of the columns: of their longest texts, where the widest columns give way until all fit.
fn widths(table: &Table) -> Vec<f64> {
    let count = table.columns.len().max(1) as f64;
    let room = TEXT - GAP * (count - 1.0);
    let wanted: Vec<f64> = (0..table.columns.len())
        .map(|column| {
            let heading = crate::label::BOLD * text_width(&table.columns[column].0, SMALL.0);
            let cells = table.rows.iter().filter_map(|row| row.get(column));
            let cells = cells.map(|cell| text_width(cell.words(), SMALL.0));
            CONDENSED * cells.fold(heading, f64::max) + 2.0
        })
        .collect();
    // The limit of a column's width falls until the narrower columns leave enough room.
    let mut sorted = wanted.clone();
    sorted.sort_by(f64::total_cmp);
    let (mut left, mut limit) = (room, f64::INFINITY);
    for (i, width) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - i) as f64;
        if *width > share {
            limit = share;
            break;
        }
        left -= width;
    }
    wanted.iter().map(|width| width.min(limit)).collect()
}

/// Returns a row of a table with a line below it.
fn row(texts: &[&str], widths: &[f64], bold: bool) -> Piece {
    let mut m = Markup::default();
    let (mut x, mut most) = (0.0, 1);
    for (text, width) in texts.iter().zip(widths) {
        let lines = broken(text, SMALL.0, *width, bold);
        most = most.max(lines.len());
        for (i, line) in lines.iter().enumerate() {
            let y = SMALL.0 + 2.0 + SMALL.1 * i as f64;
            write(&mut m, (x, y), SMALL.0, Paint::INK, bold, line);
        }
        x += width + GAP;
    }
    let height = SMALL.1 * most as f64 + 5.0;
    let below = height - 1.0;
    let paint = if bold { Paint::RULE } else { Paint::GRID };
    crate::axis::line(&mut m, [0.0, below, TEXT, below], paint, 1.0);
    Piece { height, markup: m.finish() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;
    use crate::table::Cell;

    #[test]
    fn parts_are_spread_over_sheets() {
        let mut paper = Paper::new("A <report> & more");
        paper.paragraph("Words that are written on sheets. ".repeat(20).trim());
        let table = Table {
            columns: vec![("criterion".into(), String::new()), ("answer".into(), String::new())],
            rows: (0..120)
                .map(|i| {
                    vec![Cell::text(format!("id.{i}")), Cell::text("a long answer ".repeat(9))]
                })
                .collect(),
        };
        paper.table(&table);
        for i in 0..30 {
            paper.subheading(&format!("criterion {i}"));
            paper.paragraph(&"A sentence of an answer. ".repeat(20));
            paper.end_block();
        }
        let sheets = paper.to_sheets("Sans");
        assert!(sheets.len() > 3, "{}", sheets.len());
        for (i, sheet) in sheets.iter().enumerate() {
            assert_sound(sheet);
            assert!(sheet.contains(&format!(">{} / {}<", i + 1, sheets.len())));
            // Nothing is below the lower margin.
            let ends = sheet
                .split("translate(54 ")
                .skip(1)
                .filter_map(|rest| rest.split(')').next().and_then(|y| y.parse::<f64>().ok()));
            assert!(ends.fold(0.0, f64::max) < HEIGHT - MARGIN);
        }
        // Each sheet of the table has its headings.
        let with_rows = sheets.iter().filter(|sheet| sheet.contains(">id.")).count();
        let with_heads = sheets.iter().filter(|sheet| sheet.contains(">criterion<")).count();
        assert!(with_rows > 1 && with_rows == with_heads, "{with_rows} {with_heads}");
        assert!((0..30).all(|i| sheets.iter().any(|s| s.contains(&format!(">criterion {i}<")))));
    }

    #[test]
    fn long_words_are_broken() {
        let lines = broken(&"x".repeat(400), 12.0, 300.0, false);
        assert!(
            lines.len() > 3 && lines.iter().all(|line| CONDENSED * text_width(line, 12.0) <= 300.0)
        );
        assert_eq!(broken("", 12.0, 300.0, false), [""]);
    }

    #[test]
    fn a_block_that_is_longer_than_a_sheet_goes_on_on_the_next_one() {
        let mut paper = Paper::new("title");
        paper.subheading("much");
        for _ in 0..40 {
            paper.paragraph(&"A sentence of an answer. ".repeat(20));
        }
        assert!(paper.to_sheets("Sans").len() >= 3);
    }
}

//! Tables for a page. A click on a column's heading sorts them.

use crate::markup::Markup;
use crate::number::{fixed, usable};
use crate::scatter::{Marker, marker};
use crate::style::Paint;

/// A cell of a [`Table`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    text: String,
    key: Option<f64>,
    swatch: Option<Paint>,
    look: Option<Paint>,
    code: bool,
    link: Option<String>,
}

/// Longest text in characters that is not broken into lines.
const LONG: usize = 18;

impl Cell {
    /// Returns a cell with text, sorted as text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Returns a cell with text in a fixed-width font, such as a digest.
    pub fn code(text: impl Into<String>) -> Self {
        Self { code: true, ..Self::text(text) }
    }

    /// Returns a cell with a number of fixed decimals, sorted as a number; a dash if it is not
    /// finite.
    pub fn number(value: f64, decimals: usize) -> Self {
        let key = Some(if usable(value) { value } else { f64::MAX });
        Self { text: fixed(value, decimals), key, ..Self::default() }
    }

    /// Returns a cell with a number that may be missing.
    pub fn maybe(value: Option<f64>, decimals: usize) -> Self {
        Self::number(value.unwrap_or(f64::NAN), decimals)
    }

    /// Returns the text.
    pub(crate) fn words(&self) -> &str {
        &self.text
    }

    /// Adds the range around the number, in parentheses. The cell is still sorted by the number.
    #[must_use]
    pub fn with_range(self, low: f64, high: f64, decimals: usize) -> Self {
        let range = format!(" ({}-{})", fixed(low, decimals), fixed(high, decimals));
        Self { text: self.text.clone() + &range, ..self }
    }

    /// Makes the cell a link to a heading of the page: see [`crate::Page::subheading`].
    pub fn with_link(self, id: &str) -> Self {
        Self { link: Some(format!("#{id}")), ..self }
    }

    /// Adds a patch of colour before the text.
    pub fn with_colour(self, paint: Paint) -> Self {
        Self { swatch: Some(paint), ..self }
    }

    /// Adds a piece of the scheme's line with its point before the text, as in figures.
    pub fn with_look(self, paint: Paint) -> Self {
        Self { look: Some(paint), ..self }
    }
}

/// A table. Columns of numbers are aligned to the right.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Headings of the columns: text, and an explanation shown under the pointer (may be empty).
    pub columns: Vec<(String, String)>,
    /// The rows; missing cells at the end of a row are empty.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Returns the table as HTML.
    pub fn to_html(&self) -> String {
        let mut m = Markup::default();
        m.el("div").class("scroll").open();
        m.el("table").class("sortable").open();
        m.el("thead").open();
        m.el("tr").open();
        for (i, (name, hint)) in self.columns.iter().enumerate() {
            let cell = m.el("th").a("scope", "col");
            let cell = if hint.is_empty() { cell } else { cell.a("title", hint) };
            if self.is_numeric(i) { cell.class("num").text(name) } else { cell.text(name) }
        }
        m.close();
        m.close();
        m.el("tbody").open();
        for row in &self.rows {
            m.el("tr").open();
            for i in 0..self.columns.len() {
                write(&mut m, row.get(i));
            }
            m.close();
        }
        m.finish() + "\n"
    }

    fn is_numeric(&self, column: usize) -> bool {
        self.rows.iter().filter_map(|row| row.get(column)).any(|cell| cell.key.is_some())
    }
}

fn write(m: &mut Markup, cell: Option<&Cell>) {
    let Some(cell) = cell else { return m.el("td").text("") };
    let td = m.el("td");
    let td = match cell.key {
        Some(key) if key == f64::MAX => td.a("data-key", "1e300").class("num"),
        Some(key) => td.a("data-key", &format!("{key}")).class("num"),
        None if cell.look.is_some() => td.class("label"),
        None if cell.text.len() > LONG && !cell.code => td.class("long"),
        None => td,
    };
    td.open();
    if let Some(paint) = cell.swatch {
        m.el("i").class("swatch").class(&format!("b-{}", paint.name)).text("");
    }
    if let Some(paint) = cell.look {
        sample(m, paint);
    }
    match &cell.link {
        _ if cell.code => m.el("code").text(&cell.text),
        Some(link) => m.el("a").a("href", link).text(&cell.text),
        None => m.say(&cell.text),
    }
    m.close();
}

/// Draws a piece of a scheme's line with its point on it.
fn sample(m: &mut Markup, paint: Paint) {
    let (width, height) = (34.0, 12.0);
    m.el("svg")
        .class("look")
        .a("viewBox", &format!("0 0 {width} {height}"))
        .n("width", width)
        .n("height", height)
        .a("aria-hidden", "true")
        .open();
    m.el("path")
        .a("d", "M2 6H32")
        .a("fill", "none")
        .a("stroke-linecap", "round")
        .dashed(paint)
        .stroke(paint, 2.0)
        .end();
    let look = Marker { shape: paint.shape, filled: true, radius: 4.5 };
    marker(m, (width / 2.0, height / 2.0), look, paint, "");
    m.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn cells_are_escaped_and_missing_ones_filled() {
        let columns = ["scheme", "delay", "digest"].map(|c| (c.to_owned(), String::new())).to_vec();
        let rows = vec![
            vec![Cell::text("<a>"), Cell::number(1.234, 1), Cell::code("00ff")],
            vec![Cell::text("b").with_colour(Paint::INK).with_link("b"), Cell::maybe(None, 1)],
            vec![],
        ];
        let html = Table { columns, rows }.to_html();
        assert_sound(&html);
        assert!(html.contains("&lt;a&gt;") && html.contains(">1.2<") && html.contains(">–<"));
        assert!(html.contains("<a href=\"#b\">b</a>"));
        assert_eq!(html.matches("<td").count(), 9);
        assert_sound(&Table::default().to_html());
    }
}

//! Tables for terminals.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// A table with a heading per column; columns after the first are aligned to the right where
/// `numbers` says so.
pub(crate) struct Grid {
    table: Table,
    numbers: bool,
}

/// The width of tables of words, unless the environment's `COLUMNS` says otherwise.
const WIDTH: u16 = 100;

impl Grid {
    /// A table of numbers: all columns but the first are aligned to the right.
    pub(crate) fn numbers(headings: &[&str]) -> Grid {
        Grid::new(headings, true)
    }

    /// A table of words, broken into lines.
    pub(crate) fn words(headings: &[&str]) -> Grid {
        Grid::new(headings, false)
    }

    fn new(headings: &[&str], numbers: bool) -> Grid {
        let mut table = Table::new();
        let rule = LineStyle::none().fill('─').junction('─');
        table.load_style(TableStyle::new().header_separator(rule));
        if !numbers {
            let width = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok());
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width.unwrap_or(WIDTH));
        }
        let mut grid = Grid { table, numbers };
        let cells = grid.cells(headings.iter().map(|heading| heading.to_string()).collect());
        grid.table.set_header(cells);
        grid
    }

    fn cells(&self, row: Vec<String>) -> Vec<Cell> {
        let aligned = |(at, text): (usize, String)| {
            let right = self.numbers && at > 0;
            Cell::new(text).set_alignment(if right {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            })
        };
        row.into_iter().enumerate().map(aligned).collect()
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: Vec<String>) {
        let cells = self.cells(row);
        self.table.add_row(cells);
    }

    /// The table as text, without spaces at the ends of lines.
    pub(crate) fn text(&self) -> String {
        let lines = self.table.lines().map(|line| line.trim_end().to_string() + "\n");
        lines.collect()
    }
}

/// Three significant figures at most, and never an exponent: `0.123`, `4.56`, `78.9`, `1234`.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "-".into()
    } else if size >= 100.0 || size == 0.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// A share in per cent, with one decimal.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}", 100.0 * share) } else { "-".into() }
}

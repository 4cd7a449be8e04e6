//! Tables for terminals.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use paceline_requests::columns::{ShownCell, TableRow, headings};

/// A table with a heading for each column; columns from `numbers` on are aligned to the right.
pub(crate) struct Grid {
    table: Table,
    numbers: usize,
}

/// Width of tables in columns, unless the environment variable `COLUMNS` sets another.
const WIDTH: u16 = 100;

/// Returns the largest width of a table in columns of the terminal.
pub(crate) fn width() -> u16 {
    width_of(std::env::var("COLUMNS").ok().as_deref())
}

/// Returns the width that `COLUMNS` sets. Shells without a terminal may set 0.
fn width_of(columns: Option<&str>) -> u16 {
    let set = columns.and_then(|width| width.parse().ok());
    set.filter(|width| *width > 0).unwrap_or(WIDTH)
}

impl Grid {
    /// Returns a table of numbers: all columns but the first are aligned to the right.
    pub(crate) fn numbers(headings: &[&str]) -> Grid {
        Grid::new(headings, 1)
    }

    /// Returns a table whose first `words` columns are words and the others numbers.
    pub(crate) fn after(words: usize, headings: &[&str]) -> Grid {
        Grid::new(headings, words)
    }

    /// Returns a table of words, broken into lines.
    pub(crate) fn words(headings: &[&str]) -> Grid {
        Grid::new(headings, usize::MAX)
    }

    fn new(headings: &[&str], numbers: usize) -> Grid {
        let mut table = Table::new();
        let rule = LineStyle::none().fill('─').junction('─');
        table.load_style(TableStyle::new().header_separator(rule));
        if numbers == usize::MAX {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width());
        }
        let mut grid = Grid { table, numbers };
        let cells = grid.cells(headings.iter().map(|heading| heading.to_string()).collect());
        grid.table.set_header(cells);
        grid
    }

    fn cells(&self, row: Vec<String>) -> Vec<Cell> {
        let aligned = |(at, text): (usize, String)| {
            let right = at >= self.numbers;
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

    /// Returns the table as text, without spaces at the ends of lines.
    pub(crate) fn text(&self) -> String {
        let lines = self.table.lines().map(|line| line.trim_end().to_string() + "\n");
        lines.collect()
    }
}

/// Returns a table of these columns, after columns of `names`. `named` returns the cells under
/// `names`.
pub(crate) fn grid_of<R: TableRow>(
    names: &[&str],
    cells: &[ShownCell],
    rows: &[R],
    named: impl Fn(&R) -> Vec<String>,
) -> String {
    let columns = headings(cells);
    let all: Vec<&str> = names.iter().copied().chain(columns.iter().map(String::as_str)).collect();
    let mut grid = Grid::after(names.len(), &all);
    for row in rows {
        grid.row(named(row).into_iter().chain(cells.iter().map(|cell| row.text(cell))).collect());
    }
    grid.text()
}

/// Returns a count with its noun: `1 rule`, `2 rules`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_things() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "rule")), ["0 rules", "1 rule", "2 rules"]);
    }

    #[test]
    fn columns_set_the_width_unless_there_are_none() {
        let widths = [Some("72"), Some("0"), Some("wide"), None].map(width_of);
        assert_eq!(widths, [72, WIDTH, WIDTH, WIDTH]);
    }

    #[test]
    fn words_stay_on_the_left() {
        let mut grid = Grid::after(2, &["flow", "scheme", "Mbit/s"]);
        grid.row(vec!["a".into(), "abc".into(), "4.56".into()]);
        let text = grid.text();
        let row = text.lines().nth(2).expect("a row");
        assert_eq!(row.trim(), "a      abc        4.56");
    }
}

//! How tables show the columns: headings, formats, and which table shows which part.

use paceline_report::TableFigure;
use paceline_sim::metrics::Distribution;

use super::{COLUMNS, Column};
use crate::numbers::{figure, fixed, percent, range_as};

/// The part of a figure that a cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The figure itself: a number or a count.
    Whole,
    /// The mean of its quantiles.
    Mean,
    /// The median of its quantiles.
    P50,
    /// The 95th percentile of its quantiles.
    P95,
    /// The 99th percentile of its quantiles.
    P99,
}

impl Part {
    /// The part's field within the figure, and its heading; empty for the whole.
    pub fn name(self) -> &'static str {
        match self {
            Part::Whole => "",
            Part::Mean => "mean",
            Part::P50 => "p50",
            Part::P95 => "p95",
            Part::P99 => "p99",
        }
    }
}

/// How a cell writes its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Three significant figures.
    Figures,
    /// A share, in per cent with one decimal.
    Percent,
    /// A whole number.
    Count,
    /// An index between 0 and 1: three decimals of one run, two over runs.
    Index,
}

impl Format {
    /// The number of one run.
    fn single(self, value: f64) -> String {
        match self {
            Format::Figures => figure(value),
            Format::Percent => percent(value),
            Format::Count => format!("{value:.0}"),
            Format::Index => fixed(value, 3),
        }
    }

    /// The median of several runs, with their range.
    fn range(self, of: &Distribution) -> String {
        range_as(of, "-", |value| match self {
            Format::Figures | Format::Count => figure(value),
            Format::Percent => percent(value),
            Format::Index => fixed(value, 2),
        })
    }

    /// The number as a page's table writes it, and its decimals.
    fn on_page(self, value: f64) -> (f64, usize) {
        match self {
            Format::Figures => (value, 2),
            Format::Percent => (100.0 * value, 1),
            Format::Count => (value.round(), 0),
            Format::Index => (value, 3),
        }
    }
}

/// A table made from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTable {
    /// `compare` with one run of each scheme.
    Compare,
    /// `compare` with several runs.
    CompareRuns,
    /// Python's `Comparison` in a notebook.
    Notebook,
    /// The links of `run`.
    Links,
    /// The links of `run` with several runs.
    LinkRuns,
    /// The stations of a shared medium, of `run`.
    Stations,
    /// The flows of `run`.
    Flows,
    /// The flows of `run` with several runs.
    FlowRuns,
}

/// A cell of rows of tables.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    heading: &'static str,
    part: Part,
    format: Format,
    tables: &'static [TextTable],
    /// Place among the cells that are left out where a table gets too wide; `None` for a cell that stays.
    rank: Option<u8>,
    /// True for figures that say nothing of a single flow.
    of_several_flows: bool,
    /// True for figures that only some flows have, such as those of a video: a table shows them if one of its
    /// rows has the figure.
    if_measured: bool,
    /// The explanation on pages; `None` if they show no such column beside those of their charts.
    on_page: Option<&'static str>,
}

impl Cell {
    /// A cell of these tables. Parts of a figure have one heading in common, which stands once in a table.
    pub(super) const fn new(
        heading: &'static str,
        part: Part,
        format: Format,
        tables: &'static [TextTable],
    ) -> Cell {
        let (rank, on_page) = (None, None);
        let (of_several_flows, if_measured) = (false, false);
        Cell { heading, part, format, tables, rank, of_several_flows, if_measured, on_page }
    }

    /// A cell of [`TextTable::CompareRuns`] that shows medians alone, behind the other cells: rank 1 first, and the
    /// highest rank is left out first.
    pub(super) const fn optional(heading: &'static str, part: Part, rank: u8) -> Cell {
        let cell = Cell::new(heading, part, Format::Figures, &[TextTable::CompareRuns]);
        Cell { rank: Some(rank), ..cell }
    }

    pub(super) const fn of_several_flows(self) -> Cell {
        Cell { of_several_flows: true, ..self }
    }

    pub(super) const fn if_measured(self) -> Cell {
        Cell { if_measured: true, ..self }
    }

    pub(super) const fn on_page(self, explanation: &'static str) -> Cell {
        Cell { on_page: Some(explanation), ..self }
    }
}

/// A cell with its column.
#[derive(Clone, Copy, Debug)]
pub struct ShownCell {
    column: &'static Column,
    cell: &'static Cell,
}

impl ShownCell {
    /// The column's field.
    pub fn field(&self) -> &'static str {
        self.column.name
    }

    /// The part of the figure that the cell shows.
    pub fn part(&self) -> Part {
        self.cell.part
    }

    /// How the cell writes its number.
    pub fn format(&self) -> Format {
        self.cell.format
    }

    /// True if the cell is left out where the table gets too wide.
    pub fn is_optional(&self) -> bool {
        self.cell.rank.is_some()
    }
}

/// A row of a table. Rows of one run have numbers, rows of several runs distributions.
pub trait TableRow {
    /// Returns a part of the figure with this name; `None` if it was not measured. Over several runs it is the median.
    fn number(&self, field: &str, part: Part) -> Option<f64> {
        self.distribution(field, part).map(|runs| runs.median)
    }

    /// Returns a part of the figure with this name over the runs behind the row; `None` if it was not measured, and for
    /// rows of one run.
    fn distribution(&self, _field: &str, _part: Part) -> Option<&Distribution> {
        None
    }

    /// Number of flows behind the row, for figures that say nothing of a single flow.
    fn flows(&self) -> u32 {
        1
    }

    /// Returns the text of a cell; empty where nothing was measured.
    fn text(&self, shown: &ShownCell) -> String {
        let ShownCell { column, cell } = *shown;
        if cell.of_several_flows && self.flows() < 2 {
            return String::new();
        }
        match self.distribution(column.name, cell.part) {
            Some(runs) if cell.rank.is_some() => figure(runs.median),
            Some(runs) => cell.format.range(runs),
            None => {
                let number = self.number(column.name, cell.part);
                number.map_or_else(String::new, |number| cell.format.single(number))
            }
        }
    }
}

fn all_cells() -> impl Iterator<Item = ShownCell> {
    COLUMNS
        .iter()
        .flat_map(|column| column.cells.iter().map(move |cell| ShownCell { column, cell }))
}

/// Returns the cells of a table with these rows, in their order; optional ones are the last.
pub fn cells<R: TableRow>(table: TextTable, rows: &[R]) -> Vec<ShownCell> {
    let has_flows = rows.iter().any(|row| row.flows() > 1);
    let is_measured = |ShownCell { column, cell }: &ShownCell| {
        rows.iter().any(|row| row.number(column.name, cell.part).is_some())
    };
    let is_shown = |shown: &ShownCell| {
        shown.cell.tables.contains(&table)
            && (has_flows || !shown.cell.of_several_flows)
            && (!shown.cell.if_measured || is_measured(shown))
    };
    let mut cells: Vec<ShownCell> = all_cells().filter(is_shown).collect();
    cells.sort_by_key(|shown| shown.cell.rank);
    cells
}

/// Returns the headings of cells. What parts of a figure have in common stands with the first of them.
pub fn headings(cells: &[ShownCell]) -> Vec<String> {
    let heading = |(at, ShownCell { cell, .. }): (usize, &ShownCell)| {
        let is_first = !cells[..at].iter().any(|before| before.cell.heading == cell.heading);
        match cell.part {
            Part::Whole => cell.heading.to_string(),
            part if is_first => format!("{} {}", cell.heading, part.name()),
            part => part.name().to_string(),
        }
    };
    cells.iter().enumerate().map(heading).collect()
}

/// Returns the figures of a row that pages show beside those of their charts.
pub fn page_figures(row: &impl TableRow) -> Vec<TableFigure> {
    figures_on_page(row, |_| true)
}

/// Returns the figures of a row that only some flows have, such as those of a video, as pages show them.
pub fn page_figures_if_measured(row: &impl TableRow) -> Vec<TableFigure> {
    figures_on_page(row, |cell| cell.if_measured)
}

fn figures_on_page(row: &impl TableRow, is_shown: impl Fn(&Cell) -> bool) -> Vec<TableFigure> {
    let figure = |ShownCell { column, cell }: ShownCell| {
        let explanation = cell.on_page.filter(|_| is_shown(cell))?;
        if cell.of_several_flows && row.flows() < 2 {
            return None;
        }
        let (value, decimals) = cell.format.on_page(row.number(column.name, cell.part)?);
        let heading = headings(&[ShownCell { column, cell }]).concat();
        let runs = row.distribution(column.name, cell.part);
        let range = runs.map(|runs| [runs.p5, runs.p95].map(|end| cell.format.on_page(end).0));
        Some(TableFigure::new(&heading, explanation, value, decimals).with_range(range))
    };
    all_cells().filter_map(figure).collect()
}

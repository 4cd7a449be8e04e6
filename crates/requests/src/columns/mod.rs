//! The columns of `paceline compare` and `paceline run`: for each figure its field in JSON, its unit, its meaning, where
//! it comes from, and the tables that show it.
//!
//! [`COLUMNS`] is the table. From it come the rows ([`CompareRow`](crate::compare::CompareRow) and its summary, links and
//! flows over several runs), the tables of the command line ([`cells`]), those of pages ([`page_figures`]), and the rows
//! of `docs/metrics.md`; a test compares `docs/json.md` with it.

mod cell;
mod figure;
pub(crate) mod rows;

pub use cell::{
    Cell, Format, Part, ShownCell, TableRow, TextTable, cells, headings, page_figures,
    page_figures_if_measured,
};
pub(crate) use figure::over;
pub use figure::{DelayDistributions, Figure, FigureOverRuns, OfMedia, P95Distribution};
pub use rows::COLUMNS;

/// A figure in all its forms.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Column {
    /// Field in JSON and in Python.
    pub name: &'static str,
    /// Unit, in the words of `docs/json.md`.
    pub unit: &'static str,
    /// What it is, as a sentence without a full stop.
    pub meaning: &'static str,
    /// Details of the definition, as sentences; `None` if `meaning` says all.
    pub exactly: Option<&'static str>,
    /// True if rows of `compare` have it.
    pub in_compare: bool,
    /// True if links or flows of `run` have it.
    pub in_run: bool,
    /// Cells of tables, in their order.
    pub cells: &'static [Cell],
}

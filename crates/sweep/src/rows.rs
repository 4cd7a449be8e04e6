//! The rows of a run: one for each link and one for each flow.

use paceline_requests::columns::{COLUMNS, Part, TableRow};
use paceline_sim::Outcome;
use paceline_sim::runs::Run;
use toml::Value;

use crate::grid::Grid;
use crate::table::{Cell, Column, Kind, Table, Values};

/// Parts of a figure that has quantiles.
const QUANTILES: [Part; 4] = [Part::Mean, Part::P50, Part::P95, Part::P99];

/// Names and types of the columns between the swept keys and the figures.
const FIXED: [(&str, Kind); 7] = [
    ("run", Kind::Whole),
    ("start_ms", Kind::Number),
    ("seed", Kind::Whole),
    ("digest", Kind::Text),
    ("row", Kind::Text),
    ("name", Kind::Text),
    ("scheme", Kind::Text),
];

/// The column with a run's place in the sweep, from 0 on.
pub(crate) const JOB: &str = "job";

/// Returns the figures of links and flows: the field, the part, the column's name.
fn figures() -> impl Iterator<Item = (&'static str, Part, String)> {
    COLUMNS.iter().filter(|column| column.in_run).flat_map(|column| {
        let parts: &[Part] = if column.unit == "quantiles" { &QUANTILES } else { &[Part::Whole] };
        parts.iter().map(|part| {
            let name = match part {
                Part::Whole => column.name.to_string(),
                part => format!("{}_{}", column.name, part.name()),
            };
            (column.name, *part, name)
        })
    })
}

/// Returns the name of a swept key's column: `grid.seed` if each table has a column `seed` of another meaning.
fn key_column(key: &str) -> String {
    let is_fixed = key == JOB || FIXED.iter().any(|(name, _)| *name == key);
    if is_fixed || figures().any(|(.., name)| name == key) {
        format!("grid.{key}")
    } else {
        key.into()
    }
}

/// Returns the empty table of a sweep. Swept keys have the type that all their values share, else they are texts.
pub(crate) fn empty(grid: &Grid) -> Table {
    let column = |name: &str, kind| Column { name: name.into(), values: Values::none(kind) };
    let keys = grid.keys().map(key_column).enumerate();
    let keys = keys.map(|(at, name)| column(&name, kind(grid.of_key(at))));
    let figures = figures().map(|(.., name)| column(&name, Kind::Number));
    let fixed = FIXED.iter().map(|(name, kind)| column(name, *kind));
    let columns = [column(JOB, Kind::Whole)].into_iter().chain(keys).chain(fixed).chain(figures);
    Table { columns: columns.collect() }
}

fn kind(values: &[Value]) -> Kind {
    if values.iter().all(Value::is_integer) {
        Kind::Whole
    } else if values.iter().all(|value| value.is_integer() || value.is_float()) {
        Kind::Number
    } else {
        Kind::Text
    }
}

/// Returns the cell of a swept key's value.
fn swept(value: &Value, kind: Kind) -> Cell {
    match (value, kind) {
        (Value::Integer(value), Kind::Whole | Kind::Number) => Cell::Whole(*value),
        (Value::Float(value), Kind::Number) => Cell::Number(*value),
        (Value::String(text), _) => Cell::Text(text.clone()),
        (other, _) => Cell::Text(other.to_string()),
    }
}

/// Returns the rows of a run, in the order of the table's columns.
pub(crate) fn rows(
    grid: &Grid,
    (job, combination): (u64, u64),
    run: Run,
    outcome: &Outcome,
) -> Vec<Vec<Cell>> {
    let mut before = vec![Cell::Whole(job as i64)];
    for (at, value) in grid.values(combination).into_iter().enumerate() {
        before.push(swept(value, kind(grid.of_key(at))));
    }
    rows_after(&before, run, outcome)
}

/// Returns the rows of a run, each of which begins with the cells `before`.
fn rows_after(before: &[Cell], run: Run, outcome: &Outcome) -> Vec<Vec<Cell>> {
    let row = |what: &str, name: &str, scheme: Option<&str>, figures_of: &dyn TableRow| {
        let mut cells = before.to_vec();
        cells.extend([
            Cell::Whole(i64::from(run.number)),
            Cell::Number(run.start.as_millis_f64()),
            Cell::Whole(run.seed as i64),
            Cell::Text(outcome.digest.to_string()),
            Cell::Text(what.into()),
            Cell::Text(name.into()),
        ]);
        cells.push(scheme.map_or(Cell::Missing, |scheme| Cell::Text(scheme.into())));
        let figure = |(field, part, _): (&str, Part, String)| {
            figures_of.number(field, part).map_or(Cell::Missing, Cell::Number)
        };
        cells.extend(figures().map(figure));
        cells
    };
    let links = outcome.links.iter().map(|link| row("link", &link.name, None, link));
    let flows = outcome.flows.iter().map(|flow| row("flow", &flow.name, Some(&flow.scheme), flow));
    links.chain(flows).collect()
}

/// Returns the table of runs that no grid describes: their place in the sweep, the name of their scenario, and the
/// columns that follow the swept keys in the table of [`sweep`](crate::sweep()).
pub fn table_of_runs<'a>(runs: impl IntoIterator<Item = (u64, Run, &'a Outcome)>) -> Table {
    let column = |name: &str, kind| Column { name: name.into(), values: Values::none(kind) };
    let mut columns = vec![column(JOB, Kind::Whole), column("scenario", Kind::Text)];
    columns.extend(FIXED.iter().map(|(name, kind)| column(name, *kind)));
    columns.extend(figures().map(|(.., name)| column(&name, Kind::Number)));
    let mut table = Table { columns };
    for (job, run, outcome) in runs {
        let before = [Cell::Whole(job as i64), Cell::Text(outcome.name.clone())];
        for row in rows_after(&before, run, outcome) {
            table.push(row);
        }
    }
    table
}

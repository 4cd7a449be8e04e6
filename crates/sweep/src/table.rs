//! Tables of results: named columns of equal length.

use serde::{Deserialize, Serialize};

/// A table. All columns have equally many values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, in their order.
    pub columns: Vec<Column>,
}

/// A column with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// Values of one type; `None` where there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Nothing.
    Missing,
}

/// Type of a column's values.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Whole,
    Number,
    Text,
}

impl Values {
    /// Returns no values of this type.
    pub(crate) fn none(kind: Kind) -> Values {
        match kind {
            Kind::Whole => Values::Whole(Vec::new()),
            Kind::Number => Values::Number(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Whole(values) => values.len(),
            Values::Number(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value. A value of another type becomes a missing one, except for whole numbers among numbers.
    pub(crate) fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Values::Whole(values), Cell::Whole(value)) => values.push(Some(value)),
            (Values::Number(values), Cell::Whole(value)) => values.push(Some(value as f64)),
            (Values::Number(values), Cell::Number(value)) => {
                values.push(value.is_finite().then_some(value));
            }
            (Values::Text(values), Cell::Text(value)) => values.push(Some(value)),
            (Values::Whole(values), _) => values.push(None),
            (Values::Number(values), _) => values.push(None),
            (Values::Text(values), _) => values.push(None),
        }
    }

    /// Returns the values of these rows, in this order.
    pub(crate) fn of_rows(&self, rows: &[usize]) -> Values {
        match self {
            Values::Whole(values) => Values::Whole(rows.iter().map(|&row| values[row]).collect()),
            Values::Number(values) => Values::Number(rows.iter().map(|&row| values[row]).collect()),
            Values::Text(values) => {
                Values::Text(rows.iter().map(|&row| values[row].clone()).collect())
            }
        }
    }

    /// Appends the values of another column of the same type. Returns false if the types differ.
    pub(crate) fn append(&mut self, other: Values) -> bool {
        match (self, other) {
            (Values::Whole(values), Values::Whole(other)) => values.extend(other),
            (Values::Number(values), Values::Number(other)) => values.extend(other),
            (Values::Text(values), Values::Text(other)) => values.extend(other),
            _ => return false,
        }
        true
    }
}

impl Table {
    /// Adds a row: a cell for each column.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.values.push(cell);
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Returns the values of a column; `None` if there is none of this name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }
}

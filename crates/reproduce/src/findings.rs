//! What an experiment has found: measures by name, and exhibits for the page.

use std::collections::BTreeMap;

use paceline_report::{Figure, Table};

/// A figure or a table of the page.
#[derive(Clone, Debug)]
pub enum Exhibit {
    /// A figure with its caption.
    Figure(Figure, String),
    /// A table with its caption.
    Table(Table, String),
}

/// What an experiment has found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Measures by name.
    pub measures: BTreeMap<String, f64>,
    /// Exhibits by name, in the order of the page.
    pub exhibits: Vec<(String, Exhibit)>,
    /// The traces that were used.
    pub traces: Vec<String>,
}

impl Findings {
    /// Adds a measure.
    pub fn measure(&mut self, name: impl Into<String>, value: f64) {
        self.measures.insert(name.into(), value);
    }

    /// Adds a figure.
    pub fn figure(&mut self, name: &str, figure: Figure, caption: &str) {
        self.exhibits.push((name.to_string(), Exhibit::Figure(figure, caption.to_string())));
    }

    /// Adds a table.
    pub fn table(&mut self, name: &str, table: Table, caption: &str) {
        self.exhibits.push((name.to_string(), Exhibit::Table(table, caption.to_string())));
    }

    /// A measure; NaN if there is none of this name.
    pub fn get(&self, name: &str) -> f64 {
        self.measures.get(name).copied().unwrap_or(f64::NAN)
    }
}

//! What an experiment has found: measures by name, and exhibits for the page.

use std::collections::BTreeMap;

use paceline_report::{Cell, Figure, Table};
use serde::Serialize;

/// A figure or a table of the page.
#[derive(Clone, Debug)]
pub enum Exhibit {
    /// A figure with its caption.
    Figure(Figure, String),
    /// A table with its caption.
    Table(Table, String),
}

/// A table of what comes out by the value of a setting, for the page and for documents.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sweep {
    /// The name by which claims call it.
    pub name: String,
    /// What is swept, and what the paper's figure is.
    pub caption: String,
    /// The headings.
    pub columns: Vec<String>,
    /// The rows: settings and figures.
    pub rows: Vec<Vec<String>>,
}

impl Sweep {
    /// The table for the page.
    pub fn table(&self) -> Table {
        let columns = self.columns.iter().map(|name| (name.clone(), String::new())).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        Table { columns, rows }
    }

    /// The table as Markdown, with its caption before it.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = self.columns.iter().map(|_| "---".to_string()).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}\n\n{}{}{rows}", self.caption, line(&self.columns), line(&rule))
    }
}

/// What an experiment has found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Measures by name.
    pub measures: BTreeMap<String, f64>,
    /// Exhibits by name, in the order of the page.
    pub exhibits: Vec<(String, Exhibit)>,
    /// Tables of rules that are not at hand.
    pub missing: Vec<String>,
    /// Tables of rules that are not at hand, with the built-in ones that stood in for them.
    pub stand_ins: Vec<(String, String)>,
    /// The traces that were used.
    pub traces: Vec<String>,
    /// Sweeps of settings that a paper leaves open.
    pub sweeps: Vec<Sweep>,
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

    /// Adds a sweep.
    pub fn sweep(&mut self, name: &str, caption: &str, columns: &[&str], rows: Vec<Vec<String>>) {
        let columns = columns.iter().map(|name| (*name).to_string()).collect();
        let (name, caption) = (name.to_string(), caption.to_string());
        self.sweeps.push(Sweep { name, caption, columns, rows });
    }

    /// A measure; NaN if there is none of this name.
    pub fn get(&self, name: &str) -> f64 {
        self.measures.get(name).copied().unwrap_or(f64::NAN)
    }
}

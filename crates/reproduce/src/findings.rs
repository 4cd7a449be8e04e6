//! Results of an experiment: measures by name, and exhibits for the page.

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

/// A table of results by the value of a setting, for the page and for documents.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sweep {
    /// Name by which claims refer to it.
    pub name: String,
    /// Description of the setting, and the paper's figure.
    pub caption: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Rows: settings and figures.
    pub rows: Vec<Vec<String>>,
}

impl Sweep {
    /// Returns the table for the page.
    pub fn table(&self) -> Table {
        let columns = self.columns.iter().map(|name| (name.clone(), String::new())).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        Table { columns, rows }
    }

    /// Returns the table as Markdown, below its caption.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = self.columns.iter().map(|_| "---".to_string()).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}\n\n{}{}{rows}", self.caption, line(&self.columns), line(&rule))
    }
}

/// Measures of an experiment by name.
pub type Measures = BTreeMap<String, f64>;

/// Results of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Measures by name.
    pub measures: Measures,
    /// Exhibits by name, in the order of the page.
    pub exhibits: Vec<(String, Exhibit)>,
    /// Tables of rules that are missing.
    pub missing: Vec<String>,
    /// Tables of rules that are missing, each with the built-in one used in its place.
    pub stand_ins: Vec<(String, String)>,
    /// Names of the traces used.
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

    /// Returns a measure; NaN if there is none of this name.
    pub fn get(&self, name: &str) -> f64 {
        self.measures.get(name).copied().unwrap_or(f64::NAN)
    }
}

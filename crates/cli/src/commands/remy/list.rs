//! `paceline remy list`: the built-in tables.

use clap::Args;
use paceline_schemes::remy::Signal;
use serde::Serialize;

use crate::output::{self, Error};
use crate::table::Grid;

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline remy list
  paceline remy list --json")]
pub(crate) struct List {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// A built-in table.
#[derive(Serialize)]
struct ListedTable {
    /// Name in `remy[table=NAME]`.
    name: String,
    rules: usize,
    /// Signals by which its boxes divide memories.
    signals: Vec<&'static str>,
    /// Purpose of the table.
    summary: String,
}

#[derive(Serialize)]
struct TableList {
    tables: Vec<ListedTable>,
}

impl List {
    pub(crate) fn run(self) -> Result<(), Error> {
        let tables = paceline_remy::tables();
        let mut listed = Vec::new();
        for named in tables.iter() {
            let name = named.name.clone();
            let table = super::built_in(&name)?;
            let tree = table.tree();
            let signals = Signal::ALL.into_iter().filter(|&signal| tree.looks_at(signal));
            listed.push(ListedTable {
                rules: table.rules().len(),
                signals: signals.map(Signal::name).collect(),
                summary: named.summary.clone(),
                name,
            });
        }
        if self.json {
            return output::print_json(&TableList { tables: listed });
        }
        let mut grid = Grid::words(&["table", "rules", "what it was made for"]);
        for table in listed {
            grid.row(vec![table.name, table.rules.to_string(), table.summary]);
        }
        output::print(&grid.text())
    }
}

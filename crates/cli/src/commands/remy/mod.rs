//! `paceline remy`: tables of rules for the scheme `remy`.

mod convert;
mod eval;
mod list;
mod maps;
mod page;
mod reaction;
mod search;
mod show;
mod studies;
mod train;
mod tune;

use std::sync::Arc;

use clap::Subcommand;
use paceline_requests::evaluation::find_table;
use paceline_schemes::remy::{RemyParams, RuleTable, halves};
use paceline_sim::scenario::{CustomScheme, SchemeChoice};

use crate::output::Error;

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline remy list
  paceline remy train scenarios/remy/general-delta1.toml -o general --duration 30min
  paceline remy eval general/table.toml --link 15Mbps --rtt 150ms
  paceline remy show general/table.toml -o general.html")]
pub(crate) enum Remy {
    /// Measure throughput, delay and score of tables and schemes on a network
    Eval(eval::Eval),
    /// Search for a table that suits given networks and a given objective
    Train(train::Train),
    /// Search for numbers of a scheme's parameters that suit given networks and a given objective
    Tune(tune::Tune),
    /// Train the tables of the thesis' studies, and judge them
    Studies(studies::Studies),
    /// Show the size of a table, and the actions of its most used rules in words
    Show(show::Show),
    /// Show the actions of two tables in equal situations
    Compare(show::Compare),
    /// List the built-in tables
    List(list::List),
    /// Write a published table (.dna) in a readable form, TOML or JSON
    Import(convert::Import),
    /// Write a readable table in the published form (.dna)
    Export(convert::Export),
}

impl Remy {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            Remy::Eval(command) => command.run(),
            Remy::Train(command) => command.run(),
            Remy::Tune(command) => command.run(),
            Remy::Studies(command) => command.run(),
            Remy::Show(command) => command.run(),
            Remy::Compare(command) => command.run(),
            Remy::List(command) => command.run(),
            Remy::Import(command) => command.run(),
            Remy::Export(command) => command.run(),
        }
    }
}

/// Finds a built-in table of this name, or else reads a file.
fn table(name: &str) -> Result<Arc<RuleTable>, Error> {
    match find_table(name) {
        Ok((table, _)) => Ok(table),
        Err(error) => Err(Error::Usage(error.problem)),
    }
}

/// Returns true if a built-in table has this name.
fn is_built_in(name: &str) -> bool {
    paceline_remy::tables().find(name).is_some()
}

fn built_in_names() -> String {
    let tables = paceline_remy::tables();
    tables.iter().map(|table| &*table.name).collect::<Vec<_>>().join(", ")
}

/// Returns the built-in table of this name.
pub(super) fn built_in(name: &str) -> Result<Arc<RuleTable>, Error> {
    match paceline_remy::tables().find(name) {
        Some(named) => named.table().map_err(|error| Error::Message(format!("{name}: {error}"))),
        None => Err(Error::Usage(format!(
            "there is no built-in table `{name}`; there are {}",
            built_in_names()
        ))),
    }
}

/// Returns a table's scheme whose senders send lost data again.
fn scheme(name: &str, table: Arc<RuleTable>) -> SchemeChoice {
    CustomScheme::new(name, halves(RemyParams::default(), table, None)).into()
}

//! Tables by name: the built-in ones, and those that a program adds.

mod binary;
mod cellular;
mod cellular_marks;
mod data_centre;
mod frontier;
mod general;
mod general_delta0_1;
mod general_delta1;
mod general_delta10;
mod range_100x;
mod signals_all;
mod signals_no_rec_ewma;
mod signals_no_rtt_ratio;
mod signals_no_send_ewma;
mod starter;
mod studies;

use std::sync::Arc;

use paceline_cc::{Halves, Params, Spec, SpecError, spec::nearest};

use self::binary::TrainedTable;
use super::table::{RuleTable, TableError};
use super::{RemyParams, halves};
use crate::scheme_entry::SchemeEntry;

/// Reads a table from a file; the error says what is wrong with the file.
pub type ReadTable = Arc<dyn Fn(&str) -> Result<RuleTable, String> + Send + Sync>;

/// A table with its name.
#[derive(Clone, Debug)]
pub struct NamedTable {
    /// The name by which `remy[table=NAME]` calls it.
    pub name: String,
    /// The networks that it was made for, in one sentence.
    pub summary: String,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// A built-in table, made when it is first used.
    BuiltIn(fn() -> Result<RuleTable, TableError>),
    Added(Arc<RuleTable>),
}

impl NamedTable {
    /// Returns the table.
    ///
    /// # Errors
    /// Only if a built-in table is broken.
    pub fn table(&self) -> Result<Arc<RuleTable>, TableError> {
        match &self.source {
            Source::BuiltIn(make) => make().map(Arc::new),
            Source::Added(table) => Ok(Arc::clone(table)),
        }
    }
}

/// A built-in table: its name, its summary, and the function that makes it.
type BuiltIn = (&'static str, &'static str, fn() -> Result<RuleTable, TableError>);

/// The built-in tables. Each is a file under `tables/`, and a line here; those of the studies follow.
static BUILTIN: &[BuiltIn] = &[
    (starter::NAME, starter::SUMMARY, starter::table),
    (general::NAME, general::SUMMARY, general::table),
    of(&frontier::LEAST_DELAY),
    of(&frontier::BALANCED),
    of(&frontier::MORE_THROUGHPUT),
    of(&frontier::MOST_THROUGHPUT),
    of(&frontier::FULL_LINK),
    (general_delta0_1::NAME, general_delta0_1::SUMMARY, general_delta0_1::table),
    (general_delta1::NAME, general_delta1::SUMMARY, general_delta1::table),
    (general_delta10::NAME, general_delta10::SUMMARY, general_delta10::table),
    (range_100x::NAME, range_100x::SUMMARY, range_100x::table),
    (cellular::NAME, cellular::SUMMARY, cellular::table),
    (cellular_marks::NAME, cellular_marks::SUMMARY, cellular_marks::table),
    (data_centre::NAME, data_centre::SUMMARY, data_centre::table),
    (signals_all::NAME, signals_all::SUMMARY, signals_all::table),
    (signals_no_send_ewma::NAME, signals_no_send_ewma::SUMMARY, signals_no_send_ewma::table),
    (signals_no_rec_ewma::NAME, signals_no_rec_ewma::SUMMARY, signals_no_rec_ewma::table),
    (signals_no_rtt_ratio::NAME, signals_no_rtt_ratio::SUMMARY, signals_no_rtt_ratio::table),
];

const fn of(table: &TrainedTable) -> BuiltIn {
    (table.name, table.summary, table.table)
}

/// The tables that the scheme `remy` can follow.
///
/// ```
/// use paceline_cc::Spec;
/// use paceline_schemes::registry;
/// use paceline_schemes::remy::{Action, RemyTables, RuleTable, RuleTree};
///
/// // A rule for everything: a window of 40 packets, at least 1 ms apart.
/// let fixed = RuleTable::new(RuleTree::single(Action::new(0.0, 40, 1.0)))?;
/// let mut tables = RemyTables::builtin();
/// tables.add("fixed", "40 packets", fixed);
/// let mut schemes = registry::builtin();
/// schemes.set(tables.scheme())?;
/// let spec = Spec::parse("remy[table=fixed]")?;
/// assert!(schemes.find("remy")?.build(&spec).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RemyTables {
    tables: Vec<NamedTable>,
    read: Option<ReadTable>,
}

impl RemyTables {
    /// Returns the built-in tables.
    pub fn builtin() -> RemyTables {
        let builtin = |(name, summary, make): BuiltIn| NamedTable {
            name: name.to_string(),
            summary: summary.to_string(),
            source: Source::BuiltIn(make),
        };
        let all = BUILTIN.iter().copied().chain(studies::tables().map(of));
        RemyTables { tables: all.map(builtin).collect(), read: None }
    }

    /// Adds a table; it replaces a table of this name.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        summary: impl Into<String>,
        table: impl Into<Arc<RuleTable>>,
    ) {
        let source = Source::Added(table.into());
        let named = NamedTable { name: name.into(), summary: summary.into(), source };
        self.tables.retain(|known| known.name != named.name);
        self.tables.push(named);
    }

    /// Returns these tables, extended by `remy[file=PATH]`: `read` reads the files, since this
    /// crate reads none.
    #[must_use]
    pub fn reading(
        mut self,
        read: impl Fn(&str) -> Result<RuleTable, String> + Send + Sync + 'static,
    ) -> RemyTables {
        self.read = Some(Arc::new(read));
        self
    }

    /// Returns the tables, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &NamedTable> {
        self.tables.iter()
    }

    /// Returns the table of this name.
    pub fn find(&self, name: &str) -> Option<&NamedTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Returns the table that the parameters name, which `spec` sets.
    ///
    /// # Errors
    /// The table is unknown, or its file cannot be read.
    pub fn table(&self, params: &RemyParams, spec: &Spec) -> Result<Arc<RuleTable>, SpecError> {
        if !params.file.is_empty() {
            let Some(read) = &self.read else {
                return Err(spec.bad_value("file", "tables in files are not read here"));
            };
            let table = read(&params.file).map_err(|problem| spec.bad_value("file", problem))?;
            return Ok(Arc::new(table));
        }
        if let Some(named) = self.find(&params.table) {
            return named.table().map_err(|error| spec.bad_value("table", error.to_string()));
        }
        let names: Vec<&str> = self.tables.iter().map(|table| &*table.name).collect();
        let mut problem = format!("there is no such table; there are: {}", names.join(", "));
        if let Some(near) = nearest(&params.table, names.iter().copied()) {
            problem += &format!(" (did you mean `{near}`?)");
        }
        Err(spec.bad_value("table", problem))
    }

    /// Returns the halves of Remy with the parameters that `spec` sets.
    ///
    /// # Errors
    /// If a parameter or table is unknown, or a value is wrong.
    pub fn build(&self, spec: &Spec) -> Result<Halves, SpecError> {
        let params: RemyParams = spec.params()?;
        let table = self.table(&params, spec)?;
        Ok(halves(params, table, None))
    }

    /// Returns the scheme `remy` with these tables, for [`Schemes`](crate::Schemes).
    pub fn scheme(self) -> SchemeEntry {
        let scheme = &super::SCHEME;
        SchemeEntry::new(scheme.name, move |spec| self.build(spec))
            .summary(scheme.summary)
            .source(scheme.source)
            .documented(RemyParams::infos)
    }
}

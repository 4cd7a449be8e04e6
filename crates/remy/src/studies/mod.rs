//! Studies: several tables trained for related networks and compared on others, as in chapters 3 and 4 of Winstein's thesis.
//!
//! A study is a file that states its question, its networks and its bounds before a table is trained. The files that
//! ship are in `crates/remy/studies/`; docs/remy.md explains the keys.

mod judge;
mod read;
mod trained;

use crate::spec::Specification;

pub use judge::{CheckVerdict, Figure, FigureRange, JudgeError, StudyRow, StudyVerdict, judge};
pub use read::StudyError;
pub use trained::{
    Shard, StudyTraining, TrainedTable, built_in_for, trained_for, trainings, unusable,
};

/// Names and texts of the studies that ship.
const SHIPPED: [(&str, &str); 8] = [
    ("data-centre", include_str!("../../studies/data-centre.toml")),
    ("operating-range", include_str!("../../studies/operating-range.toml")),
    ("structure", include_str!("../../studies/structure.toml")),
    ("tcp-awareness", include_str!("../../studies/tcp-awareness.toml")),
    ("multiplexing", include_str!("../../studies/multiplexing.toml")),
    ("rtt", include_str!("../../studies/rtt.toml")),
    ("signals", include_str!("../../studies/signals.toml")),
    ("diversity", include_str!("../../studies/diversity.toml")),
];

/// A study.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Study {
    /// Its name, which is that of its folder.
    pub name: String,
    /// The question that it answers.
    pub question: String,
    /// Claims of `paceline reproduce` about the same question.
    pub claims: Vec<String>,
    /// Which figures are compared with which bounds, as sentences for readers.
    pub judged: String,
    /// Number of generations for which each table is trained.
    pub generations: u32,
    /// Schemes that are judged beside the tables.
    pub schemes: Vec<String>,
    /// The tables to train.
    pub tables: Vec<StudyTable>,
    /// Pairs of tables that were trained apart.
    pub pairs: Vec<TablePair>,
    /// Networks by which the tables are judged.
    pub tests: Vec<StudyTest>,
    /// Bounds.
    pub checks: Vec<StudyCheck>,
}

/// A table of a study.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StudyTable {
    /// Its name, which is that of its folder.
    pub name: String,
    /// The specification by which it is trained.
    pub specification: String,
    /// File of the published table for the same networks.
    pub published: Option<String>,
    /// File of the published table of the other senders, if two are trained in turn.
    pub published_others: Option<String>,
    /// True if two tables are trained in turn.
    pub trains_two: bool,
}

/// Two tables, each trained alone, whose senders share links in the tests with two kinds of senders.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablePair {
    /// The name of the pair.
    pub name: String,
    /// The table of the first kind of senders.
    pub first: String,
    /// The table of the others.
    pub second: String,
}

/// Networks by which tables are judged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StudyTest {
    /// The name.
    pub name: String,
    /// The networks and the objective.
    pub specification: Specification,
    /// True if senders of tables retransmit lost packets.
    pub repairs: bool,
    /// The rows that are judged by it; empty for all.
    pub rows: Vec<String>,
}

/// A bound on a figure of a row, or on its difference from another row's.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StudyCheck {
    /// What it says, in words.
    pub what: String,
    /// The figure.
    #[serde(default)]
    pub figure: Figure,
    /// The row.
    pub of: String,
    /// The row whose figure is subtracted.
    pub over: Option<String>,
    /// The tests over which the figure is averaged.
    pub tests: Vec<String>,
    /// Lower bound.
    pub least: Option<f64>,
    /// Upper bound.
    pub most: Option<f64>,
}

impl Study {
    /// Returns the studies that ship.
    ///
    /// # Errors
    /// A file is invalid.
    pub fn shipped() -> Result<Vec<Study>, StudyError> {
        SHIPPED.iter().map(|(name, text)| Study::parse(name, text)).collect()
    }

    /// Returns the text of a study that ships.
    pub fn text(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Returns the names of the rows of trained tables that a test judges: tables and tables of other senders, or pairs if
    /// the test has two kinds of senders.
    pub(crate) fn rows_of(&self, test: &StudyTest) -> Vec<String> {
        let two = test.specification.trains_two();
        let mut rows: Vec<String> = Vec::new();
        for table in &self.tables {
            if !two || table.trains_two {
                rows.push(table.name.clone());
            }
            if !two && table.trains_two {
                rows.push(format!("{}/{OTHERS}", table.name));
            }
        }
        if two {
            rows.extend(self.pairs.iter().map(|pair| pair.name.clone()));
        }
        rows.retain(|row| test.rows.is_empty() || test.rows.contains(row));
        rows
    }

    /// Returns the schemes that a test judges beside tables: none if it has two kinds of senders.
    pub(crate) fn schemes_of(&self, test: &StudyTest) -> Vec<String> {
        let is_judged = |name: &&String| test.rows.is_empty() || test.rows.contains(*name);
        match test.specification.trains_two() {
            true => Vec::new(),
            false => self.schemes.iter().filter(is_judged).cloned().collect(),
        }
    }
}

/// Ends the name of a row that is the table of the other senders.
const OTHERS: &str = "others";

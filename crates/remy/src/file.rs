//! Tables in files: published and readable ones.

use std::path::{Path, PathBuf};

use paceline_cc::Span;
use paceline_schemes::remy::{RemyTables, RuleTable, RuleTree, Signal, TableError};
use paceline_sim::Names;
use thiserror::Error;

use crate::dna::{Dna, DnaError};
use crate::readable::{Readable, ReadableError};

/// Maximum size of a file in bytes: a hundred times the largest published one.
const LARGEST: u64 = 16 << 20;

/// Why a file could not be read as a table.
#[derive(Debug, Error)]
#[error("{}: {problem}", .path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The error in it.
    pub problem: Problem,
}

/// An error in a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is too large.
    #[error("it has {0} bytes; tables have less than {LARGEST}")]
    TooLarge(u64),
    /// It is not a published table.
    #[error("not a published table (.dna): {0}")]
    Dna(#[from] DnaError),
    /// It is not a readable table.
    #[error("not a readable table: {0}")]
    Readable(#[from] ReadableError),
    /// Its rules do not make a table.
    #[error("{0}")]
    Table(#[from] TableError),
    /// No rule covers some memories.
    #[error("no rule is for a memory of {0}: rules are missing, or the file is cut off")]
    Gap(String),
}

/// A table read from a file, with the file's other contents.
#[derive(Clone, Debug)]
pub struct TableFile {
    /// The table.
    pub table: RuleTable,
    /// The description in a readable file.
    pub about: String,
    /// The published file, if it is one. It keeps the fields that Paceline does not use.
    pub dna: Dna,
}

/// Reads a table: readable TOML or JSON if the file's name has that extension, otherwise a
/// published file.
///
/// # Errors
/// The file cannot be read or is not a table.
pub fn load(path: impl AsRef<Path>) -> Result<TableFile, FileError> {
    let path = path.as_ref();
    read(path).map_err(|problem| FileError { path: path.to_path_buf(), problem })
}

fn read(path: &Path) -> Result<TableFile, Problem> {
    let length = std::fs::metadata(path)?.len();
    if length > LARGEST {
        return Err(Problem::TooLarge(length));
    }
    let bytes = std::fs::read(path)?;
    parse(&bytes, path.extension().and_then(|end| end.to_str()).unwrap_or_default())
}

/// Reads a table from the bytes of a file whose name ends in `extension`.
///
/// # Errors
/// They are not a table.
pub fn parse(bytes: &[u8], extension: &str) -> Result<TableFile, Problem> {
    let readable = match extension {
        "toml" => Readable::from_toml(&String::from_utf8_lossy(bytes))?,
        "json" => Readable::from_json(&String::from_utf8_lossy(bytes))?,
        _ => {
            let dna = Dna::read(bytes)?;
            return Ok(TableFile { table: whole(dna.tree())?, about: String::new(), dna });
        }
    };
    let tree = readable.tree()?;
    let dna = Dna::of(&tree).with_others(from_hex(&readable.published)?);
    let mut table = whole(tree)?;
    if readable.resolution > Span::ZERO {
        table = table.with_resolution(readable.resolution);
    }
    if readable.timer > Span::ZERO {
        // Published files and the kernel refuse this signal, and with it the timer.
        if !table.tree().looks_at(Signal::AckGap) {
            let problem = "timer: no box uses ack_gap, so that no rule is for a silent path: add it to the \
                           axes of the first box, or leave out timer";
            return Err(ReadableError::Syntax(problem.into()).into());
        }
        table = table.with_timer(readable.timer);
    }
    Ok(TableFile { table, about: readable.about, dna })
}

/// Makes a table of a tree; an error if some memory has no rule.
fn whole(tree: RuleTree) -> Result<RuleTable, Problem> {
    let active = tree.domain().active;
    let table = RuleTable::new(tree)?;
    match table.gap() {
        None => Ok(table),
        Some(gap) => {
            let values = Signal::ALL.iter().filter(|signal| active[signal.index()]);
            let values = values.map(|&signal| format!("{} {}", signal.name(), gap.get(signal)));
            Err(Problem::Gap(values.collect::<Vec<_>>().join(", ")))
        }
    }
}

impl TableFile {
    /// Returns the readable form.
    pub fn readable(&self) -> Readable {
        let mut readable = Readable::of_table(&self.table, self.about.clone());
        readable.published = self.dna.others().iter().map(|byte| format!("{byte:02x}")).collect();
        readable
    }
}

fn from_hex(text: &str) -> Result<Vec<u8>, ReadableError> {
    let pairs = text.as_bytes().chunks(2).map(|pair| {
        let digits = std::str::from_utf8(pair).ok().filter(|digits| digits.len() == 2)?;
        u8::from_str_radix(digits, 16).ok()
    });
    pairs.collect::<Option<_>>().ok_or_else(|| {
        ReadableError::Syntax("`published` is not an even number of hexadecimal digits".into())
    })
}

/// Returns the built-in tables, and support for `remy[file=PATH]`.
pub fn tables() -> RemyTables {
    RemyTables::builtin().reading(|path| match load(path) {
        Ok(loaded) => Ok(loaded.table),
        Err(error) => Err(error.problem.to_string()),
    })
}

/// Returns the built-in schemes and queues, with a `remy` that reads tables from files: [`tables`].
pub fn names() -> Names {
    let mut names = Names::default();
    names.schemes.set(tables().scheme()).expect("a built-in name is legal");
    names
}

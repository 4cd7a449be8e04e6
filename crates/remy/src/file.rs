//! Tables in files: published ones and readable ones.

use std::path::{Path, PathBuf};

use paceline_schemes::remy::{RemyTables, RuleTable, RuleTree, Signal, TableError};
use paceline_sim::Names;
use thiserror::Error;

use crate::dna::{Dna, DnaError};
use crate::readable::{Readable, ReadableError};

/// The largest file that is read: a hundred times the largest published one.
const LARGEST: u64 = 16 << 20;

/// Why a file gives no table.
#[derive(Debug, Error)]
#[error("{}: {problem}", .path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is too large.
    #[error("it has {0} bytes; tables have less than {LARGEST}")]
    TooLarge(u64),
    /// It is no published table.
    #[error("not a published table (.dna): {0}")]
    Dna(#[from] DnaError),
    /// It is no readable table.
    #[error("not a readable table: {0}")]
    Readable(#[from] ReadableError),
    /// Its rules make no table.
    #[error("{0}")]
    Table(#[from] TableError),
    /// There is no rule for some memories.
    #[error("no rule is for a memory of {0}: rules are missing, or the file is cut off")]
    Gap(String),
}

/// A table from a file, with what the file says beside its rules.
#[derive(Clone, Debug)]
pub struct TableFile {
    /// The table.
    pub table: RuleTable,
    /// What a readable file says of it.
    pub about: String,
    /// The published file, if it is one: it keeps what is not understood here.
    pub dna: Dna,
}

/// Reads a table: readable TOML or JSON if the file's name ends so, else a published file.
///
/// # Errors
/// If the file cannot be read or is no table.
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
/// If they are no table.
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
    Ok(TableFile { table: whole(tree)?, about: readable.about, dna })
}

/// A table that has a rule for each memory.
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
    /// The readable form.
    pub fn readable(&self) -> Readable {
        let mut readable = Readable::of(&self.table.tree(), self.about.clone());
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

/// The built-in tables, and those in files: `remy[file=PATH]`.
pub fn tables() -> RemyTables {
    RemyTables::builtin().reading(|path| match load(path) {
        Ok(loaded) => Ok(loaded.table),
        Err(error) => Err(error.problem.to_string()),
    })
}

/// The built-in schemes and queues, with a `remy` that reads tables from files: [`tables`].
pub fn names() -> Names {
    let mut names = Names::default();
    names.schemes.set(tables().scheme()).expect("a built-in name is legal");
    names
}

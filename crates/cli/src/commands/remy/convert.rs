//! `paceline remy import` and `export`: convert between published and readable files.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_remy::{Dna, Readable, TableFile};
use paceline_requests::evaluation::no_table;
use paceline_schemes::remy::RuleTable;

use crate::output::{self, Error};
use crate::results;

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline remy import RemyCC-2014-100x.dna
  paceline remy import RemyCC-2014-100x.dna -o published.toml
  paceline remy import general-delta1 -o general.toml")]
pub(crate) struct Import {
    /// A published table (.dna), a readable one, or the name of a built-in one
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The file to write, .toml or .json; without it TOML is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline remy export general-delta1 -o general.dna")]
pub(crate) struct Export {
    /// A readable table (.toml, .json), a published one, or the name of a built-in one
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The file to write, in the published form (.dna)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

fn load(path: &Path) -> Result<TableFile, Error> {
    paceline_remy::load(path)
        .map_err(|error| Error::Usage(no_table(&path.to_string_lossy(), &error)))
}

/// Returns the name of the built-in table that an argument names; `None` if it is a file.
fn built_in(table: &Path) -> Option<&str> {
    table.to_str().filter(|name| super::is_built_in(name))
}

/// Checks that a file of this name is read as a readable table: other files are read as published ones.
fn check_readable(path: &Path) -> Result<(), Error> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("toml" | "json") => Ok(()),
        _ => Err(Error::Usage(format!(
            "{}: -o writes a readable table here: give the file a name that ends with .toml or .json",
            path.display()
        ))),
    }
}

impl Import {
    pub(crate) fn run(self) -> Result<(), Error> {
        if let Some(path) = &self.output {
            check_readable(path)?;
        }
        let readable = match built_in(&self.table) {
            Some(name) => {
                let about = format!("the built-in table {name}");
                Readable::of_table(&*super::table(name)?, about)
            }
            None => {
                let mut loaded = load(&self.table)?;
                if loaded.about.is_empty() {
                    let name = self.table.file_name().unwrap_or_default().to_string_lossy();
                    loaded.about = format!("imported from {name}");
                }
                loaded.readable()
            }
        };
        match &self.output {
            None => output::print(&readable.to_toml()),
            Some(path) if path.extension().is_some_and(|end| end == "json") => {
                let text = readable.to_json().map_err(|error| Error::Message(error.to_string()))?;
                output::write_file(path, text.as_bytes())
            }
            Some(path) => output::write_file(path, readable.to_toml().as_bytes()),
        }
    }
}

impl Export {
    pub(crate) fn run(self) -> Result<(), Error> {
        results::check_name(&self.output, "-o", "a published table", &["dna"])?;
        let (dna, resolution) = match built_in(&self.table) {
            Some(name) => {
                let table = super::table(name)?;
                (Dna::of(&table.tree()), table.resolution())
            }
            None => {
                let file = load(&self.table)?;
                (file.dna, file.table.resolution())
            }
        };
        let table = self.table.display();
        if resolution != RuleTable::EXACT {
            output::note(&format!(
                "published files have no resolution: use this one as remy[file={},resolution={resolution}]",
                self.output.display()
            ));
        }
        let bytes = dna.write().map_err(|error| Error::Usage(format!("{table}: {error}")))?;
        output::write_file(&self.output, &bytes)
    }
}

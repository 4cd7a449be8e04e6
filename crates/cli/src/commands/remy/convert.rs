//! `paceline remy import` and `export`: published files and readable ones.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_remy::TableFile;

use crate::output::{self, Error};

#[derive(Args)]
pub(crate) struct Import {
    /// A published table (.dna), or a readable one
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write it: .toml or .json; without it TOML is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Export {
    /// A readable table (.toml, .json), or a published one
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the published form (.dna)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

fn load(path: &Path) -> Result<TableFile, Error> {
    paceline_remy::load(path).map_err(|error| Error::Usage(error.to_string()))
}

impl Import {
    pub(crate) fn run(self) -> Result<(), Error> {
        let mut loaded = load(&self.file)?;
        if loaded.about.is_empty() {
            let name = self.file.file_name().unwrap_or_default().to_string_lossy();
            loaded.about = format!("imported from {name}");
        }
        let readable = loaded.readable();
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
        let written = load(&self.file)?.dna.write();
        let file = self.file.display();
        let bytes = written.map_err(|error| Error::Usage(format!("{file}: {error}")))?;
        output::write_file(&self.output, &bytes)
    }
}

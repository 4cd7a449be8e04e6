//! Where claims about Remy find their tables of rules.

use std::path::{Path, PathBuf};

use paceline_remy::studies::{TrainedTable, built_in_for, trained_for};

/// What stands in place of a folder of `paceline remy studies` for the built-in tables alone.
pub const BUILT_IN: &str = "built-in";

/// Folders of tables of rules.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Folder of published tables.
    published: Option<PathBuf>,
    /// Folder of `paceline remy studies`.
    trained: Option<PathBuf>,
    /// Whether tables trained here go before published ones.
    trained_first: bool,
}

impl Tables {
    /// Returns the tables in these folders: that of published tables, and that of `paceline remy studies`,
    /// or [`BUILT_IN`].
    pub const fn new(published: Option<PathBuf>, trained: Option<PathBuf>) -> Tables {
        Tables { published, trained, trained_first: false }
    }

    /// Returns the same folders with tables trained here before published ones. `None` unless both
    /// folders are known: claims are measured once then.
    pub(crate) fn trained_first(&self) -> Option<Tables> {
        let both = self.published.is_some() && self.trained.is_some();
        both.then(|| Tables { trained_first: true, ..self.clone() })
    }

    /// Returns the file of a published table.
    pub(crate) fn published(&self, file: &str) -> Option<PathBuf> {
        table_in(self.published.as_deref()?, file)
    }

    /// Returns where a claim finds the table that it expects in `file`.
    pub(crate) fn source(&self, file: &str) -> Option<Source> {
        let published = || self.published(file).map(Source::Published);
        let folder = self.trained.as_deref().filter(|folder| *folder != Path::new(BUILT_IN));
        let trained = || Some(Source::Trained(trained_for(folder?, file)?));
        let output = || built_in(&TRAINED, file).map(Source::BuiltIn);
        let general = || built_in(&STAND_INS, file).map(String::from);
        let stand_in = || general().or_else(|| built_in_for(file)).map(Source::StandIn);
        match self.trained_first {
            true => trained().or_else(stand_in).or_else(output).or_else(published),
            // Tables of `--trained` count in no verdict where the claim's own are there.
            false => published().or_else(output).or_else(trained).or_else(stand_in),
        }
    }
}

/// Where a claim finds a table.
pub(crate) enum Source {
    /// The file that the claim is about: published, or the output of `paceline remy train`.
    Published(PathBuf),
    /// The built-in table that is the output of `paceline remy train`.
    BuiltIn(&'static str),
    /// A table of `paceline remy studies` for the same networks.
    Trained(TrainedTable),
    /// A built-in table for the same networks and the same objective.
    StandIn(String),
}

impl Source {
    /// Returns the scheme with this table; `None` if the file's name is not UTF-8.
    pub(crate) fn scheme(&self) -> Option<String> {
        Some(match self {
            Source::Published(path) | Source::Trained(TrainedTable { path, .. }) => {
                format!("remy[file={}]", path.to_str()?)
            }
            Source::BuiltIn(name) => format!("remy[table={name}]"),
            Source::StandIn(name) => format!("remy[table={name}]"),
        })
    }

    /// Returns the name of a table that stands in for the one that a claim is about; `None` if it is that one.
    pub(crate) fn stand_in(self) -> Option<String> {
        match self {
            Source::Published(_) | Source::BuiltIn(_) => None,
            Source::Trained(trained) => Some(trained.name),
            Source::StandIn(name) => Some(name),
        }
    }
}

/// Files of tables of 2013, and the built-in tables that replace missing ones: trained with Paceline for those networks
/// and that objective. Tables of the studies replace the other files.
const STAND_INS: [(&str, &str); 4] = [
    ("RemyCC-2013-delta0.1.dna", "general-delta0.1"),
    ("RemyCC-2013-delta1.dna", "general-delta1"),
    ("RemyCC-2013-delta10.dna", "general-delta10"),
    ("RemyCC-2013-datacenter.dna", "data-centre"),
];

/// Tables that were never published, for which claims expect the output of `paceline remy train`:
/// the files' names, and the built-in tables that are this output.
const TRAINED: [(&str, &str); 4] = [
    ("signals-all.toml", "signals-all"),
    ("signals-no-send_ewma.toml", "signals-no-send_ewma"),
    ("signals-no-rec_ewma.toml", "signals-no-rec_ewma"),
    ("signals-no-rtt_ratio.toml", "signals-no-rtt_ratio"),
];

/// Returns the built-in table for a file in a list.
fn built_in(list: &[(&str, &'static str)], file: &str) -> Option<&'static str> {
    list.iter().find(|(known, _)| *known == file).map(|(_, name)| *name)
}
/// Returns the file of a table from a folder of tables or one of its subfolders; `None` if it is
/// missing.
pub fn table_in(folder: &Path, file: &str) -> Option<PathBuf> {
    let below = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = below.filter(|path| path.is_dir()).collect();
    folders.sort();
    let folders = folders.iter().map(PathBuf::as_path);
    let mut places = std::iter::once(folder).chain(folders).map(|folder| folder.join(file));
    places.find(|path| path.is_file())
}

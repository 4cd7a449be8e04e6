//! Published tables and reference results, which are not in the repository.

use std::path::{Path, PathBuf};

/// Returns the folder that contains both, if it exists.
pub(crate) fn reference() -> Option<PathBuf> {
    let tables = paceline_testing::reference("remycc")?;
    paceline_testing::reference("reference/remy-golden")?;
    tables.parent().map(Path::to_path_buf)
}

/// Returns all files of a folder and of the folders in it.
#[allow(dead_code, reason = "not every test walks folders")]
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

//! Published tables and reference results, which are no part of the repository.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of reference material: what `PACELINE_REFERENCE` names, or `../shared` beside the
/// repository. `None`, and a line that says so, if there is none.
pub(crate) fn reference(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("PACELINE_REFERENCE").map_or(beside, PathBuf::from);
    if folder.join("remycc").is_dir() {
        return Some(folder);
    }
    // Past the test harness, which would hide what a passing test prints.
    let line = format!(
        "SKIPPED {test}: no remycc in {}; name its folder in PACELINE_REFERENCE\n",
        folder.display()
    );
    let _ = std::io::stderr().write_all(line.as_bytes());
    None
}

/// All files of a folder and the folders in it.
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

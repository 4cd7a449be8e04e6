//! Files that are no part of the repository.

use std::path::PathBuf;

use crate::{Need, skip, this_test};

/// The path of a recorded trace, which is looked for in the folder that `PACELINE_TRACES` names, or
/// else in `shared/traces` beside the repository. Without it the test that asks is told as skipped.
///
/// # Panics
///
/// As [`skip`].
pub fn recording(name: &str) -> Option<PathBuf> {
    find(Need::Traces, "PACELINE_TRACES", "shared/traces", name)
}

/// The path of a reference file or folder, which is looked for in the folder that
/// `PACELINE_REFERENCE` names, or else in `shared` beside the repository: `reference/...` for figures of
/// peers, `remycc` for published tables of rules. Without it the test that asks is told as skipped.
///
/// # Panics
///
/// As [`skip`].
pub fn reference(name: &str) -> Option<PathBuf> {
    find(Need::Reference, "PACELINE_REFERENCE", "shared", name)
}

fn find(need: Need, variable: &str, beside: &str, name: &str) -> Option<PathBuf> {
    let beside = || [env!("CARGO_MANIFEST_DIR"), "../../..", beside].iter().collect();
    let folder = std::env::var_os(variable).map_or_else(beside, PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    let why = format!("there is no {name}; name its folder in {variable}");
    skip(need, &this_test(), &why);
    None
}

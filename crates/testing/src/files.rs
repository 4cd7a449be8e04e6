//! Files that are not part of the repository.

use std::path::PathBuf;

use crate::{Need, skip, this_test};

/// Names of the twelve recordings of cellular links, so that other files in their folder do no harm.
pub const RECORDINGS: [&str; 12] = [
    "ATT-LTE-driving-2016.down",
    "ATT-LTE-driving-2016.up",
    "ATT-LTE-driving.down",
    "ATT-LTE-driving.up",
    "TMobile-LTE-short.down",
    "TMobile-LTE-short.up",
    "TMobile-UMTS-driving.down",
    "TMobile-UMTS-driving.up",
    "Verizon-EVDO-driving.down",
    "Verizon-EVDO-driving.up",
    "Verizon-LTE-short.down",
    "Verizon-LTE-short.up",
];

/// Returns the path of a recorded trace: from the folder in `PACELINE_TRACES`, or else from
/// `shared/traces` beside the repository. If it is missing, reports the calling test as skipped and
/// returns `None`.
///
/// # Panics
///
/// As [`skip`].
pub fn recording(name: &str) -> Option<PathBuf> {
    find(Need::Traces, "PACELINE_TRACES", "shared/traces", name)
}

/// Returns the path of a reference file or folder: from the folder in `PACELINE_REFERENCE`, or else
/// from `shared` beside the repository. `reference/...` has figures of peers, `remycc` published
/// tables of rules. If it is missing, reports the calling test as skipped and returns `None`.
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

//! Digests of the files that a specification names: a training goes on only with the same recordings and tables.

use std::collections::BTreeMap;
use std::path::Path;

/// Names of files, as written, and digests of their contents, in hexadecimal digits.
pub(crate) type Digests = BTreeMap<String, String>;

/// Returns the digests of the files that a specification names, relative to `folder`.
pub(crate) fn digests(specification: &str, folder: Option<&Path>) -> Digests {
    let document = toml::from_str(specification).unwrap_or_default();
    let files = paceline_sim::scenario::named_files(&document, folder);
    files.into_iter().map(|(name, digest)| (name, format!("{digest:016x}"))).collect()
}

/// Returns the name of a file whose content is not the one that it had before; `None` if there is none, or if the
/// digests are unknown. A file may have another name, since specifications may be written in several ways.
pub(crate) fn changed<'a>(before: &Option<Digests>, now: &'a Option<Digests>) -> Option<&'a str> {
    let (before, now) = (before.as_ref()?, now.as_ref()?);
    let is_known = |digest: &String| before.values().any(|known| known == digest);
    let is_changed = |(name, digest): &(&String, &String)| match before.get(*name) {
        Some(known) => known != *digest,
        None => !is_known(digest),
    };
    now.iter().find(is_changed).map(|(name, _)| name.as_str())
}

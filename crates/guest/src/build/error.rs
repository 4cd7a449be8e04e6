//! Errors of building guests.

use std::io;
use std::path::Path;

use thiserror::Error;

/// Reason why a guest, or a module for it, cannot be built or started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Programs are missing.
    #[error("{0}")]
    Missing(String),
    /// The kernel's source is not available.
    #[error("{0}")]
    NoSource(String),
    /// An argument is not usable: a folder that has no kernel tree, or cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// A program of the build has failed.
    #[error("{0}")]
    Failed(String),
    /// The guest does not start.
    #[error("{0}")]
    NoStart(String),
}

/// Returns a function that adds a file's or folder's name to an error of the system; for `map_err`.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.display().to_string();
    move |error| BuildError::Unusable(format!("{path}: {error}"))
}

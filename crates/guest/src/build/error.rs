//! Why a guest cannot be built.

use std::io;
use std::path::Path;

use thiserror::Error;

/// Why a guest, or a module for it, cannot be built or started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Programs are missing.
    #[error("{0}")]
    Missing(String),
    /// The kernel's source cannot be had.
    #[error("{0}")]
    NoSource(String),
    /// What was asked for cannot be: a tree that is no kernel, a folder that cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// A program that builds has failed.
    #[error("{0}")]
    Failed(String),
    /// The guest does not start.
    #[error("{0}")]
    NoStart(String),
}

/// An error of the system's with a file or a folder.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.display().to_string();
    move |error| BuildError::Unusable(format!("{path}: {error}"))
}

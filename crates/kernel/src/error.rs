//! Errors of loading, unloading and reading programs.

use std::io;

use thiserror::Error;

/// Reason why a program could not be loaded, unloaded or read.
#[derive(Debug, Error)]
pub enum KernelError {
    /// A system call failed.
    #[error("{operation}: {source}")]
    System {
        /// Operation that failed, with the object's name.
        operation: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Any other error: a sentence that names the remedy.
    #[error("{0}")]
    Message(String),
}

impl KernelError {
    /// Names the operation that failed; for `map_err`.
    pub(crate) fn system<E: Into<io::Error>>(
        operation: impl Into<String>,
    ) -> impl FnOnce(E) -> KernelError {
        let operation = operation.into();
        move |source| KernelError::System { operation, source: source.into() }
    }
}

//! What can go wrong.

use std::io;

use thiserror::Error;

/// Why something was not loaded, unloaded or read.
#[derive(Debug, Error)]
pub enum KernelError {
    /// The system refused something.
    #[error("{operation}: {source}")]
    System {
        /// What was asked for, with the object's name.
        operation: String,
        /// What the system said.
        source: io::Error,
    },
    /// Everything else, in words that name the remedy.
    #[error("{0}")]
    Message(String),
}

impl KernelError {
    /// For `map_err`: names the operation that failed.
    pub(crate) fn system<E: Into<io::Error>>(
        operation: impl Into<String>,
    ) -> impl FnOnce(E) -> KernelError {
        let operation = operation.into();
        move |source| KernelError::System { operation, source: source.into() }
    }
}

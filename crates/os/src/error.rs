//! What can go wrong outside the simulator.

use std::io;

use thiserror::Error;

/// Why an emulation cannot start or go on.
#[derive(Debug, Error)]
pub enum LiveError {
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

impl LiveError {
    /// For `map_err`: names the operation that failed.
    pub fn system<E: Into<io::Error>>(operation: impl Into<String>) -> impl FnOnce(E) -> LiveError {
        let operation = operation.into();
        move |source| LiveError::System { operation, source: source.into() }
    }

    /// The system's error number, if the system refused.
    pub fn errno(&self) -> Option<i32> {
        match self {
            LiveError::System { source, .. } => source.raw_os_error(),
            LiveError::Message(_) => None,
        }
    }
}

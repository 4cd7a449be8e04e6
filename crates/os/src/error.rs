//! The error of everything that runs in real time.

use std::io;

use thiserror::Error;

/// Why an emulation, a transfer or a tunnel cannot start or go on.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The system refused something.
    #[error("{operation}: {source}")]
    System {
        /// The operation, with the object's name.
        operation: String,
        /// The system's error.
        source: io::Error,
    },
    /// Everything else, in words that name the remedy.
    #[error("{0}")]
    Message(String),
}

impl LiveError {
    /// Returns a function for `map_err` that makes an error of this operation.
    pub fn system<E: Into<io::Error>>(operation: impl Into<String>) -> impl FnOnce(E) -> LiveError {
        let operation = operation.into();
        move |source| LiveError::System { operation, source: source.into() }
    }

    /// Returns the system's error number; `None` for [`LiveError::Message`].
    pub fn errno(&self) -> Option<i32> {
        match self {
            LiveError::System { source, .. } => source.raw_os_error(),
            LiveError::Message(_) => None,
        }
    }
}

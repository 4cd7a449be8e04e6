//! The error of everything that runs in real time.

use std::io;

use thiserror::Error;

/// Why an emulation, a transfer or a tunnel cannot start or go on.
#[derive(Debug, Error)]
pub enum RealTimeError {
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

impl RealTimeError {
    /// Returns a function for `map_err` that makes an error of this operation.
    pub fn system<E: Into<io::Error>>(
        operation: impl Into<String>,
    ) -> impl FnOnce(E) -> RealTimeError {
        let operation = operation.into();
        move |source| RealTimeError::System { operation, source: source.into() }
    }

    /// Returns the system's error number; `None` for [`RealTimeError::Message`].
    pub fn errno(&self) -> Option<i32> {
        match self {
            RealTimeError::System { source, .. } => source.raw_os_error(),
            RealTimeError::Message(_) => None,
        }
    }
}

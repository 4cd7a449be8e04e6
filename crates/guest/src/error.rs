//! Errors of running guests.

use std::io;

use thiserror::Error;

/// Reason why a guest cannot be an end of a flow.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call of the host failed.
    #[error("{doing}: {source}")]
    Host {
        /// Operation that failed.
        doing: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The guest violates a protocol.
    #[error("the Linux guest is not to be trusted: {0}")]
    Lies(String),
    /// The guest's process has ended.
    #[error("the Linux guest ended: {0}")]
    Ended(String),
    /// The guest takes too long, in wall-clock time or in virtual time.
    #[error("the Linux guest hangs: {0}")]
    Hangs(String),
    /// The guest's `/init` reports an error.
    #[error("the Linux guest reports: {0}")]
    Reported(String),
    /// The flow or the guest's files cannot be used.
    #[error("{0}")]
    Unusable(String),
}

impl Error {
    pub(crate) fn lies(what: impl Into<String>) -> Error {
        Error::Lies(what.into())
    }

    /// Returns a function that makes an error of the host from a failed operation; for `map_err`.
    pub(crate) fn host(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let doing = doing.into();
        move |source| Error::Host { doing, source }
    }
}

//! What goes wrong with a guest.

use std::io;

use thiserror::Error;

/// Why a guest cannot be an end of a flow.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The host refuses something.
    #[error("{doing}: {source}")]
    Host {
        /// What was tried.
        doing: String,
        /// What the host answered.
        source: io::Error,
    },
    /// The guest breaks a protocol.
    #[error("the Linux guest is not to be trusted: {0}")]
    Lies(String),
    /// The guest has stopped to run.
    #[error("the Linux guest ended: {0}")]
    Ended(String),
    /// The guest takes too long, by the wall clock or in virtual time.
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

    /// An error of the host's while `doing` something.
    pub(crate) fn host(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let doing = doing.into();
        move |source| Error::Host { doing, source }
    }
}

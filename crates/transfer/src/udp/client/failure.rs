//! Why a connection has ended, and whether another connection may continue its work.

use paceline_os::LiveError;
use paceline_wire::ConnectError;

/// Why a connection ended before its work was done.
pub(super) enum Failure {
    /// Another connection would fail for the same reason.
    Final(LiveError),
    /// Another connection may continue.
    CutOff(LiveError),
}

impl Failure {
    pub(super) fn error(self) -> LiveError {
        match self {
            Failure::Final(error) | Failure::CutOff(error) => error,
        }
    }
    pub(super) fn text(text: impl Into<String>) -> Failure {
        Failure::Final(LiveError::Message(text.into()))
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Failure {
        Failure::Final(error)
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Failure {
        let message = LiveError::Message(error.to_string());
        match error {
            ConnectError::Silence { .. } => Failure::CutOff(message),
            _ => Failure::Final(message),
        }
    }
}

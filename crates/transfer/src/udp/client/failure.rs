//! Why a connection has ended, and whether another connection may continue its work.

use paceline_os::RealTimeError;
use paceline_wire::ConnectError;

/// Why a connection ended before its work was done.
pub(super) enum Failure {
    /// Another connection would fail for the same reason.
    Final(RealTimeError),
    /// Another connection may continue.
    CutOff(RealTimeError),
}

impl Failure {
    pub(super) fn error(self) -> RealTimeError {
        match self {
            Failure::Final(error) | Failure::CutOff(error) => error,
        }
    }

    /// Returns the failure of a connection that could not be established, with this text.
    pub(super) fn of(error: &ConnectError, text: String) -> Failure {
        let message = RealTimeError::Message(text);
        match error {
            ConnectError::Silence { .. } => Failure::CutOff(message),
            _ => Failure::Final(message),
        }
    }

    pub(super) fn text(text: impl Into<String>) -> Failure {
        Failure::Final(RealTimeError::Message(text.into()))
    }
}

impl From<RealTimeError> for Failure {
    fn from(error: RealTimeError) -> Failure {
        Failure::Final(error)
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Failure {
        Failure::of(&error, error.to_string())
    }
}

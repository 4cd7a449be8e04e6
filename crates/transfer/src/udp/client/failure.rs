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
        let message = RealTimeError::Message(error.to_string());
        match error {
            ConnectError::Silence { .. } => Failure::CutOff(message),
            _ => Failure::Final(message),
        }
    }
}

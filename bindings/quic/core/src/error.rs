//! Errors of choosing a scheme for a QUIC stack.

use paceline_cc::SpecError;
use thiserror::Error;

/// Reason why a scheme cannot drive a QUIC stack.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// There is no such scheme, or its parameters are invalid.
    #[error("scheme '{spec}': {source}")]
    Spec {
        /// Specification of the scheme.
        spec: String,
        /// Problem with the specification.
        source: SpecError,
    },
    /// The scheme needs signals that the stack does not give.
    #[error(
        "scheme '{spec}' needs signals that {stack} does not give to congestion controllers: {}; \
         take a scheme that does without, such as cubic, bbr3, copa or c2tcp",
        .missing.join(", ")
    )]
    MissingSignals {
        /// Specification of the scheme.
        spec: String,
        /// Name of the stack.
        stack: &'static str,
        /// Names of the missing signals.
        missing: Vec<&'static str>,
    },
}

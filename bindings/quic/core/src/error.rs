//! Why a scheme cannot drive a QUIC stack.

use paceline_cc::SpecError;
use thiserror::Error;

/// Why a scheme cannot drive a QUIC stack.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// There is no such scheme, or its parameters are wrong.
    #[error("scheme '{spec}': {source}")]
    Spec {
        /// What was asked for.
        spec: String,
        /// What is wrong with it.
        source: SpecError,
    },
    /// The scheme needs signals that the stack does not give.
    #[error(
        "scheme '{spec}' needs signals that {stack} does not give to congestion controllers: {}; \
         take a scheme that does without, such as cubic, bbr3, copa or c2tcp",
        .missing.join(", ")
    )]
    MissingSignals {
        /// What was asked for.
        spec: String,
        /// The name of the stack.
        stack: &'static str,
        /// The names of the signals.
        missing: Vec<&'static str>,
    },
}

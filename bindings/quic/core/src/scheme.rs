//! A scheme, checked against what a stack tells.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{Halves, Setup, Signals, Spec};
use paceline_schemes::registry;

use crate::controller::QuicController;
use crate::error::SchemeError;
use crate::pacing::Pacing;

/// The signals that [`QuicController`] makes out of what every QUIC stack tells its controllers.
/// Stacks that also count CE marks add [`Signals::ECN`].
///
/// There are no receive times (RFC 9000's acknowledgements have none), no marks of ABC's routers,
/// no congestion headers and no reports of receivers.
pub const QUIC_SIGNALS: Signals = Signals::DELIVERY_RATE.and(Signals::FATES);

/// A scheme that can drive a stack: makes a controller for each connection and path.
#[derive(Clone)]
pub struct QuicScheme {
    spec: Arc<str>,
    halves: Halves,
    seed: u64,
    pacing: Pacing,
}

impl QuicScheme {
    /// The scheme called `spec`, such as `cubic` or `copa[mode=competitive]`, for a stack called
    /// `stack` that gives `available`.
    ///
    /// # Errors
    /// If there is no such scheme, or if it needs signals that the stack does not give.
    pub fn parse(
        spec: &str,
        stack: &'static str,
        available: Signals,
    ) -> Result<QuicScheme, SchemeError> {
        let wrong = |source| SchemeError::Spec { spec: spec.to_string(), source };
        let halves = registry::build(&Spec::parse(spec).map_err(wrong)?).map_err(wrong)?;
        QuicScheme::new(spec, halves, stack, available)
    }

    /// The same for a scheme that is made already, under the name `spec`.
    ///
    /// # Errors
    /// If it needs signals that the stack does not give.
    pub fn new(
        spec: &str,
        halves: Halves,
        stack: &'static str,
        available: Signals,
    ) -> Result<QuicScheme, SchemeError> {
        let missing = (halves.controller)(&Setup::default()).needs().missing_from(available);
        if !missing.is_empty() {
            return Err(SchemeError::MissingSignals { spec: spec.to_string(), stack, missing });
        }
        Ok(QuicScheme { spec: spec.into(), halves, seed: 1, pacing: Pacing::Acknowledgements })
    }

    /// The same with another seed for what schemes draw at random. The default is 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> QuicScheme {
        QuicScheme { seed, ..self }
    }

    /// The same with another way to keep to the scheme's pacing rate, for stacks that do not.
    #[must_use]
    pub fn pacing(self, pacing: Pacing) -> QuicScheme {
        QuicScheme { pacing, ..self }
    }

    /// What was asked for.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// A controller for a path that takes packets of up to `mtu` bytes.
    pub fn controller(&self, mtu: u16) -> QuicController {
        let setup = Setup::new(self.seed, 0).with(|setup| setup.mss = u32::from(mtu.max(1)));
        QuicController::new((self.halves.controller)(&setup), setup.mss, self.pacing)
    }
}

impl fmt::Debug for QuicScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QuicScheme").field(&self.spec).finish()
    }
}

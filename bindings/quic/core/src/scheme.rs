//! A scheme, checked against the signals of a stack.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{Halves, Provided, Setup, Signals, Spec};
use paceline_schemes::registry;

use crate::controller::QuicController;
use crate::error::SchemeError;
use crate::pacing::Pacing;

/// Signals that [`QuicController`] derives from the reports of every QUIC stack. Stacks that also
/// count CE marks add [`Signals::ECN`].
///
/// Not among them are receive times (RFC 9000's acknowledgements have none), marks of ABC's
/// routers, congestion headers and reports of receivers.
pub const QUIC_SIGNALS: Signals = Signals::of(Provided {
    ecn: false,
    echo: false,
    delivery_rate: true,
    fates: true,
    receive_time: false,
    headers: false,
    reports: false,
});

/// A scheme that can drive a stack; builds a controller for each connection and path.
#[derive(Clone)]
pub struct QuicScheme {
    spec: Arc<str>,
    halves: Halves,
    seed: u64,
    pacing: Pacing,
}

impl QuicScheme {
    /// Returns the scheme called `spec`, such as `cubic` or `copa[mode=competitive]`, for a stack
    /// called `stack` with the signals `available`.
    ///
    /// # Errors
    /// There is no such scheme, or it needs signals that the stack does not have.
    pub fn parse(
        spec: &str,
        stack: &'static str,
        available: Signals,
    ) -> Result<QuicScheme, SchemeError> {
        let wrong = |source| SchemeError::Spec { spec: spec.to_string(), source };
        let halves = registry::build(&Spec::parse(spec).map_err(wrong)?).map_err(wrong)?;
        QuicScheme::new(spec, halves, stack, available)
    }

    /// Returns a scheme from its halves, under the name `spec`.
    ///
    /// # Errors
    /// It needs signals that the stack does not have.
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

    /// Sets the seed of the scheme's random numbers. The default is 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> QuicScheme {
        QuicScheme { seed, ..self }
    }

    /// Sets the way to apply the scheme's pacing rate, for stacks that ignore it.
    #[must_use]
    pub fn pacing(self, pacing: Pacing) -> QuicScheme {
        QuicScheme { pacing, ..self }
    }

    /// Returns the specification of the scheme.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// Returns a controller for a path with packets of up to `mtu` bytes.
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

//! Paceline's congestion control for [quinn](https://docs.rs/quinn) 0.11.
//!
//! ```
//! use std::sync::Arc;
//!
//! use paceline_quinn::Scheme;
//! use quinn_proto::TransportConfig;
//!
//! let mut transport = TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(Scheme::parse("copa")?));
//! # Ok::<(), paceline_quinn::SchemeError>(())
//! ```
//!
//! # What quinn tells, and what follows
//! - quinn reports the bytes that were sent, with their times, and those acknowledged and lost.
//!   Windows, RTTs, delivery rates and fates of packets are derived from these reports.
//! - It reports that packets were marked with CE, but not how many. `cubic` and other schemes that
//!   react once per round trip work; `dctcp` and `prague` need counts and are refused. quinn sends
//!   ECT(0) whatever code point the scheme chooses.
//! - It has no receive times, and no headers of Paceline: `ledbat`, `gcc`, `nada`, `scream`, `sprout`, `xcp`
//!   and similar schemes are refused.
//!
//! # Pacing
//! quinn sends a window in four fifths of an RTT, whatever the scheme's rate. If the scheme's rate
//! is lower, the window is limited at acknowledgements to keep to it: see
//! [`Pacing::Acknowledgements`], the default here, and [`Scheme::pacing`]. A rate above quinn's own
//! is not reached, and quinn sends bursts of up to ten packets.
//!
//! The effect, over 12 Mbit/s with an RTT of 100 ms and a buffer of 250 packets: the 95th
//! percentile of one-way delay in ms is 130 with `bbr3`, 300 with `cubic`, 297 with `newreno` and
//! 89 with `vivace`, about as in the simulator (130, 300, 296, 82). `bbr` has 118 (82), because its
//! drain ends later, and `vegas` 111 (92). `copa` takes the bursts for competing traffic and fills
//! the buffer (243; simulator 59); `copa[mode=default]` does not (56; 63). ECT(1) cannot be sent;
//! only `prague` would use it.
//!
//! # Other paths
//! When a connection moves to another network, quinn requests a new controller. When only the port
//! changes, quinn copies the controller. The copy starts afresh, as on a new path, because a
//! scheme's state cannot be copied.

mod controller;

use std::sync::Arc;
use std::time::Instant;

use paceline_cc::Halves;
use paceline_quic::{PathController, QUIC_SIGNALS};
use quinn_proto::congestion;

pub use controller::Controller;
pub use paceline_quic::{Pacing, QuicScheme, SchemeError};

/// A scheme that drives quinn's connections. Pass it to
/// [`TransportConfig::congestion_controller_factory`](quinn_proto::TransportConfig::congestion_controller_factory).
#[derive(Clone)]
pub struct Scheme(QuicScheme);

impl Scheme {
    /// Parses the scheme called `spec`, with its parameters: `"cubic"`, `"copa[mode=competitive]"`,
    /// `"remy[table=NAME]"`.
    ///
    /// # Errors
    /// There is no such scheme, a parameter is invalid, or the scheme needs signals that quinn does
    /// not have.
    pub fn parse(spec: &str) -> Result<Scheme, SchemeError> {
        QuicScheme::parse(spec, "quinn", QUIC_SIGNALS).map(Scheme::from)
    }

    /// Sets the way to apply the scheme's pacing rate.
    #[must_use]
    pub fn pacing(self, pacing: Pacing) -> Scheme {
        Scheme(self.0.pacing(pacing))
    }

    /// Returns a scheme of your own, from its halves, under the name `name`:
    /// `Scheme::new("mine", Halves::sender(|setup| MyController::new(setup.mss)))`.
    ///
    /// # Errors
    /// It needs signals that quinn does not have.
    pub fn new(name: &str, halves: Halves) -> Result<Scheme, SchemeError> {
        QuicScheme::new(name, halves, "quinn", QUIC_SIGNALS).map(Scheme::from)
    }

    /// Sets the seed of the scheme's random numbers. The default is 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> Scheme {
        Scheme(self.0.seed(seed))
    }
}

/// The signals of the scheme were checked when it was made.
impl From<QuicScheme> for Scheme {
    fn from(scheme: QuicScheme) -> Scheme {
        Scheme(scheme)
    }
}

impl congestion::ControllerFactory for Scheme {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(Controller(PathController::new(self.0.clone(), now, current_mtu)))
    }
}

//! Paceline's congestion control for [noq](https://docs.rs/noq) 1.x.
//!
//! ```
//! use std::sync::Arc;
//!
//! use noq_proto::TransportConfig;
//! use paceline_noq::Scheme;
//!
//! let mut transport = TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(Scheme::parse("bbr3")?));
//! # Ok::<(), paceline_noq::SchemeError>(())
//! ```
//!
//! # What noq tells, and what follows
//! - noq reports each packet that is sent, acknowledged or lost, and whether losses were spurious.
//!   Windows, RTTs, delivery rates and fates of packets are derived from these reports.
//! - It reports that packets were marked with CE, but not how many. `cubic` and other schemes that
//!   react once per round trip work; `dctcp` and `prague` need counts and are refused. noq sends
//!   ECT(0) whatever code point the scheme chooses.
//! - It has no receive times, and no headers of Paceline: `ledbat`, `gcc`, `nada`, `scream`, `sprout`, `xcp`
//!   and similar schemes are refused.
//!
//! # Pacing
//! noq applies a controller's pacing rate, but sends bursts of up to ten packets, whatever the
//! scheme's burst.
//!
//! The effect, over 12 Mbit/s with an RTT of 100 ms and a buffer of 250 packets: the 95th
//! percentile of one-way delay in ms is 128 with `bbr3`, 79 with `bbr`, 300 with `cubic`, 92 with
//! `vegas` and 88 with `vivace`, about as in the simulator (130, 82, 300, 92, 82). `copa` takes the
//! bursts for competing traffic and fills the buffer (263; simulator 59); `copa[mode=default]` does
//! not (55; 63). ECT(1) cannot be sent; only `prague` would use it.
//!
//! # Other paths
//! Each path of a connection has its own controller. If only a port has changed, noq copies the
//! controller; the copy starts afresh, because a scheme's state cannot be copied.

mod controller;

use std::sync::Arc;
use std::time::Instant;

use noq_proto::congestion;
use paceline_cc::Halves;
use paceline_quic::{Pacing, PathController, QUIC_SIGNALS};

pub use controller::Controller;
pub use paceline_quic::{QuicScheme, SchemeError};

/// A scheme that drives noq's connections. Pass it to
/// [`TransportConfig::congestion_controller_factory`](noq_proto::TransportConfig::congestion_controller_factory).
#[derive(Clone)]
pub struct Scheme(QuicScheme);

impl Scheme {
    /// Parses the scheme called `spec`, with its parameters: `"cubic"`, `"copa[mode=competitive]"`,
    /// `"remy[table=NAME]"`.
    ///
    /// # Errors
    /// There is no such scheme, a parameter is invalid, or the scheme needs signals that noq does
    /// not have.
    pub fn parse(spec: &str) -> Result<Scheme, SchemeError> {
        QuicScheme::parse(spec, "noq", QUIC_SIGNALS).map(Scheme::from)
    }

    /// Returns a scheme of your own, from its halves, under the name `name`:
    /// `Scheme::new("mine", Halves::sender(|setup| MyController::new(setup.mss)))`.
    ///
    /// # Errors
    /// It needs signals that noq does not have.
    pub fn new(name: &str, halves: Halves) -> Result<Scheme, SchemeError> {
        QuicScheme::new(name, halves, "noq", QUIC_SIGNALS).map(Scheme::from)
    }

    /// Sets the seed of the scheme's random numbers. The default is 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> Scheme {
        Scheme(self.0.seed(seed))
    }
}

/// The signals of the scheme were checked when it was made. noq paces by its rate, whatever its
/// [`Pacing`].
impl From<QuicScheme> for Scheme {
    fn from(scheme: QuicScheme) -> Scheme {
        Scheme(scheme.pacing(Pacing::Stack))
    }
}

impl congestion::ControllerFactory for Scheme {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(Controller(PathController::new(self.0.clone(), now, current_mtu)))
    }
}

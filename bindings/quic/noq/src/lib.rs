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
//! - Each packet that is sent, acknowledged or lost, and whether losses were a mistake: windows, RTTs,
//!   delivery rates and the fates of packets come out of these.
//! - That packets were marked with CE, but not how many. `cubic` and others that react once per round
//!   trip work; `dctcp` and `prague` need counts and are refused. noq sends ECT(0) whatever the scheme
//!   asks for.
//! - No receive times, and no headers of Paceline's: `ledbat`, `gcc`, `sprout`, `xcp` and others like
//!   them are refused.
//!
//! # Pacing
//! noq keeps to a controller's pacing rate, but lets up to ten packets leave at once, whatever the
//! scheme's burst.
//!
//! What that does, over 12 Mbit/s with an RTT of 100 ms and a buffer of 250 packets: the 95th percentile
//! of one-way delay is 128 ms with `bbr3`, 79 with `bbr`, 300 with `cubic`, 92 with `vegas` and 88 with
//! `vivace`, as good as in the simulator (130, 82, 300, 92, 82). `copa` takes itself for a competitor
//! of others and fills the buffer (263, 59); `copa[mode=default]` does not (55, 63). ECT(1) cannot be
//! sent, which only `prague` would.
//!
//! # Other paths
//! Each path of a connection has a controller of its own. Where noq copies a controller, because only
//! a port has changed, the copy begins anew: a scheme's state cannot be copied.

mod controller;

use std::sync::Arc;
use std::time::Instant;

use noq_proto::congestion;
use paceline_quic::{Pacing, PathController, QUIC_SIGNALS, QuicScheme};

pub use controller::Controller;
pub use paceline_quic::SchemeError;

/// A scheme that drives noq's connections; goes into
/// [`TransportConfig::congestion_controller_factory`](noq_proto::TransportConfig::congestion_controller_factory).
#[derive(Clone)]
pub struct Scheme(QuicScheme);

impl Scheme {
    /// The scheme called `spec`, with its parameters: `"cubic"`, `"copa[mode=competitive]"`,
    /// `"remy[table=NAME]"`.
    ///
    /// # Errors
    /// If there is no such scheme, a parameter is wrong, or the scheme needs signals that noq does not
    /// give.
    pub fn parse(spec: &str) -> Result<Scheme, SchemeError> {
        let scheme = QuicScheme::parse(spec, "noq", QUIC_SIGNALS)?;
        Ok(Scheme(scheme.pacing(Pacing::Stack)))
    }

    /// The same with another seed for what schemes draw at random. The default is 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> Scheme {
        Scheme(self.0.seed(seed))
    }
}

impl congestion::ControllerFactory for Scheme {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(Controller(PathController::new(self.0.clone(), now, current_mtu)))
    }
}

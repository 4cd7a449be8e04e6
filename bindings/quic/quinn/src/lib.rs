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
//! - Which bytes were sent and when, and which were acknowledged and lost: windows, RTTs, delivery
//!   rates and the fates of packets come out of these.
//! - That packets were marked with CE, but not how many. `cubic` and others that react once per round
//!   trip work; `dctcp` and `prague` need counts and are refused. quinn sends ECT(0) whatever the
//!   scheme asks for.
//! - No receive times, and no headers of Paceline's: `ledbat`, `gcc`, `sprout`, `xcp` and others like
//!   them are refused.
//!
//! # Pacing
//! quinn sends a window in four fifths of an RTT, whatever rate a scheme asks for. A scheme whose
//! rate is lower is held to it at acknowledgements: see [`Pacing::Acknowledgements`], the default
//! here, and [`Scheme::pacing`]. A rate that is higher than quinn's own is out of reach, and up to ten
//! packets leave at once.
//!
//! What that does, over 12 Mbit/s with an RTT of 100 ms and a buffer of 250 packets: the 95th percentile
//! of one-way delay is 130 ms with `bbr3`, 300 with `cubic`, 297 with `newreno` and 89 with `vivace`, as
//! good as in the simulator (130, 300, 296, 82); `bbr` has 118 (82), since its drain ends later, and
//! `vegas` 111 (92). `copa` takes itself for a competitor of others and fills the buffer (243, 59);
//! `copa[mode=default]` does not (56, 63). ECT(1) cannot be sent, which only `prague` would.
//!
//! # Other paths
//! When a connection moves to another network, quinn asks for a new controller. When only the port
//! changes, quinn copies the controller; a scheme's state cannot be copied, so the copy begins anew,
//! as on a new path.

mod controller;

use std::sync::Arc;
use std::time::Instant;

use paceline_quic::{PathController, QUIC_SIGNALS, QuicScheme};
use quinn_proto::congestion;

pub use controller::Controller;
pub use paceline_quic::{Pacing, SchemeError};

/// A scheme that drives quinn's connections; goes into
/// [`TransportConfig::congestion_controller_factory`](quinn_proto::TransportConfig::congestion_controller_factory).
#[derive(Clone)]
pub struct Scheme(QuicScheme);

impl Scheme {
    /// The scheme called `spec`, with its parameters: `"cubic"`, `"copa[mode=competitive]"`,
    /// `"remy[table=NAME]"`.
    ///
    /// # Errors
    /// If there is no such scheme, a parameter is wrong, or the scheme needs signals that quinn does
    /// not give.
    pub fn parse(spec: &str) -> Result<Scheme, SchemeError> {
        QuicScheme::parse(spec, "quinn", QUIC_SIGNALS).map(Scheme)
    }

    /// The same with another way to keep to the scheme's pacing rate.
    #[must_use]
    pub fn pacing(self, pacing: Pacing) -> Scheme {
        Scheme(self.0.pacing(pacing))
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

//! Paceline's congestion control for [s2n-quic](https://docs.rs/s2n-quic) 1.91, and s2n-quic's
//! congestion control in Paceline's simulator.
//!
//! ```
//! let scheme = paceline_s2n_quic::Scheme::parse("bbr3")?;
//! // s2n_quic::Server::builder().with_congestion_controller(scheme)
//! # drop(scheme);
//! # Ok::<(), paceline_s2n_quic::SchemeError>(())
//! ```
//! With its feature `unstable-congestion-controller`, s2n-quic lets other crates implement its
//! trait. The crates of s2n-quic pin each other's versions, and the trait may change with each of
//! them. This crate works with s2n-quic 1.91 and s2n-quic-core 0.91, and depends only on the
//! latter.
//!
//! # What s2n-quic tells, and what follows
//! - s2n-quic reports each packet that is sent or lost, and of an acknowledgement its bytes and its
//!   newest packet. This crate attributes the bytes to that packet and to the oldest packets in
//!   flight, which is wrong only if packets have overtaken each other. Windows, RTTs, delivery
//!   rates and fates of packets are derived from these reports.
//! - It reports the number of packets that were marked with CE, so `dctcp` and `prague` work, too.
//!   s2n-quic sends ECT(0) whatever code point a scheme chooses. An L4S router (DualPI2) therefore
//!   puts Prague into the queue of classic traffic, which marks as rarely as for Reno, while Prague
//!   reacts as gently as to the marks of the L4S queue. Use Prague under s2n-quic only on paths
//!   whose routers mark at a shallow threshold.
//! - It has no receive times, and no headers of Paceline: `ledbat`, `gcc`, `nada`, `scream`, `sprout`, `xcp`
//!   and similar schemes are refused.
//!
//! # Pacing
//! s2n-quic asks for the time at which the next packet may leave, and keeps to it within a
//! millisecond; this crate computes these times from a scheme's rate and burst. Six schemes (cubic,
//! newreno, bbr, bbr3, copa, vegas) behind s2n-quic's trait, run in the simulator over 12 Mbit/s
//! with an RTT of 100 ms, stay within 5 points of utilisation and 20 % of mean delay of the scheme
//! itself. s2n-quic itself was not run.
//!
//! # Other paths
//! When a connection moves to another network, s2n-quic requests a new controller. If it copies a
//! controller, the copy starts afresh, because a scheme's state cannot be copied.
//!
//! # The other way
//! [`halves`] makes a scheme of the simulator from any controller of s2n-quic.

mod clock;
mod controller;
mod departure;
mod simulated;
mod unanswered;

use s2n_quic_core::recovery::congestion_controller::{Endpoint, PathInfo};

use paceline_cc::{Halves, Signals};
use paceline_quic::{Pacing, QUIC_SIGNALS};

pub use controller::{Controller, SentPacket};
pub use paceline_quic::{QuicScheme, SchemeError};
pub use simulated::halves;

/// Signals that s2n-quic has: it counts marks.
const SIGNALS: Signals = QUIC_SIGNALS.and(Signals::ECN);

/// A scheme that drives s2n-quic's connections. Pass it to `with_congestion_controller`.
#[derive(Clone, Debug)]
pub struct Scheme(QuicScheme);

impl Scheme {
    /// Parses the scheme called `spec`, with its parameters: `"cubic"`, `"copa[mode=competitive]"`,
    /// `"prague"`.
    ///
    /// # Errors
    /// There is no such scheme, a parameter is invalid, or the scheme needs signals that s2n-quic
    /// does not have.
    pub fn parse(spec: &str) -> Result<Scheme, SchemeError> {
        QuicScheme::parse(spec, "s2n-quic", SIGNALS).map(Scheme::from)
    }

    /// Returns a scheme of your own, from its halves, under the name `name`:
    /// `Scheme::new("mine", Halves::sender(|setup| MyController::new(setup.mss)))`.
    ///
    /// # Errors
    /// It needs signals that s2n-quic does not have.
    pub fn new(name: &str, halves: Halves) -> Result<Scheme, SchemeError> {
        QuicScheme::new(name, halves, "s2n-quic", SIGNALS).map(Scheme::from)
    }

    /// Sets the seed of the scheme's random numbers. The default is 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> Scheme {
        Scheme(self.0.seed(seed))
    }
}

/// The signals of the scheme were checked when it was made. s2n-quic paces by its rate, whatever its
/// [`Pacing`].
impl From<QuicScheme> for Scheme {
    fn from(scheme: QuicScheme) -> Scheme {
        Scheme(scheme.pacing(Pacing::Stack))
    }
}

impl Endpoint for Scheme {
    type CongestionController = Controller;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> Controller {
        Controller::new(self.0.clone(), path.max_datagram_size)
    }
}

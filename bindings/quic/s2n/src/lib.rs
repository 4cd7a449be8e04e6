//! Paceline's congestion control for [s2n-quic](https://docs.rs/s2n-quic) 1.91, and s2n-quic's
//! congestion control in Paceline's simulator.
//!
//! ```
//! let scheme = paceline_s2n_quic::Scheme::parse("bbr3")?;
//! // s2n_quic::Server::builder().with_congestion_controller(scheme)
//! # drop(scheme);
//! # Ok::<(), paceline_s2n_quic::SchemeError>(())
//! ```
//! s2n-quic lets others implement its trait with the feature `unstable-congestion-controller`. The
//! crates of s2n-quic pin each other's versions, and the trait may change with any of them: this
//! crate goes with s2n-quic 1.91 and s2n-quic-core 0.91, and depends on the latter only.
//!
//! # What s2n-quic tells, and what follows
//! - Each packet that is sent or lost. Of an acknowledgement its bytes and its newest packet: that
//!   these bytes are the newest packet's and those of the oldest in flight is worked out here, and
//!   wrong only where packets overtook each other. Windows, RTTs, delivery rates and fates of packets
//!   come out of these.
//! - How many packets were marked with CE: `dctcp` and `prague` work, too. s2n-quic sends ECT(0)
//!   whatever a scheme asks for, so that a router of L4S (DualPI2) puts Prague into the queue of
//!   classic traffic, where it is marked as rarely as Reno and reacts as gently as in the other.
//!   Under s2n-quic Prague belongs on paths whose routers mark at a shallow threshold.
//! - No receive times, and no headers of Paceline's: `ledbat`, `gcc`, `sprout`, `xcp` and others like
//!   them are refused.
//!
//! # Pacing
//! s2n-quic asks for the time at which the next packet may leave, and keeps to it to a millisecond;
//! a scheme's rate and burst are made into such times. Six schemes (cubic, newreno, bbr, bbr3, copa,
//! vegas) that are put behind its trait and run in the simulator stay within 5 points of utilisation
//! and 20 % of mean delay of themselves, over 12 Mbit/s with an RTT of 100 ms. s2n-quic itself has not
//! been run here.
//!
//! # Other paths
//! When a connection moves to another network, s2n-quic asks for a new controller. Where it copies
//! one, the copy begins anew: a scheme's state cannot be copied.
//!
//! # The other way
//! [`halves`] makes a scheme of the simulator's from any controller of s2n-quic's.

mod clock;
mod controller;
mod departure;
mod simulated;

use s2n_quic_core::recovery::congestion_controller::{Endpoint, PathInfo};

use paceline_cc::Signals;
use paceline_quic::{Pacing, QUIC_SIGNALS, QuicScheme};

pub use controller::{Controller, SentPacket};
pub use paceline_quic::SchemeError;
pub use simulated::halves;

/// A scheme that drives s2n-quic's connections; goes into `with_congestion_controller`.
#[derive(Clone, Debug)]
pub struct Scheme(QuicScheme);

impl Scheme {
    /// The scheme called `spec`, with its parameters: `"cubic"`, `"copa[mode=competitive]"`,
    /// `"prague"`.
    ///
    /// # Errors
    /// If there is no such scheme, a parameter is wrong, or the scheme needs signals that s2n-quic
    /// does not give.
    pub fn parse(spec: &str) -> Result<Scheme, SchemeError> {
        let signals = QUIC_SIGNALS.and(Signals::ECN);
        let scheme = QuicScheme::parse(spec, "s2n-quic", signals)?;
        Ok(Scheme(scheme.pacing(Pacing::Stack)))
    }

    /// The same with another seed for what schemes draw at random. The default is 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> Scheme {
        Scheme(self.0.seed(seed))
    }
}

impl Endpoint for Scheme {
    type CongestionController = Controller;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> Controller {
        Controller::new(self.0.clone(), path.max_datagram_size)
    }
}

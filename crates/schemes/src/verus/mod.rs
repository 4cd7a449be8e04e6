//! Verus: learns which delay goes with which window, and chases a delay.
//!
//! # What it does
//! Every packet carries the window that it was sent under, so that acknowledgements draw a curve
//! of delay over window, the delay profile; a smooth curve is fitted to it every second. Every
//! 5 ms, an epoch, the largest delay of the epoch moves the desired delay: up by `delta2` if delays
//! do not rise, down by `delta1` if they do, down by `delta2` if they exceed `r` times the smallest
//! delay. The window is where the curve first exceeds the desired delay, and what leaves at once
//! in the epoch is what keeps the packets in flight at it. A loss starts a phase in which the window is 0.7
//! of the one that the lost packet was sent under and grows by a packet per round trip; the phase
//! ends with the first packet acknowledged that was sent under such a window. Slow start runs
//! until a delay of 500 ms, a loss or a timeout. A delay beyond the curve begins it again.
//!
//! # Signals it needs
//! The fate of each packet with the tag that it was sent with. It expects each packet to be
//! acknowledged: under delayed acknowledgements, every second delay has theirs in it.
//!
//! # Parameters
//! It follows the authors' code. That smooths the largest delay only after having compared it, and
//! counts packets really in flight where the paper takes the last window for them. A packet
//! counts as lost when it is missing for `hole`, although the sender may have sent its data again
//! before. When nothing is acknowledged for 5 delays (150 ms to 1 s), nothing counts as in flight
//! any longer, and the desired delay is the smallest; the sender's own timer repairs, and changes
//! nothing else. Packets given up so, or missing for too long, are no samples of delay if they
//! arrive after all; they may end a loss phase. The sender lets a packet go when nothing is in
//! flight, whatever the epoch's share.
//!
//! The curve is the authors': ALGLIB's penalised cubic spline with a node per 15 windows and a
//! smoothing parameter of 2. It may dip and bend, so that a small step of the desired delay can map
//! to a window many times as large, as it does in the authors' program. Beyond the largest window
//! known the curve goes on straight; where that falls, no window has the delay, and slow start begins
//! again. `socket`: what an epoch sends at once ends in the authors' program where the socket takes no
//! more, which counts as a loss. Linux' default buffer of 212,992 bytes holds 92 of their packets
//! (`socket=92`), unless the device takes packets off the socket's account at once, as TUN devices do.
//!
//! # Where it fails
//! A profile learnt at one capacity misleads at another: until a window's point in the curve has
//! moved, packets queue. Delays swing up to `r` times the smallest, whatever the link does; the
//! authors' code has been published with 2 and with 6. Where a short buffer bounds delays, the
//! curve becomes flat and windows leap. A path without any queue has no curve that rises: there,
//! as with windows below 5 packets, slow start begins over and over. Each epoch's packets leave in
//! one burst.
//!
//! # Source
//! Y. Zaki, T. Pötsch, J. Chen, L. Subramanian, C. Görg: Adaptive Congestion Control for
//! Unpredictable Cellular Networks, ACM SIGCOMM 2015, §4; the authors' code.

mod curve;
mod estimate;
mod fit;
mod holes;
mod profile;
mod sender;
#[cfg(test)]
mod tests;

pub use sender::VerusSender;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Span};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of Verus.
    pub struct VerusParams {
        /// Largest delay over smallest above which the desired delay falls; 2 for low delay, 6 for
        /// throughput.
        r: f64 = 6.0, in 1.0..=1000.0, source "authors' code; paper §5: 2, 4 and 6";
        /// Step of the desired delay down when delays rise.
        delta1: Span = Span::from_millis(1), source "paper §4";
        /// Step of the desired delay otherwise.
        delta2: Span = Span::from_millis(2), source "paper §4";
        /// Time between decisions.
        epoch: Span = Span::from_millis(5), in Span::from_micros(100)..=Span::from_secs(1),
            source "paper §4";
        /// Time between fits of the delay profile, at least `epoch`.
        refit: Span = Span::from_secs(1), source "paper §4";
        /// Share of the lost packet's window that is left.
        decrease: f64 = 0.7, in above(0.0).below(1.0), source "authors' code";
        /// Delay that ends slow start.
        exit_delay: Span = Span::from_millis(500), source "authors' code";
        /// How long a packet is missing before it counts as lost.
        hole: Span = Span::from_millis(150), source "authors' code";
        /// Packets that the socket takes at once; 0 for any number.
        socket: u32 = 0, unit "packets", source "ours; authors' program: its socket's buffer";
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "verus",
    summary: "Learns the delay that each window brings, and chases a delay",
    source: "Verus, ACM SIGCOMM 2015",
    params: VerusParams::infos,
    plot_style: PlotStyle::new(Hue::Teal, Dash::Solid, Shape::Star),
    bulk: None,
    note: Some(
        "its curve of delays over windows leads it to stay below what a long or fast path \
         holds",
    ),
    build: |spec| {
        let params: VerusParams = spec.params()?;
        let holds_epoch = params.refit >= params.epoch;
        spec.require(holds_epoch, "refit", "expected at least the length of an epoch")?;
        let ack = AckPolicy::EACH;
        Ok(Halves { ack, ..Halves::sender(move |setup| VerusSender::new(&params, setup.mss)) })
    },
};

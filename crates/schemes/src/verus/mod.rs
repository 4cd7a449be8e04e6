//! Verus: learns the delay of each window, and chooses the window for a desired delay.
//!
//! # What it does
//! Every packet carries the window with which it was sent, so that acknowledgements give a curve of
//! delay over window, the delay profile; a smooth curve is fitted to it every second. Every 5 ms,
//! an epoch, the largest delay of the epoch changes the desired delay: up by `delta2` if delays do
//! not rise, down by `delta1` if they do, down by `delta2` if they exceed `r` times the smallest
//! delay. The new window is where the curve first exceeds the desired delay. The packets that bring
//! the flight to this window leave at once in the epoch. A loss starts a phase in which the window
//! is 0.7 of the lost packet's window and grows by a packet per round trip; the phase ends with the
//! first acknowledgement of a packet sent with such a window. Slow start lasts until a delay of 500
//! ms, a loss or a timeout. A delay beyond the curve starts it again.
//!
//! # Signals it needs
//! The fate of each packet with its tag. It expects each packet to be acknowledged: with delayed
//! acknowledgements, every second delay includes the acknowledgement's delay.
//!
//! # Parameters
//! It follows the authors' code, which smooths the largest delay only after comparing it, and
//! counts packets really in flight where the paper uses the last window. A packet counts as lost
//! when it is missing for `hole`, although the sender may have retransmitted its data before. When
//! no acknowledgement arrives for 5 delays (150 ms to 1 s), the packets in flight no longer count,
//! and the desired delay becomes the smallest; the sender's own timer repairs losses, and changes
//! nothing else. Packets given up in this way, or missing for too long, give no delay samples if
//! they arrive after all; they may end a loss phase. The sender lets one packet leave when nothing
//! is in flight, whatever the epoch's share.
//!
//! The curve is the authors': ALGLIB's penalised cubic spline with a node per 15 windows and a
//! smoothing parameter of 2. It may dip and bend, so that a small step of the desired delay can
//! lead to a window many times as large, as in the authors' program. Beyond the largest known
//! window the curve continues linearly. If it falls there, no window has the delay, and slow start
//! begins again. `socket`: in the authors' program, an epoch sends only as many packets as the
//! socket accepts at once, and a refused packet counts as a loss. Linux' default buffer of 212,992
//! bytes holds 92 of their packets (`socket=92`), unless the device takes packets off the socket's
//! account at once, as TUN devices do.
//!
//! # Where it fails
//! A profile learnt at one capacity misleads at another: packets queue until the window's point in
//! the curve has moved. Delays oscillate up to `r` times the smallest, whatever the link does; the
//! authors' code was published with 2 and with 6. Where a short buffer bounds delays, the curve
//! becomes flat and windows jump. On a path without any queue the curve does not rise: there, as
//! with windows below 5 packets, slow start begins again and again. Each epoch's packets leave in
//! one burst. Several flows together learn curves of the others' queues: three on 100 Mbit/s send
//! nearly each packet twice, since the buffer drops half of them.
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
use crate::scheme::{Note, Scheme};

paceline_cc::params! {
    /// Parameters of Verus.
    pub struct VerusParams {
        /// Ratio of largest to smallest delay above which the desired delay falls; 2 for low delay,
        /// 6 for throughput.
        r: f64 = 6.0, in 1.0..=1000.0, source "authors' code; paper §5: 2, 4 and 6";
        /// Downward step of the desired delay when delays rise.
        delta1: Span = Span::from_millis(1), source "paper §4";
        /// Step of the desired delay in the other cases.
        delta2: Span = Span::from_millis(2), source "paper §4";
        /// Time between decisions.
        epoch: Span = Span::from_millis(5), in Span::from_micros(100)..=Span::from_secs(1),
            source "paper §4";
        /// Time between fits of the delay profile, at least `epoch`.
        refit: Span = Span::from_secs(1), must "at least epoch", source "paper §4";
        /// Share of the lost packet's window that remains.
        decrease: f64 = 0.7, in above(0.0).below(1.0), source "authors' code";
        /// Delay that ends slow start.
        exit_delay: Span = Span::from_millis(500), source "authors' code";
        /// Time for which a packet is missing before it counts as lost.
        hole: Span = Span::from_millis(150), source "authors' code";
        /// Number of packets that the socket accepts at once; 0 for any number.
        socket: u32 = 0, unit "packets", source "ours; authors' program: its socket's buffer";
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "verus",
    summary: "Learns the delay of each window, and chooses the window for a desired delay",
    source: "Verus, ACM SIGCOMM 2015",
    params: VerusParams::infos,
    plot_style: PlotStyle::new(Hue::Teal, Dash::Solid, Shape::Star),
    bulk: None,
    note: Some(Note::new(
        "its curve of delays over windows leads it to stay below what a long or fast path \
         holds",
    )),
    build: |spec| {
        let params: VerusParams = spec.params()?;
        let holds_epoch = params.refit >= params.epoch;
        spec.require(holds_epoch, &params, "refit")?;
        let ack = AckPolicy::EACH;
        Ok(Halves { ack, ..Halves::sender(move |setup| VerusSender::new(&params, setup.mss)) })
    },
};

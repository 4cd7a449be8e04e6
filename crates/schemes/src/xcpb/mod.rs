//! XCP-b (XCP-blind): XCP for links whose capacity nobody knows.
//!
//! # What it does
//! Everything is as in [`crate::xcp`] but the aggregate feedback `F`, which does without
//! the capacity and the traffic. What the link has to spare shows in the speed of its queue:
//! `F = -alpha*dq/d - beta*(q - kappa)/d`, with `q` the persistent queue of the last interval of
//! control, `dq` its change, `d` the mean RTT and `kappa` a small queue that is to stand, so that
//! there is a speed to measure. While the queue is empty there is none, and the router is blind: it
//! hands out `F = chi*Qmax/d` per interval, as much as cannot fill the buffer before the queue tells
//! (eq. 7). It takes the link for not fully used if the weighted average `lambda` of the queue is
//! below `tau*kappa` (eq. 10 to 12), or if the queue was empty `n` times in a row (eq. 9).
//!
//! # Signals it needs
//! Congestion headers. The router needs its queue alone.
//!
//! # Parameters
//! Equation 8 to the letter is `xcpb[detect=empty,kappa=0]`. The paper calls an interval with
//! `q = 0` and `dq < 0` neither blind nor not; here it is not, and equation 6 holds.
//!
//! `q` is the shortest queue of the interval, as the text says. The bound of Fig. 4 supposes the
//! queue at the interval's end, which shows growth an interval earlier: `sample=boundary`. The
//! average begins at 0 and the counter at `n`, so that a router begins blind. In a full buffer the
//! queue stands still and seems to match the link; the paper leaves that to the senders, which halve
//! their windows; with `count_drops` the router knows, too.
//!
//! At a shared medium each router also processes the data that its node receives (§5: "data packets
//! have to be processed at input queues"): an access point so controls the uploads of its stations,
//! whose acknowledgements wait in its queue. `inputs=false` leaves that out. Other links never tell
//! of such packets.
//!
//! # Where it fails
//! Blind growth is linear: its time to fill a link goes with the bandwidth-delay product over
//! `Qmax` (Fig. 5), and starts anew whenever a capacity has risen. The queue is seen a round trip
//! late: where capacity falls within an RTT, it overshoots as XCP does. A queue of `kappa` packets
//! stands. A `Qmax` larger than the buffer loses packets. On cellular links it spends much of its
//! time blind (ABC, §8).
//!
//! # Source
//! F. Abrantes, M. Ricardo: XCP for Shared-Access Multi-Rate Media, ACM SIGCOMM Computer
//! Communication Review, 2006: §2.2, §3, §4.2.

mod law;

#[cfg(test)]
mod tests;

pub(crate) use law::XcpbEfficiency;

use paceline_cc::Params;
use paceline_cc::params::above;

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;
use crate::xcp::{XcpRouter, XcpSender, halves};

/// The router's half of XCP-b.
pub(crate) type XcpbRouter = XcpRouter<XcpbEfficiency>;

paceline_cc::choices! {
    /// How a router tells that its link is not used fully.
    pub enum Detect {
        /// The weighted average of the queue is below `tau * kappa` (eq. 11).
        Average = "average",
        /// The queue was empty in `n` intervals in a row (eq. 9).
        Counter = "counter",
        /// The queue is empty and was (eq. 8).
        Empty = "empty",
    }
}

paceline_cc::choices! {
    /// In what queues are counted.
    pub enum Unit {
        /// Packets, of the mean size of those that wait (eq. 13).
        Packets = "packets",
        /// Bytes; `kappa` is then in packets of 1500 bytes (eq. 9 and 11).
        Bytes = "bytes",
    }
}

paceline_cc::choices! {
    /// What the queue of an interval is.
    pub enum Sample {
        /// Its shortest length, the persistent queue (paper §3).
        Minimum = "minimum",
        /// Its length at the end, which the bound of Fig. 4 supposes.
        Boundary = "boundary",
    }
}

paceline_cc::params! {
    /// Parameters of XCP-b.
    pub struct XcpbParams {
        /// Sender: initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Sender: pacing rate; 0 does not pace.
        pacing: f64 = 0.0, in 0.0..=100.0, unit "windows per RTT", source "ns-2";
        /// Router: share of the queue's growth that is taken back per RTT.
        alpha: f64 = 0.4, in above(0.0).up_to(2.0), source "paper §2.1";
        /// Router: share of the queue beyond kappa that is to drain per RTT.
        beta: f64 = 0.2263, in 0.0..=2.0, source "paper §2.1";
        /// Router: share of the traffic that changes hands per RTT.
        gamma: f64 = 0.1, in 0.0..=1.0, source "paper §2.1";
        /// Router: length that the queue may grow to after blind growth.
        qmax: u64 = 64_000, in 1_000..=1_000_000_000_000, unit "bytes", source "paper §4.2: 64 kbyte";
        /// Router: share of qmax that is handed out blindly per RTT; 0 for 1/(5 - alpha - beta),
        /// which keeps the queue below qmax.
        chi: f64 = 0.0, in 0.0..=1.0, source "eq. 7: 0.2286";
        /// Router: packets that are to wait, so that the queue's speed can be measured.
        kappa: f64 = 3.0, in 0.0..=10_000.0, unit "packets", source "paper §4.2; with 12 stations: 6";
        /// Router: how it tells that the link is not used fully.
        detect: Detect = Detect::Average, source "eq. 11; eq. 9: counter; eq. 8: empty";
        /// Router: empty intervals until growth is blind.
        n: u32 = 6, in 1..=64, unit "intervals", source "paper §3.1: at least pi*alpha/beta = 5.55";
        /// Router: share of kappa below which the average queue makes growth blind; 0 for 0.75 to
        /// the power of n.
        tau: f64 = 0.0, in 0.0..=1.0, source "eq. 12: 0.178; paper §4.2: 0.17";
        /// Router: in what queues are counted.
        unit: Unit = Unit::Packets, source "eq. 13; eq. 9 and 11: bytes";
        /// Router: what the queue of an interval is.
        sample: Sample = Sample::Minimum, source "paper §3; Fig. 4: boundary";
        /// Router: whether data that comes in over a shared medium is processed, too.
        inputs: bool = true, source "paper §5";
        /// Router: whether bytes that the buffer drops count as growth of the queue. The paper
        /// leaves drops to the senders, which halve their windows.
        count_drops: bool = false, source "paper";
    }
}

impl XcpbParams {
    fn chi(&self) -> f64 {
        if self.chi > 0.0 { self.chi } else { 1.0 / (5.0 - self.alpha - self.beta) }
    }

    fn tau(&self) -> f64 {
        if self.tau > 0.0 { self.tau } else { libm::pow(0.75, f64::from(self.n)) }
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "xcpb",
    summary: "XCP that learns the spare capacity from its queue's growth",
    source: "XCP-b, CCR 2006",
    params: XcpbParams::infos,
    plot_style: PlotStyle::new(Hue::Violet, Dash::Dotted, Shape::Up),
    bulk: None,
    note: Some(
        "while its queue is empty it hands out 64 kB for each RTT at most, so that a \
         long, fast path fills slowly",
    ),
    build: |spec| {
        let params: XcpbParams = spec.params()?;
        let (initial, pacing, gamma) = (params.initial_window, params.pacing, params.gamma);
        let can_detect = params.kappa > 0.0 || params.detect != Detect::Average;
        spec.require(can_detect, "kappa", "with kappa=0 no average is below it; use detect=empty")?;
        Ok(halves(
            move |setup| XcpSender::new(initial, 1.0, pacing, setup.mss),
            move || XcpbRouter::new(XcpbEfficiency::new(&params), gamma).with_inputs(params.inputs),
        ))
    },
};
